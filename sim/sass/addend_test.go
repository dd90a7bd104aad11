package sass

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// addends has products that are rounded by themselves and added, in both precisions: near their
// sum, before a loop that adds them, and under a condition.
const addends = `
extern "C" __global__ void turn(float *o, const double *d, const float *f, int n) {
  int t = threadIdx.x;
  float a = f[t], b = f[t + 1], c = f[t + 2], e = f[t + 3];
  double x = d[t], y = d[t + 1], z = d[t + 2], w = d[t + 3];
  float p = a * b;
  for (int i = 0; i < n; i++) o[i] = c * f[i] - p;
  if (n > 7) p = c * a;
  o[t] = a * b - c * e; o[t + 2] = b * e - a * e; o[t + 1] = (float)(x * y - z * w) + (e * a - p);
}`

var lastRegister = regexp.MustCompile(`[ ,]-?\|?R(\d+)(\.reuse)?$`)

// TestAddend: what gives a multiply-add its addend is the last instruction before it that nvdisasm
// prints with that register in front, in no other block, and without a guard.
func TestAddend(t *testing.T) {
	kit := kits.Need(t, "13.0")
	file := filepath.Join(t.TempDir(), "k.cubin")
	for _, arch := range []string{"75", "80", "90", "100"} {
		text := assemble(t, kit, toPTX(t, kit, addends), arch)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		printed, err := readPrinted([]byte(tool(t, kit.Tool("nvdisasm"), "-json", file)))
		if err != nil {
			t.Fatal(err)
		}
		f, err := Find(text, "turn")
		if err != nil {
			t.Fatal(err)
		}
		flow, found, lines := f.Flow(), map[string]int{}, printed[0].Insts
		for n := range f.Insts {
			name := f.Insts[n].Name()
			if name != "FFMA" && name != "DFMA" {
				if f.Addend(flow, n) >= 0 {
					t.Errorf("sm_%s: %s adds something", arch, name)
				}
				continue
			}
			want := -1
			m := lastRegister.FindStringSubmatch(" " + strings.TrimSpace(comment.ReplaceAllString(
				lines[n].Operands, "")))
			for k := n - 1; m != nil && k >= flow.Blocks[flow.Block(n)].Start; k-- {
				if strings.HasPrefix(lines[k].Operands, "R"+m[1]+",") {
					if lines[k].Predicate == "" && !strings.Contains(lines[k].Opcode, "64") &&
						!strings.Contains(lines[k].Opcode, "128") {
						want = k
					}
					break
				}
			}
			got := f.Addend(flow, n)
			if got != want && (got >= 0 || strings.HasPrefix(lines[want].Opcode, name[:1]+"MUL")) {
				t.Errorf("sm_%s: %s %s: %d, not %d", arch, lines[n].Opcode, lines[n].Operands, got, want)
			}
			if got >= 0 {
				found[name+" "+f.Insts[got].Name()]++
			}
		}
		if found["FFMA FMUL"] < 1 || found["DFMA DMUL"] < 1 {
			t.Errorf("sm_%s: %v", arch, found)
		}
	}
}
