package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
)

// recorded are the decisions of the examples on an H200.
func recorded(t testing.TB) []cache.Decision {
	t.Helper()
	text, err := os.ReadFile("../../bench/results/2026-11-21-h200/examples-report.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct{ Decision cache.Decision }
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
	}
	var out []cache.Decision
	for _, e := range entries {
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
		Programs: []Program{{Name: "app", Device: "NVIDIA H200", Seconds: 4, Faster: 3, After: 2}},
		Toolkit:  func(cache.Decision) string { return "ptxas 13.0.88" },
		Patch:    func(cache.Decision) string { return "+#pragma unroll 8" }})
	for _, want := range []string{"column_norm", "132 blocks on 132 SMs: one block each, so 255 registers cost nothing.", "NVIDIA H200",
		"ptxas 13.0.88", "8 of 12", "Not measured on this machine: 1 of ", "imported from h200.json", "#pragma unroll 8", ">75 %<", "same bits on 5", "prefers-color-scheme: dark"} {
		if !strings.Contains(text, want) && !strings.Contains(text, strings.ReplaceAll(want, "+", "&#43;")) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if m := regexp.MustCompile(`(?:src|href)="(?:https?:)?//|@import|url\(`).FindString(text); m != "" {
		t.Errorf("the page wants something from elsewhere: %s", m)
	}
}

// TestNames: what others call their kernels is text, wherever it stands.
func TestNames(t *testing.T) {
	const evil = `<script>alert("x")</script>"'><img src=x onerror=alert(1)>`
	d := recorded(t)[0]
	d.Kernel, d.Evidence.Note, d.Evidence.Device, d.Imported = evil, evil, evil, evil
	d.Evidence.Tried = append([]cache.Trial{{Recipe: "unroll=2", Ratio: 0.9, Refused: evil}}, d.Evidence.Tried...)
	text := made(t, Input{Decisions: []cache.Decision{d}, Programs: []Program{{Name: evil}},
		Patch: func(cache.Decision) string { return evil }})
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "<img") {
		t.Error("a kernel's name became a part of the page")
	}
	browse(t, text, 1280)
}

func TestEmpty(t *testing.T) {
	if text := made(t, Input{}); !strings.Contains(text, "Nothing was decided yet") {
		t.Error("an empty page does not say what to do")
	}
	browse(t, made(t, Input{}), 500)
	d := cache.Decision{Kernel: "k", Recipe: "a recipe{ of another version", Target: "sm_999"}
	browse(t, made(t, Input{Decisions: []cache.Decision{d, {}}}), 500)
}

func TestBrowser(t *testing.T) {
	text := made(t, Input{Decisions: recorded(t), Programs: []Program{{Name: "/a/program", Seconds: 2, Faster: 1, After: 1.5}},
		Patch: func(cache.Decision) string { return strings.Repeat("a long line of a patch ", 20) }})
	for _, width := range []int{1280, 500} {
		browse(t, text, width)
	}
}

// TestMany: 5,000 kernels on one page, pictures of the heaviest.
func TestMany(t *testing.T) {
	text := made(t, Input{Decisions: many(t, 5000)})
	if n := strings.Count(text, "<details"); n != Drawn {
		t.Errorf("%d kernels have a section of their own, %d should", n, Drawn)
	}
	if len(text) > 16<<20 {
		t.Errorf("the page has %d bytes", len(text))
	}
	browse(t, text, 1280)
}

// browse opens a page in headless Chromium, and fails on an error in its console or where it is wider than the window.
// GNVCC_SCREENSHOTS=DIR keeps pictures of what was seen, light and dark.
func browse(t *testing.T, text string, width int) {
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
	const probe = `<script>addEventListener("load", () => { document.body.dataset.seen = document.documentElement.scrollWidth + " of " + innerWidth; })</script></html>`
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	if err := os.WriteFile(path, []byte(strings.Replace(text, "</html>", probe, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, string) {
		args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--user-data-dir=" + dir,
			"--enable-logging=stderr", "--hide-scrollbars", fmt.Sprintf("--window-size=%d,1600", width)}, args...)
		cmd := exec.CommandContext(t.Context(), browser, append(args, "file://"+path)...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", browser, err, stderr.String())
		}
		return stdout.String(), stderr.String()
	}
	dom, log := run("--dump-dom")
	for _, line := range strings.Split(log, "\n") {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the browser's console: %s", line)
		}
	}
	m := regexp.MustCompile(`data-seen="(\d+) of (\d+)"`).FindStringSubmatch(dom)
	if m == nil {
		t.Fatalf("the browser has not loaded the page: %.300s", dom)
	}
	var wide, window int
	fmt.Sscan(m[1], &wide)
	fmt.Sscan(m[2], &window)
	if wide > window {
		t.Errorf("the page is %d wide in a window of %d", wide, window)
	}
	if to := os.Getenv("GNVCC_SCREENSHOTS"); to != "" {
		name := filepath.Join(to, fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), width))
		run("--screenshot=" + name + ".png")
		run("--screenshot="+name+"-dark.png", "--blink-settings=preferredColorScheme=0")
	}
}
