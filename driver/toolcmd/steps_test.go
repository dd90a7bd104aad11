package toolcmd

import (
	"slices"
	"strings"
	"testing"
)

func TestReadHost(t *testing.T) {
	good := strings.Fields(
		"-D__CUDA_ARCH__=800 -c -x c++ -O3 -Wno-psabi -I/x -isystem /y -m64 -fPIC /tmp/tmpxft_0000abcd_00000000-6_a.cudafe1.cpp -o a.o")
	c, err := ReadHost(good)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Preprocess,
		" "); got != "-D__CUDA_ARCH__=800 -E -x c++ -O3 -Wno-psabi -I/x -isystem /y -m64 -fPIC /tmp/tmpxft_0000abcd_00000000-6_a.cudafe1.cpp" {
		t.Errorf("preprocess with %s", got)
	}
	if good[c.Out] != "a.o" || !strings.HasSuffix(good[c.In], ".cudafe1.cpp") {
		t.Errorf("%+v", c)
	}
	for _, more := range []string{
		"-Wa,-ahls=x", "-Wp,-MD,x", "-Wl,-x", "-MD", "-MF", "-include", "-imacros", "-specs=x", "-B/x",
		"-save-temps", "-g", "-g3", "-flto", "-fprofile-use", "-fplugin=x", "--coverage",
		"-fstack-usage", "-ftest-coverage", "-fdump-tree-all", "-fauto-profile=x", "@x", "b.cpp", "-E",
		"-S", "-o", "-x", "-fmodules-ts", "-frandom-seed=1", "-ffile-prefix-map=a=b",
	} {
		if _, err := ReadHost(append(append([]string(nil), good...), more)); err == nil {
			t.Errorf("%s read", more)
		}
	}
	for _, other := range []string{"-E -x c++ -I/x a.cu -o a.ii",
		"-O3 -Wl,--start-group a.o b.o -lcudart -Wl,--end-group -o app"} {
		_, err := ReadHost(strings.Fields(other))
		if err == nil || !strings.Contains(err.Error(), "not the compile of what cudafe++ wrote") {
			t.Errorf("%s: %v", other, err)
		}
	}
	for _, less := range []string{"-c", "-o", "c++", good[c.In]} {
		var args []string
		for _, word := range good {
			if word != less {
				args = append(args, word)
			}
		}
		if _, err := ReadHost(args); err == nil {
			t.Errorf("read without %s", less)
		}
	}
}

func TestReadCudafe(t *testing.T) {
	good := []string{"--c++17", "--orig_src_file_name", "x.ii", "--gen_c_file_name", "x.cpp",
		"--stub_file_name", "x.stub.c", genModule, "--module_id_file_name", "x.module_id", "in.ii"}
	c, err := ReadCudafe(good)
	if err != nil || c.In != "in.ii" || len(c.Outputs) != 2 || len(c.Reads) != 0 {
		t.Errorf("%+v %v", c, err)
	}
	for _, more := range [][]string{{"other.ii"}, {"--list_file=x"}, {"--new_file_name", "x"},
		{"--gen_c_file_name"}, {"x.cpp"}} {
		if _, err := ReadCudafe(append(append([]string(nil), good...), more...)); err == nil {
			t.Errorf("%q read", more)
		}
	}
}

func TestReadCicc(t *testing.T) {
	good := strings.Fields(
		"--c++17 --orig_src_path_name /src/k.ii -arch compute_90 --gen_c_file_name x.c " +
			"--stub_file_name x.stub.c --gen_module_id_file --module_id_file_name x.module_id in.cpp1.ii -o out.ptx")
	c, err := ReadCicc(good)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Outputs(), " "); got != "out.ptx x.c x.stub.c x.module_id" || !c.Makes {
		t.Errorf("it writes %s", got)
	}
	if c.Args[c.In] != "in.cpp1.ii" || c.Source != "/src/k.ii" || c.Unclear != "" {
		t.Errorf("%+v", c)
	}
	const same = "--c++17 --orig_src_path_name /src/k.ii -arch compute_90 /d/in.ii -o /d/out.ptx"
	args, in, out := c.Slice("/d")
	if got := strings.Join(args, " "); got != same || in != "/d/in.ii" || out != "/d/out.ptx" {
		t.Errorf("for a slice: %q, %s, %s", got, in, out)
	}
	args, in, out = c.Lower("/d")
	if got := strings.Join(args, " "); !strings.HasPrefix(got, same+" ") || in != "/d/in.ii" ||
		!strings.HasSuffix(got, " "+genLowered+" "+out) {
		t.Errorf("for lowered code: %q, %s, %s", got, in, out)
	}
	if low, err := ReadCicc(args); err != nil || low.Args[low.Lowered] != out || c.Lowered >= 0 {
		t.Errorf("lowered code goes to %+v (%v)", low, err)
	}
	m := ReadModule(good)
	if m.Source != "/src/k.ii" || m.File != "x.module_id" || good[m.Make] != genModule {
		t.Errorf("module: %+v", m)
	}
	if c, err := ReadCicc(append(good, "--new_list=x")); err != nil || c.Unclear != "--new_list=x" {
		t.Errorf("%+v %v", c, err)
	}
	c, err = ReadCicc(append(good, "-olto", "/x.ltoir")) // a second output, of code=[sm_90,lto_90]
	if args, _, _ := c.Slice("/d"); err != nil || !slices.Contains(c.Outputs(), "/x.ltoir") ||
		slices.Contains(args, "/x.ltoir") {
		t.Errorf("LTO code next to PTX: %q, for a slice %q, %v", c.Outputs(), args, err)
	}
	for _, more := range []string{"b.ii", "-o", "-o b.ptx", "-new /tmp/x"} {
		if _, err := ReadCicc(append(good, strings.Fields(more)...)); err == nil {
			t.Errorf("%s read", more)
		}
	}
}

func TestReadNvlink(t *testing.T) {
	args := strings.Fields(
		"--arch=sm_90 -m64 --register-link-binaries=r.c -L/lib a.o -lcudadevrt libb.a -o out.cubin")
	c, err := ReadNvlink(args)
	if err != nil {
		t.Fatal(err)
	}
	if c.Target != "sm_90" || strings.Join(c.Inputs(), " ") != "a.o libb.a" ||
		c.Output() != "out.cubin" || c.LTO {
		t.Errorf("%+v", c)
	}
	recorded := strings.Join(c.Template(), " ")
	if recorded != "--arch=sm_90 -m64 --register-link-binaries=r.c -L/lib <0> -lcudadevrt <1> -o <out>" {
		t.Errorf("recorded as %s", recorded)
	}
	again, err := ReadNvlink(strings.Fields(recorded))
	if err != nil {
		t.Fatal(err)
	}
	want := "--arch=sm_90 -m64 --register-link-binaries=/d/r -L/lib -lcudadevrt x y -o z"
	if got := strings.Join(again.With([][]string{nil, {"x", "y"}}, "z", "/d/r"), " "); got != want {
		t.Errorf("with other files: %s", got)
	}
	for _, bad := range []string{"-arch sm_90 a.o", "-arch sm_90 -o x", "a.o -o x",
		"-arch=sm_90 a.o -o", "-arch=sm_90 -optf f a.o -o x"} {
		if _, err := ReadNvlink(strings.Fields(bad)); err == nil {
			t.Errorf("%s read", bad)
		}
	}
	if c, err := ReadNvlink(append(args, "-dlto")); err != nil || !c.LTO {
		t.Errorf("-dlto: %v", err)
	}
}
