package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/install/kits"
	"gnvcc/policy"
	"gnvcc/policy/report"
)

// recorded are the decisions of the examples on an H200.
func recorded(t testing.TB) []cache.Decision {
	t.Helper()
	f, err := os.Open("testdata/examples.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ Decision cache.Decision }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var out []cache.Decision
	for _, e := range list {
		out = append(out, e.Decision)
	}
	return out
}

func made(t testing.TB, in Input) string {
	t.Helper()
	in.Made, in.Version = time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC), "test"
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// many are n decisions that differ in name and time.
func many(t testing.TB, n int) []cache.Decision {
	var out []cache.Decision
	for from := recorded(t); len(out) < n; {
		d := from[len(out)%len(from)]
		d.Kernel = fmt.Sprintf("kernel_with_a_rather_long_name_that_templates_have_%d", len(out))
		out = append(out, d)
	}
	return out
}

func TestPage(t *testing.T) {
	taken := recorded(t)
	taken[0].Imported = "h200.json"
	text := made(t, Input{Decisions: taken,
		Programs: []Program{{Name: "app", Device: "NVIDIA H200", Seconds: 4, Faster: 3, After: 2,
			Gaps: []report.Gap{{What: "read back, 4.7 KB each", Count: 4050, Where: "f<int> (a.cu:7)"}}}},
		Toolkit: func(cache.Decision) string { return "ptxas 13.0.88" }})
	for _, want := range []string{"column_norm",
		"132 blocks on 132 SMs: one block each, so 255 registers cost nothing.", "NVIDIA H200",
		"ptxas 13.0.88", "8 of 12", "Not measured on this machine: 1 of ", "imported from h200.json",
		">75 %<", "read back, 4.7 KB each", "f&lt;int&gt; (a.cu:7)", "same bits on 5", "prefers-color-scheme: dark"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if m := regexp.MustCompile(`(?:src|href)="(?:https?:)?//|@import|url\(`).FindString(
		text); m != "" {
		t.Errorf("the page wants something from elsewhere: %s", m)
	}
}

// TestTimeBar: widths are shares of the time, in order of time; what is gained is green, what was
// left alone says why; what is too thin to see is one piece.
func TestTimeBar(t *testing.T) {
	pieces := []policy.Piece{{Kernel: "heavy", Seconds: 3, After: 1.5},
		{Kernel: "prints", Seconds: 0.8, After: 0.8, Why: "it prints"}}
	for range 100 {
		pieces = append(pieces, policy.Piece{Kernel: "thin", Seconds: 0.002, After: 0.002})
	}
	text := made(t, Input{Decisions: recorded(t), Programs: []Program{{Name: "app", Seconds: 4, After: 2.5,
		Pieces: pieces}}})
	for _, want := range []string{
		`<rect class="looked" x="0.00" width="375.00" height="26"><title>heavy: 75 %</title></rect>`,
		`<rect class="gained" x="375.00" width="375.00" height="26"><title>heavy: 50 % less</title></rect>`,
		`<rect class="alone" x="750.00" width="200.00" height="26"><title>prints: 20 %, left alone: it prints</title></rect>`,
		`<title>62 more: 3 %</title>`, `<td class="n">20 %</td><td class="n">-</td><td class="soft">it prints</td>`,
		"and 62 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(text, `class="looked"`); n != 39 {
		t.Errorf("%d pieces looked at, want 39", n)
	}
	if timeBar(nil) != "" || timeBar([]policy.Piece{{Kernel: "k"}}) != "" {
		t.Error("a bar of no time")
	}
}

// evilPage has a script wherever others may have written something.
func evilPage(t *testing.T) string {
	const evil = `<script>alert("x")</script>"'><img src=x onerror=alert(1)>`
	d := recorded(t)[0]
	d.Kernel, d.Evidence.Note, d.Evidence.Device, d.Imported = evil, evil, evil, evil
	d.Evidence.Tried = append([]cache.Trial{{Recipe: "unroll=2", Ratio: 0.9, Refused: evil}},
		d.Evidence.Tried...)
	return made(t, Input{Decisions: []cache.Decision{d}, Programs: []Program{{Name: evil, Seconds: 1,
		Pieces: []policy.Piece{{Kernel: evil, Seconds: 1, After: 1, Why: evil}}}}})
}

// TestNames: what others call their kernels is text, wherever it stands.
func TestNames(t *testing.T) {
	if text := evilPage(t); strings.Contains(text, "<script>alert") || strings.Contains(text, "<img") {
		t.Error("a kernel's name became a part of the page")
	}
}

// TestWhyThrottled: where blocks are kept away, the registers are not what decides how many are
// resident.
func TestWhyThrottled(t *testing.T) {
	d := recorded(t)[0]
	d.Recipe, d.Target = "maxnreg=40 spec{host(block)=256x1x1,host(dynamic)=0} throttle=2", "sm_90"
	d.Evidence.Default.Registers, d.Evidence.Chosen.Registers = 34, 37
	d.Evidence.Launches = d.Evidence.Launches[:1]
	d.Evidence.Launches[0].Block, d.Evidence.Launches[0].Dynamic,
		d.Evidence.Default.Shared = [3]int{256, 1, 1}, 0, 0
	if text := Why(report.NewEntry(d)); !strings.Contains(text, "2 resident blocks in place of 6") {
		t.Error(text)
	}
}

// TestWhyUnmeasured: what was best on some launches is not said of all.
func TestWhyUnmeasured(t *testing.T) {
	d := recorded(t)[0]
	d.Recipe, d.Evidence.Rest = "", &cache.Rest{}
	if text := Why(report.NewEntry(d)); strings.Contains(text, "not measured") {
		t.Error(text)
	}
	all, _ := d.Evidence.Whole()
	d.Evidence.Rest.Others = 3 * all
	if text := Why(report.NewEntry(d)); !strings.Contains(text,
		"default; launches with 75 % of its time were not measured.") {
		t.Error(text)
	}
}

func TestEmpty(t *testing.T) {
	if text := made(t, Input{}); !strings.Contains(text, "Nothing decided yet") {
		t.Error("an empty page does not say what to do")
	}
}

// TestBrowser: no page has an error or is wider than its frame, be it empty, of a recipe that can't be
// read, or of a name that never ends, as templates have them.
func TestBrowser(t *testing.T) {
	kits.Long(t, "TestPage has the page, unrendered")
	long := recorded(t)[0]
	long.Kernel = strings.Repeat("x", 3000)
	odd := cache.Decision{Kernel: "k", Recipe: "a recipe{ of another version", Target: "sm_999"}
	browseIn(t, []int{360, 500, 1400}, made(t, Input{Decisions: recorded(t), Programs: []Program{{Name: "/a/program",
		Seconds: 2, Faster: 1, After: 1.5, Pieces: []policy.Piece{{Kernel: "heavy", Seconds: 3, After: 1.5},
			{Kernel: "prints", Seconds: 0.8, After: 0.8, Why: "it prints"}}}}}),
		made(t, Input{}), made(t, Input{Decisions: []cache.Decision{odd, {}}}), evilPage(t),
		made(t, Input{Decisions: many(t, 20)}),
		made(t, Input{Decisions: []cache.Decision{long}, Programs: []Program{{Name: "/" + long.Kernel}}}))
}

// TestMany: 5,000 kernels on one page, pictures of the heaviest.
func TestMany(t *testing.T) {
	text := made(t, Input{Decisions: many(t, 5000)})
	if n := strings.Count(text, "<details"); n != drawn {
		t.Errorf("%d kernels have a section of their own, %d should", n, drawn)
	}
	if len(text) > 16<<20 {
		t.Errorf("the page has %d bytes", len(text))
	}
}

// browseIn opens pages in headless Chromium, in frames of several widths in CSS pixels (a phone's, a
// narrow window's and a wide one's), light and dark, and fails on an error in its console, where a page is
// wider than its frame, and where text and background are too much alike. GNVCC_SCREENSHOTS=DIR keeps
// pictures of what was seen.
func browseIn(t *testing.T, widths []int, pages ...string) {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" {
		t.Skip("SKIPPED: no Chromium here, so no page was rendered; apt-get install chromium gets one")
	}
	// A frame, since a window of Chromium is never narrower than 500 pixels.
	const probe = `<script>addEventListener("load", () => {
for (const d of document.querySelectorAll("details")) d.open = true;
const s = getComputedStyle(document.body), b = s.backgroundColor == "rgba(0, 0, 0, 0)" ? getComputedStyle(document.documentElement) : s;
parent.document.body.dataset["p%dw" + innerWidth] = document.documentElement.scrollWidth + " " + s.color + " on " + b.backgroundColor;
});</script></html>`
	var frames strings.Builder
	for i, text := range pages {
		text = html.EscapeString(strings.Replace(text, "</html>", fmt.Sprintf(probe, i), 1))
		for _, width := range widths {
			fmt.Fprintf(&frames,
				`<iframe style="width:%dpx;height:900px;border:0;display:block" srcdoc="%s"></iframe>`, width, text)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	if err := os.WriteFile(path,
		[]byte(
			`<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><body style="margin:0">`+
				frames.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, string) {
		args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
			"--user-data-dir=" + dir,
			"--enable-logging=stderr", "--hide-scrollbars", "--window-size=1400,2700"}, args...)
		cmd := exec.CommandContext(t.Context(), browser, append(args, "file://"+path)...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", browser, err, stderr.String())
		}
		return stdout.String(), stderr.String()
	}
	for _, dark := range []bool{false, true} {
		scheme := fmt.Sprintf("--blink-settings=preferredColorScheme=%d",
			map[bool]int{true: 0, false: 1}[dark])
		dom, log := run("--dump-dom", scheme)
		for _, line := range strings.Split(log, "\n") {
			if strings.Contains(line, "CONSOLE") {
				t.Errorf("the browser's console: %s", line)
			}
		}
		for i := range pages {
			looked(t, dom, i, dark, widths)
		}
		if to := os.Getenv("GNVCC_SCREENSHOTS"); to != "" {
			run("--screenshot="+filepath.Join(to, fmt.Sprintf("%s-dark-%v.png", strings.ReplaceAll(t.Name(),
				"/", "-"), dark)), scheme)
		}
	}
}

// looked judges what the frames said of themselves.
func looked(t *testing.T, dom string, page int, dark bool, widths []int) {
	t.Helper()
	dom = dom[strings.LastIndex(dom[:min(len(dom), 4<<10)], "<body"):]
	for _, width := range widths {
		m := regexp.MustCompile(
			fmt.Sprintf(`data-p%dw%d="(\d+) rgb\((\d+), \d+, \d+\) on rgb\((\d+), \d+, \d+\)"`,
				page, width)).FindStringSubmatch(dom)
		if m == nil {
			t.Fatalf("the browser has not loaded page %d in a frame of %d: %.300s", page, width, dom)
		}
		var wide, text, ground int
		fmt.Sscan(strings.Join(m[1:], " "), &wide, &text, &ground)
		if wide > width {
			t.Errorf("page %d is %d wide in a frame of %d", page, wide, width)
		}
		if dark && (ground > 80 || text < 170) || !dark && (ground < 200 || text > 80) {
			t.Errorf("text %d on %d, dark %v", text, ground, dark)
		}
	}
}

// TestTable: time, share and recipe stand in the table, kernels of one name with their files; a
// reason is reported in full; a long page has a search box, a short one none.
func TestTable(t *testing.T) {
	d := recorded(t)[0]
	d.Recipe = "maxnreg=64"
	const why = "ptxas says (line 7) that this is no instruction"
	d.Evidence.Tried = append(d.Evidence.Tried, cache.Trial{Recipe: "unroll=2", Refused: why})
	other := d
	other.Identity = "other"
	in := Input{Decisions: []cache.Decision{d, other},
		Options: report.Options{Place: func(d cache.Decision) report.Place {
			if d.Identity == "other" {
				return report.Place{File: "sub/k.cu", Program: "app"}
			}
			return report.Place{File: "k.cu"}
		}}}
	text := html.UnescapeString(made(t, in))
	for _, want := range []string{`data-is="share">50 %<`, `<code class="soft">maxnreg=64</code>`,
		">in sub/k.cu, app<", ">in k.cu<", ">" + why + "<"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(text, `type="search"`) {
		t.Error("a page of two kernels has a search box")
	}
	if !strings.Contains(made(t, Input{Decisions: many(t, 20)}), `type="search"`) {
		t.Error("a report of 20 kernels has no search box")
	}
}

// TestTicks: axes have round numbers, those of registers and warps powers of two.
func TestTicks(t *testing.T) {
	for _, x := range []struct {
		low, high float64
		want      string
	}{{0, 64, "0 8 16 24 32 40 48 56 64"}, {24, 255, "32 64 96 128 160 192 224"},
		{0.6, 2, "0.6 0.8 1 1.2 1.4 1.6 1.8 2"}, {0, 2, "0 0.5 1 1.5 2"}, {0, 0.0123, "0 0.002 0.004 0.006 0.008 0.01 0.012"},
		{5, 5, ""}, {0, math.Inf(1), ""}} {
		var got []string
		for _, v := range ticks(x.low, x.high) {
			got = append(got, tickText(v))
		}
		if text := strings.Join(got, " "); text != x.want {
			t.Errorf("%g to %g: %s, want %s", x.low, x.high, text, x.want)
		}
	}
}
