package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/install/kits"
)

// linked are n objects of a folder, all one file.
func linked(t *testing.T, p *drivertest.Project, folder string, n int) []string {
	t.Helper()
	var names []string
	if err := os.MkdirAll(filepath.Join(p.Dir, folder), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name := filepath.Join(folder, fmt.Sprintf("%d.o", i))
		if err := os.Symlink(filepath.Join(p.Dir, "m.o"), filepath.Join(p.Dir, name)); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// TestManyObjects links by every toolkit what is so much that nvcc gives nvlink its words in a
// file, in which a prefix of ours stands, too: by names, from an option file, with lists that grow,
// with a long name of the folder for temporary files; and keeps the file. What comes out is nvcc's
// own.
func TestManyObjects(t *testing.T) {
	kits.Long(t, "TestLinkCompiles links by nvlink")
	for _, version := range drivertest.Toolkits {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{
				"k.cu": "__device__ int f(int);\n__global__ void k(int *p) { *p = f(*p); }\n",
				"f.cu": "__device__ int f(int i) { return i * i; }\n",
				"m.cu": "int m;\n"})
			p.Gnvcc("-arch=sm_90", "-dc", "k.cu", "f.cu")
			p.Gnvcc("-arch=sm_90", "-c", "m.cu")
			deep := t.TempDir()
			for range 10 {
				deep = filepath.Join(deep, strings.Repeat("d", 250))
			}
			if err := os.MkdirAll(deep, 0o755); err != nil {
				t.Fatal(err)
			}
			objects := linked(t, p, "objects", 150)
			drivertest.Write(t, filepath.Join(p.Dir, "objects.rsp"), strings.Join(objects, "\n"))
			list := "nowhere" + strings.Repeat(",x", 1500)
			few := strings.Fields("-arch=sm_90 -dlink k.o f.o -o d.o")
			with := func(args ...string) []string { return append(few[:len(few):len(few)], args...) }
			for _, c := range []struct {
				name, temporary string
				always          bool // not from 13.0 on alone
				args            []string
			}{
				{"many", p.Dir, true, with(objects...)},
				{"file", p.Dir, true, with("--options-file", "objects.rsp")},
				{"targets", p.Dir, true, with(append(objects, "-gencode", "arch=compute_90,code=sm_90")...)},
				{"long", p.Dir, false, with("-L" + strings.Repeat("x", 8000))},
				{"lists", p.Dir, false, with("-L", list)},
				{"temporary", deep, false, with("-L" + strings.Repeat("x", 4000))},
				{"kept", p.Dir, true, with(append(objects, "--keep", "--keep-dir", "kept")...)},
			} {
				t.Run(c.name, func(t *testing.T) {
					kept := filepath.Join(p.Dir, "kept")
					nvcc := filepath.Join(p.Kit, "bin/nvcc")
					run := func(self string, args ...string) string {
						os.RemoveAll(kept)
						os.Remove(filepath.Join(p.Dir, "d.o"))
						if err := os.Mkdir(kept, 0o755); err != nil {
							t.Fatal(err)
						}
						cmd := exec.Command(self, args...)
						cmd.Args[0] = "gnvcc"
						if self == nvcc {
							cmd.Args[0] = nvcc
						}
						cmd.Dir, cmd.Env = p.Dir, append(p.Env[:len(p.Env):len(p.Env)], "TMPDIR="+c.temporary)
						out, err := cmd.CombinedOutput()
						if err != nil {
							t.Errorf("%s: %v\n%s", self, err, out)
						}
						return string(out)
					}
					made := func(out string) string {
						text, _ := os.ReadFile(filepath.Join(p.Dir, "d.o"))
						return fmt.Sprint(steady([]byte(out)), "\n", steady(text), "\n", filesOf(t, kept))
					}
					byFile := strings.Contains(run(nvcc, append(c.args, "--dryrun")...), "#$ nvlink -optf")
					if byFile != (c.always || version >= "13") {
						t.Errorf("nvlink's words in a file: %v", byFile)
					}
					want := made(run(nvcc, c.args...))
					self, err := os.Executable()
					if err != nil {
						t.Fatal(err)
					}
					if got := made(run(self, c.args...)); got != want {
						t.Errorf("nvcc's own:\n%.2000q\ngnvcc's:\n%.2000q", want, got)
					}
				})
			}
			p.Gnvcc(few...)
			links := 0
			err := p.Store.EachPending(cache.Links, func(string, []byte) error { links++; return nil })
			if err != nil || links == 0 {
				t.Errorf("a link of which nvlink's words stand on the line is not written down: %v", err)
			}
		})
	}
}
