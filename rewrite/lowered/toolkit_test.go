package lowered

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// notSame are the kernels of testdata/features.cu whose slices give other PTX than nvcc, and why.
var notSame = map[string]string{
	"virtuals": "LLVM sees through tables of virtual functions in the whole file",
	"grid":     "lowered text does not say __grid_constant__",
}

// Every kernel of a file with all that there is gives nvcc's own PTX when it is compiled alone, and
// compiles with loops unrolled and as a second entry.
func TestFeatures(t *testing.T) {
	for _, kit := range kits.All(t) {
		t.Run(kit.Version, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			source, err := filepath.Abs("testdata/features.cu")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.ReadFile(source); err != nil { // so that go test knows that the file counts
				t.Fatal(err)
			}
			nvcc := exec.Command(kit.Nvcc(), "-v", "--keep", "-arch=sm_80", "-std=c++17", "--extended-lambda", "-c",
				"-o", "features.o", source)
			nvcc.Dir = dir
			log, err := nvcc.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			cicc := ""
			for _, line := range strings.Split(string(log), "\n") {
				if strings.HasPrefix(line, "#$ ") && strings.Contains(line, "--gen_device_file_name") {
					cicc = line[3:]
				}
			}
			i := strings.Index(cicc, "--orig_src_file_name") // no file but the input, the output and the module id
			in := strings.Index(cicc, `"features.cpp1.ii"`)
			if i < 0 || in < 0 {
				t.Fatalf("another command: %s", cicc)
			}
			cicc = strings.Replace(cicc[:in]+`"$1" -o "$2"`, `"$CICC_PATH/cicc"`, kit.Dir+"/nvvm/bin/cicc -w", 1)
			if strings.HasPrefix(cicc, "cicc ") {
				cicc = kit.Dir + "/nvvm/bin/cicc -w " + cicc[5:]
			}
			compile := func(name string, text []byte) ([]byte, error) {
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file+".ii", text, 0o644); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("sh", "-c", cicc, "sh", file+".ii", file+".ptx")
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					return nil, fmt.Errorf("%w\n%s", err, out[:min(len(out), 1000)])
				}
				return os.ReadFile(file + ".ptx")
			}
			gpu, err := os.ReadFile(filepath.Join(dir, "features.cudafe1.gpu"))
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(dir, "features.ptx"))
			if err != nil {
				t.Fatal(err)
			}
			own, err := ptx.Parse(content)
			if err != nil {
				t.Fatal(err)
			}
			u, err := Parse(gpu)
			if err != nil {
				t.Fatal(err)
			}
			if len(own.Entries()) < 15 {
				t.Fatalf("%d kernels", len(own.Entries()))
			}
			for _, e := range own.Entries() {
				checkKernel(t, u, own, e, compile)
			}
		})
	}
}

func checkKernel(t *testing.T, u *Unit, own *ptx.Module, e *ptx.Func,
	compile func(string, []byte) ([]byte, error)) {
	k, err := u.Kernel(e.Name)
	if err != nil {
		t.Error(err)
		return
	}
	text, err := k.Slice()
	if err != nil {
		t.Error(err)
		return
	}
	content, err := compile("slice", text)
	if err != nil {
		t.Errorf("%s: %v", k.Name, err)
		return
	}
	m, err := Read(own, content)
	if err != nil {
		t.Errorf("%s: %v", k.Name, err)
		return
	}
	err = Same(own, m, e.Name)
	if _, other := notSame[k.Name]; other != (err != nil) {
		t.Errorf("%s: %v", k.Name, err)
	}
	terms := []recipe.Term{{Lever: recipe.Second, Value: "blockDim.x=64", Brace: true}}
	if slices.ContainsFunc(k.Loops, func(l Loop) bool { return l.Kind == "for" && !l.Pragma }) {
		terms = append(terms, recipe.Term{Lever: "unroll", Value: "2"})
	}
	values, err := k.Values(Signature(e))
	if err != nil {
		t.Errorf("%s: %v", k.Name, err)
	}
	for _, v := range values {
		if v.Why == "" && v.Class == Integer {
			terms[0].Value += fmt.Sprintf(",#%d+%d=1", v.Argument, v.Offset)
		}
	}
	terms[0].Value = strings.ReplaceAll(terms[0].Value, "+0=", "=")
	if text, err = k.Rewrite(terms, Signature(e)); err != nil {
		t.Errorf("%s: %v", k.Name, err)
		return
	}
	if _, err := compile("levers", text); err != nil {
		t.Errorf("%s with %v: %v", k.Name, terms, err)
	}
}
