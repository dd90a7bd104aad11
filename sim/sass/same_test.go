package sass

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

const arithmetic = `
extern "C" __global__ void mix(const float* x, const double* d, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0; double e = 1;
  for (int k = 0; k < n; k++) { s += x[k] * x[i + k] - __fdividef(x[k], 3.0f); e = e * d[k] + d[i]; }
  out[i] = s / x[0] + sqrtf(s) + (float)e;
}
extern "C" __global__ void whole(const int* x, int* out) { out[threadIdx.x] = x[threadIdx.x] * 3 + 1; }
`

// toPTX compiles CUDA.
func toPTX(t *testing.T, kit kits.Kit, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	in, ptx := filepath.Join(dir, "k.cu"), filepath.Join(dir, "k.ptx")
	if err := os.WriteFile(in, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, kit.Nvcc(), append(flags, "-arch=compute_75", "-ptx", in, "-o", ptx)...)
	return ptx
}

// assemble makes a cubin of a PTX file.
func assemble(t *testing.T, kit kits.Kit, ptx, arch string, flags ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "k.cubin")
	tool(t, kit.Ptxas(), append(flags, "-arch=sm_"+arch, ptx, "-o", out)...)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	text, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, text)
	}
	return string(text)
}

func TestSameFloats(t *testing.T) {
	kit := kits.Need(t, "13.0")
	plain := toPTX(t, kit, arithmetic)
	changed := map[string]string{}
	for _, flag := range []string{"-fmad=false", "-ftz=true"} {
		changed[flag] = toPTX(t, kit, arithmetic, flag)
	}
	for _, arch := range []string{"75", "90", "120"} {
		was := assemble(t, kit, plain, arch)
		floats, err := Find(was, "mix")
		if err != nil || len(floats.Floats()) < 20 {
			t.Fatalf("sm_%s: %v, %d floating-point instructions", arch, err, len(floats.Floats()))
		}
		if whole, _ := Find(was, "whole"); whole == nil || len(whole.Floats()) != 0 {
			t.Errorf("sm_%s: the kernel on integers has %v", arch, whole.Floats())
		}
		if err := sameFloats(was, "mix", assemble(t, kit, plain, arch, "-maxrregcount=24"), "mix"); err != nil {
			t.Errorf("sm_%s: fewer registers: %v", arch, err)
		}
		for flag, ptx := range changed {
			err := sameFloats(was, "mix", assemble(t, kit, ptx, arch), "mix")
			if err == nil || !strings.Contains(err.Error(), "other floating-point instructions") {
				t.Errorf("sm_%s: %s passes: %v", arch, flag, err)
			}
		}
		if err := SameEntries(was, "mix", was, "mix"); err != nil {
			t.Errorf("sm_%s: the same code: %v", arch, err)
		}
		if SameEntries(was, "mix", was, "whole") == nil || SameEntries(was, "mix", was, "absent") == nil ||
			SameEntries(was, "absent", was, "absent") == nil {
			t.Errorf("sm_%s: two kernels, or none, are called the same", arch)
		}
		if err := sameFloats(was, "absent", was, "absent"); err == nil {
			t.Error("a kernel that is not there passes")
		}
	}
	if err := sameFloats(assemble(t, kit, plain, "80"), "mix", assemble(t, kit, plain, "90"),
		"mix"); err == nil {
		t.Error("two architectures pass")
	}
}
