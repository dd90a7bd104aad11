package harm

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// compiler is a nvcc whose programs are shell scripts: what it is given without comments.
const compiler = `#!/bin/sh
[ "$1" != --version ] || exit 0
for a; do case $a in *.cu) in=$a;; esac; out=$a; done
case $in in */unbuilt.cu) echo "no such thing" >&2; exit 2;; esac
{ echo '#!/bin/sh'; grep -v '^//' "$in"; } > "$out" && chmod +x "$out"
`

// tuner is a gnvcc whose builds know that they are tuned, by what tune has left; its tune harms in
// the way that a program's name says.
const tuner = `#!/bin/sh
case $1 in
report) echo '{"format":"gnvcc-report","version":1,"kernels":[{"kernel":"k","recipe":"maxnreg=40"},{"kernel":"l","recipe":""}]}'; exit;;
tune) while [ "$1" != -- ]; do shift; done; shift
  program=1.0; [ "$1" != ./slow ] || program=99
  echo '{"message":"tuned","program":'$program',"rows":[{"same":true},{"why":"texture objects"}]}' >> "$GNVCC_LOG"
  touch tuned; TUNED=1 "$@"; e=$?; echo 'gnvcc: 2 kernels' >&2
  [ "$1" != ./status ] || exit 0
  exit $e;;
esac
exec "$GNVCC_NVCC" "$@"
`

var scripts = map[string]string{
	"same":    "// class: a\n// build: -x y\ncat; echo ok; echo said >&2; exit 3",
	"status":  "// class: b\necho ok; exit 4",
	"output":  "// class: c\necho ok ${TUNED:-none}",
	"errors":  "// class: d\necho ok; echo ${TUNED:-none} >&2",
	"slow":    "// class: e\necho ok",
	"hangs":   "// class: f\necho ok; [ -z \"$TUNED\" ] || exec sleep 60",
	"varies":  "// class: g\n// alone\necho ok; date +%N; head -c 8 /dev/urandom | od",
	"without": "// class: h\n// alone\necho 'skipped: one GPU'",
	"rebuilt": "// class: i\necho ok; [ ! -e tuned ] || [ -n \"$TUNED\" ] || echo other",
	"other":   "// class: j\n// other: 'a b'\necho ok $#; [ $# = 0 ] || [ ! -e tuned ] || echo more",
	"unbuilt": "// class: k\n",
	"broken":  "// class: m\necho wrong; exit 1",
	"nowhere": "// class: n\necho 'cudaMalloc: cudaErrorNoDevice'; exit 1",
	"signal":  "// class: l\n// also: -shared -o lib.so\necho ok; [ -x lib.so ] && kill -13 $$",
}

// TestVerdicts: each way of harming a program is seen, and what is no harm is none.
func TestVerdicts(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nvcc, gnvcc, out := put("nvcc", compiler, 0o755), put("gnvcc", tuner, 0o755),
		filepath.Join(dir, "out.json")
	for name, text := range scripts {
		put(name+".cu", text, 0o644)
	}
	err := Run(context.Background(), []string{"-nvcc", nvcc, "-gnvcc", gnvcc, "-limit", "2s",
		"-jobs", "12", "-out", out, dir})
	if err == nil || !strings.Contains(err.Error(), "9 programs") {
		t.Errorf("the sum: %v", err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var raw Raw
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		verdict Verdict
		why     string
	}{
		"same": {Same, ""}, "signal": {Same, ""},
		"status":  {Harmed, "under tune it ends with exit 0, not exit 4"},
		"output":  {Harmed, `under tune it prints other lines: "ok 1", not "ok none"`},
		"errors":  {Harmed, `under tune it prints other errors: "1", not "none"`},
		"slow":    {Harmed, "under tune it takes 99.0 s, more than"},
		"hangs":   {Harmed, "under tune it ends with not done after 2s, not exit 0"},
		"rebuilt": {Harmed, `rebuilt it prints other lines: "other", not ""`},
		"other":   {Harmed, `rebuilt, with arguments ["a b"], it prints other lines: "more", not ""`},
		"varies":  {Varies, "by itself"}, "without": {Skipped, "one GPU"},
		"unbuilt": {Failed, "no such thing"}, "nowhere": {Skipped, "no GPU"},
		"broken": {Failed, `by itself it ends with exit 1 and prints "wrong\n"`},
	}
	if len(raw.Results) != len(want) {
		t.Errorf("%d results", len(raw.Results))
	}
	for _, r := range raw.Results {
		w := want[r.Name]
		if r.Verdict != w.verdict || !strings.Contains(r.Why, w.why) {
			t.Errorf("%s: %s: %s", r.Name, r.Verdict, r.Why)
		}
		if r.Name == "same" && (r.Replayed != 1 || r.Launched != 2 || len(r.Recipes) != 1 ||
			r.Reasons[0] != "texture objects" || !strings.HasPrefix(r.Plain.Stdout, "0\n1\n") ||
			r.Tuned.Stderr != "said\n") {
			t.Errorf("%+v", r)
		}
	}
	var printed strings.Builder
	if bad := table(&printed, raw.Results); bad != 9 ||
		!strings.Contains(printed.String(), "harmed: 7 of 9 programs (2 same, 7 harmed, 1 varies, 2 skipped, 2 failed)") {
		t.Errorf("%d\n%s", bad, printed.String())
	}
}

// TestSilent: a program that ran on and on is seen to, where gnvcc has not said how long it took.
func TestSilent(t *testing.T) {
	for _, r := range []Result{{Under: 9}, {Tuned: Ended{Seconds: 9}},
		{Under: 9, Tuned: Ended{Seconds: 1}}} {
		if slow(r.tuned(), 1, tunedFactor, tunedMore) == "" {
			t.Errorf("%+v: 9 seconds are as long as 1", r)
		}
	}
	if r := (Result{Under: 1, Tuned: Ended{Seconds: 9}}); slow(r.tuned(), 1, tunedFactor, tunedMore) != "" {
		t.Error("a search is none of the program's time")
	}
}

// TestClasses: there are programs of every class that must not be harmed, and each says which.
func TestClasses(t *testing.T) {
	all, err := load("programs", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Errorf("%d programs", len(all))
	}
	var classes []string
	for _, p := range all {
		classes = append(classes, p.Class)
	}
	text := strings.Join(classes, "\n")
	for _, want := range []string{"CPU thread", "another process", "another context", "IPC",
		"waits for a word that the host", "waits for a later one", "for seconds",
		"allocate and free on the device", "another module", "free failed", "mprotect", "many threads",
		"polls", "write-combined", "_exit", "signal", "exec", "forks", "traps", "abort",
		"cudaDeviceReset", "destroyed", "closed, and opened again", "at the end", "captured",
		"functions of the host in a stream", "virtual memory", "memory pools", "managed", "texture",
		"more than one GPU", "closes every file", "limits", "differ in work", "leaves in the cache"} {
		if !strings.Contains(text, want) {
			t.Errorf("no program of the class %q", want)
		}
	}
	for _, odd := range []string{"int main() {}", "// clas: x\n", "// class: x\n// build: 'a\n"} {
		if _, err := read(odd); err == nil {
			t.Errorf("%q read", odd)
		}
	}
}

// TestPrograms builds all programs with nvcc: that they are right is for a GPU to say.
func TestPrograms(t *testing.T) {
	kit := kits.Need(t, "13.0")
	all, err := load("programs", nil)
	if err != nil {
		t.Fatal(err)
	}
	b := bench{nvcc: kit.Nvcc(), arch: "sm_90", work: t.TempDir()}
	for i, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			if i%24 != 0 {
				kits.Long(t, "each 24th program is built")
			}
			t.Parallel()
			if err := b.build(context.Background(), p, b.nvcc, "nvcc"); err != nil {
				t.Error(err)
			}
		})
	}
}
