package fold

import (
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestKernels judges kernels as every toolkit compiles them.
func TestKernels(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		for _, flag := range []string{"-DPLAIN", "-DTABLE"} {
			t.Run(kit.Version+flag, func(t *testing.T) {
				judge(t, read(t, kit, "testdata/kernels.cu", "-Xcicc", "-O1", flag))
			})
		}
	}
}

func judge(t *testing.T, m *ptx.Module) {
	for _, e := range m.Entries() {
		fixed := Fixed{Params: map[int]bool{}, Dims: map[string]bool{"ntid.x": true}}
		for i := range e.Params {
			fixed.Params[i] = len(e.Params[i].Dims) > 0 || !strings.HasSuffix(e.Params[i].Type, "64") ||
				e.Params[i].Type == "f64"
		}
		err := Check(m, e.Name, fixed, func(string) bool { return false })
		if want := strings.Contains(e.Name, "no_"); want != (err != nil) {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// TestEnds: what is found about a kernel with loops in loops comes to an end.
func TestEnds(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	m := read(t, kits[len(kits)-1], "../../examples/occupancy/occupancy.cu", "-I../../examples/common",
		"-Xcicc", "-O1")
	for _, e := range m.Entries() {
		if err := Check(m, e.Name, Fixed{}, func(string) bool { return false }); err != nil {
			t.Error(err)
		}
	}
}

// TestSuspect: where a kernel is not suspected, Check has nothing against it.
func TestSuspect(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		m := read(t, kit, "testdata/kernels.cu")
		for _, e := range m.Entries() {
			if !Suspect(m, e.Name) && strings.Contains(e.Name, "no_") {
				t.Errorf("%s: %s is not suspected", kit.Version, e.Name)
			}
			if Suspect(m, e.Name) && strings.Contains(e.Name, "integers") {
				t.Errorf("%s: %s is suspected", kit.Version, e.Name)
			}
		}
	}
}

// TestFlags: where divisions are approximate and results are flushed, a constant that the compiler
// computed has other bits.
func TestFlags(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	m := read(t, kits[len(kits)-1], "testdata/kernels.cu", "-Xcicc", "-O1", "-use_fast_math")
	e := ""
	for _, f := range m.Entries() {
		if strings.Contains(f.Name, "ok_plain") {
			e = f.Name
		}
	}
	if err := Check(m, e, Fixed{Params: map[int]bool{1: true}}, func(string) bool {
		return false
	}); err == nil {
		t.Error("a division that is approximate is taken")
	}
}

// read compiles a program to PTX and reads that.
func read(t *testing.T, kit ptxtest.Toolkit, file string, flags ...string) *ptx.Module {
	t.Helper()
	m, err := ptx.Parse(kit.PTX(t, file, append(flags, "-arch=sm_80")...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
