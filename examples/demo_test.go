package examples

// The demo as a script: its steps, its arithmetic, its refusals. Compiler and GPU are stood in for
// by scripts that write scripts, so that both of its ways can be tried where there is no GPU;
// nothing here says anything about speed.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A stage is a toolkit and a gnvcc that only pretend: what they "compile" is a script that prints
// what the environment variable named by the compiler (TIME_nvcc, TIME_gnvcc) says, or what follows
// gnvcc tune (TIME_tuned).
func stage(t *testing.T) (env []string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const compile = `out=; while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
cat > "$out" <<END
#!/bin/sh
case \$TIME_COMPILER in
  none) echo "example x: no CUDA device: there is none" >&2; exit 1 ;;
  crash) echo "out of memory" >&2; exit 1 ;;
esac
[ -e ` + "$0" + `.tuned ] && time=\$TIME_tuned || time=\$TIME_COMPILER
echo "example x: kernel k  \$time us (median of 20)"
echo "example x: total \$time us, correct"
END
chmod +x "$out"
`
	write("kit/bin/ptxas", "")
	write("kit/bin/nvcc",
		`[ "$1" = --version ] && { echo "Cuda compilation tools, release 99.0, V99.0.1"; exit; }
`+strings.ReplaceAll(compile, "COMPILER", "nvcc"))
	gnvcc := write("gnvcc", `case "$1" in
  tune) echo "asked: $*"; for last; do :; done; [ -x "$last" ] || exit 9; touch "$0.tuned"; echo "tuned $last"; exit ;;
  lock|apply) echo "asked for: $1 $2"; exit ;;
  status) printf '%s\n' 'x: linked from the objects below' '  wave, sm_90: unroll=8' 'x.o (x.cu): as wanted' \
    '  wave, sm_90: unroll=8' "  init, sm_90: nvcc's own"; exit ;;
  report) [ "$2" = --html ] || [ -e "$0.tuned" ] || {
    echo 'kernel                              time  share     saved  speed-up    registers'
    echo 'wave                             3.06 ms   90 %    960 us     1.46x     32 -> 64'
    echo '    unroll 8 times'
    echo 'f<int, 3>                        40.0 us   10 %   20.0 us     2.00x     32 -> 64'; exit; }
    echo "report $2"; exit ;;
  predict) echo "f<int> (sm_90): predicted from machine code"; echo "wave (sm_90): predicted from machine code"; echo "  recipe ranked caps"; exit ;;
  explain) echo "explained: $2 $3"; exit ;;
esac
`+strings.ReplaceAll(compile, "COMPILER", "gnvcc"))
	return append(os.Environ(), "CUDA_HOME="+filepath.Join(dir, "kit"), "GNVCC="+gnvcc, "GNVCC_DEMO="+
		filepath.Join(dir, "demo"), "ARCH=sm_90")
}

func demo(t *testing.T, ok bool, env []string, examples ...string) string {
	t.Helper()
	if examples == nil {
		examples = []string{"stencil", "separate"}
	}
	cmd := exec.Command("./demo", examples...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if (err == nil) != ok {
		t.Fatalf("demo: %v\n%s", err, out)
	}
	return string(out)
}

func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the demo does not say %q:\n%s", w, text)
		}
	}
}

// pasted runs the lines that the demo ends with, those for a project of the user's aside.
func pasted(t *testing.T, out string, env []string, words ...string) {
	t.Helper()
	_, lines, _ := strings.Cut(out, "(paste it):\n")
	lines, _, found := strings.Cut(lines, "In a project")
	cmd := exec.Command("bash", "-euc", lines)
	cmd.Env, cmd.Dir = env, t.TempDir()
	said, err := cmd.CombinedOutput()
	if err != nil || !found {
		t.Errorf("%v\n%s\nof what can be pasted:\n%s", err, said, lines)
	}
	says(t, string(said), words...)
}

func TestDemoWithGPU(t *testing.T) {
	env := append(stage(t), "TIME_nvcc=100.00", "TIME_gnvcc=100.00", "TIME_tuned=80.00")
	out := demo(t, true, env)
	says(t, out, "nvcc 99.0.1", "tuned ", "geometric mean", "report ", "written to show what one lever does")
	pasted(t, out, env, "report --all")
	for _, line := range []string{"stencil 100.00 80.00 1.250", "separate 100.00 80.00 1.250",
		"geometric mean 1.250"} {
		found := false
		for _, l := range strings.Split(out, "\n") {
			found = found || strings.Join(strings.Fields(l), " ") == line
		}
		if !found {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
}

// An example that wants more than a plain gnvcc tune says so in its Makefile; the others are tuned
// plainly.
func TestDemoTuneOptions(t *testing.T) {
	out := demo(t, true, append(stage(t), "TIME_nvcc=100.00", "TIME_gnvcc=100.00", "TIME_tuned=80.00"),
		"stencil", "potential", "cancel")
	for _, line := range strings.Split(out, "\n") {
		words, asked := strings.CutPrefix(line, "asked: tune --apply ")
		if !asked {
			continue
		}
		options, program, _ := strings.Cut(words, "-- ")
		want := ""
		if !strings.HasSuffix(program, "/stencil") {
			want = "--exact=approximate --within 1e-4 "
		}
		if options != want {
			t.Errorf("%s is tuned with %q, not %q", program, options, want)
		}
	}
	says(t, out, "potential: gnvcc tune --exact=approximate --within 1e-4", "geometric mean")
}

func TestDemoWithoutGPU(t *testing.T) {
	env := append(stage(t), "TIME_nvcc=none")
	out := demo(t, true, env)
	says(t, out, "written to show what one lever does",
		"1 of the 2 kernels built here have the code of their recipe")
	pasted(t, out, env, "explained: ^wave$", "unroll 8 times")
	says(t, out, "nothing was measured on this machine", "Why wave is faster", "explained: ^wave$",
		"measured on an NVIDIA H200", "f<int, 3>", "1.46x",
		"gnvcc tune --apply -- ./app", "report.html")
	for _, not := range []string{"tuned ", "geometric mean"} {
		if strings.Contains(out, not) {
			t.Errorf("the demo speaks of speed that nobody measured:\n%s", out)
		}
	}
	if n := strings.Count(out, "\n"); n > 40 {
		t.Errorf("%d lines are more than a screen:\n%s", n, out)
	}
}

func TestDemoFails(t *testing.T) {
	out := demo(t, false, append(stage(t), "TIME_nvcc=crash"))
	says(t, out, "fails on this GPU", "out of memory")
	// A wrong result after tuning must end it, not be averaged.
	out = demo(t, false, append(stage(t), "TIME_nvcc=100.00", "TIME_gnvcc=100.00", "TIME_tuned=crash"))
	if strings.Contains(out, "geometric mean") {
		t.Errorf("the demo goes on after a failure:\n%s", out)
	}
	env := append(stage(t), "GNVCC=/nonexistent/gnvcc")
	says(t, demo(t, false, env), "make build")
}
