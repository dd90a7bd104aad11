package rewrite

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
)

// TestHeapless: malloc and free of what the real nvcc makes are functions that say so and end the
// thread, and ptxas takes that.
func TestHeapless(t *testing.T) {
	for _, kit := range kits.All(t) {
		dir := t.TempDir()
		cu := filepath.Join(dir, "k.cu")
		os.WriteFile(cu, []byte(`
__device__ __noinline__ float *get(int n) { return new float[n]; }
__global__ void k(float *o, int n) { if (n > 3) { float *p = get(n); o[0] = p[n / 2]; delete[] p; } o[1] = n; }
__global__ void f(float *o, int n) { if (n > 3) free(o); o[1] = n; }
`), 0o600)
		text := filepath.Join(dir, "k.ptx")
		if out, err := exec.Command(kit.Nvcc(), "-arch=sm_80", "-ptx", "-o", text, cu).
			CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b, err := os.ReadFile(text)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ptx.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Heapless(m)
		if err != nil {
			t.Fatal(err)
		}
		now, err := ptx.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"malloc", "free"} {
			if f := now.Func(name); f == nil || !f.Body || !strings.Contains(string(f.Text()), Allocated) {
				t.Errorf("%s: %s is as before", kit.Dir, name)
			} else if strings.Contains(string(f.Text()), "ret;") != (name == "free") {
				t.Errorf("%s: what %s does with NULL: %s", kit.Dir, name, f.Text())
			}
		}
		if strings.Count(string(out), ".u32 "+Allocated+";") != 1 {
			t.Errorf("%s: the variable stands there more than once, or not", kit.Dir)
		}
		os.WriteFile(text, out, 0o600)
		if out, err := exec.Command(filepath.Join(kit.Dir, "bin", "ptxas"), "-arch=sm_80", "-o",
			filepath.Join(dir, "k.cubin"), text).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", kit.Dir, err, out)
		}
	}
	for text, want := range map[string]string{
		"":                                "nothing in the PTX allocates",
		".func free()\n{\n\tret;\n}\n":    "not the device's own",
		".global .u32 " + Allocated + ";": "has the name",
	} {
		m, err := ptx.Parse([]byte(".version 7.8\n.target sm_80\n.address_size 64\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Heapless(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
