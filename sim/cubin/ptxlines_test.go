package cubin

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"gnvcc/install/kits"
)

// The lines are those that nvdisasm -gp prints, for two kernels of a file.
func TestReadPTXLines(t *testing.T) {
	for _, kit := range kits.All(t) {
		dir := t.TempDir()
		source, text, out := filepath.Join(dir, "k.cu"), filepath.Join(dir, "k.ptx"),
			filepath.Join(dir, "k.cubin")
		if err := os.WriteFile(source, []byte(`
extern "C" __global__ void first(const float *a, float *b, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += a[i] * b[i];
  b[threadIdx.x] = s;
}
extern "C" __global__ void second(double *p, int n) { while (n--) p[n] /= 3; }
`), 0o600); err != nil {
			t.Fatal(err)
		}
		ptxas := filepath.Join(filepath.Dir(kit.Nvcc()), "ptxas")
		for _, args := range [][]string{{kit.Nvcc(), "-w", "-arch=sm_80", "-ptx", "-o", text, source},
			{ptxas, "-arch=sm_80", "-lineinfo", "-o", out, text}} {
			if msg, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, msg)
			}
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		disassembler := filepath.Join(filepath.Dir(kit.Nvcc()), "nvdisasm")
		for _, kernel := range []string{"first", "second"} {
			got, err := ReadPTXLines(b, kernel)
			if err != nil {
				t.Fatal(err)
			}
			listing, err := exec.Command(disassembler, "-gp", "-c", "-fun", index(t, b, kernel),
				out).CombinedOutput()
			if err != nil {
				t.Skipf("SKIPPED, NOT TESTED: nvdisasm %s: %v\n%s", kit.Version, err, listing)
			}
			want := listed(string(listing), len(got))
			differ := 0
			for i := range got {
				if got[i] != want[i] {
					differ++
				}
			}
			if differ > 0 {
				t.Errorf("%s, %s: %d of %d lines differ\n%v\n%v", kit.Version, kernel, differ, len(got),
					got, want)
			}
		}
		// Cut anywhere: an error or a result, no panic.
		for n := 0; n < len(b); n += 61 {
			_, _ = ReadPTXLines(b[:n], "first")
		}
		if _, err := ReadPTXLines(b, "third"); err == nil {
			t.Error("lines of a kernel that is not there")
		}
	}
}

// index is the number of a kernel's symbol, as nvdisasm wants it.
func index(t *testing.T, b []byte, kernel string) string {
	t.Helper()
	c, err := readContainer(b)
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range c.symbols {
		if s.name == kernel && s.kind == kindFunction {
			return strconv.Itoa(n)
		}
	}
	t.Fatal("no such kernel")
	return ""
}

var (
	markLine = regexp.MustCompile(`^\s*//## File ".*", line (\d+)`)
	codeLine = regexp.MustCompile(`^\s*/\*([0-9a-f]{4,})\*/`)
)

// listed reads a listing: a line's mark stands in front of its instructions.
func listed(text string, n int) []int {
	out := make([]int, n)
	line := 0
	for _, l := range regexp.MustCompile(`\r?\n`).Split(text, -1) {
		if m := markLine.FindStringSubmatch(l); m != nil {
			line, _ = strconv.Atoi(m[1])
		} else if m := codeLine.FindStringSubmatch(l); m != nil {
			at, _ := strconv.ParseInt(m[1], 16, 64)
			if i := int(at / 16); i < n {
				out[i] = line
			}
		}
	}
	return out
}
