package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolcmd"
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
		if err := os.Symlink(filepath.Join(p.Dir, "k.o"), filepath.Join(p.Dir, name)); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// TestManyObjects links by every toolkit what is so much that nvcc gives nvlink its words in a
// file, in which a prefix of ours would stand, too: by names, and from an option file.
func TestManyObjects(t *testing.T) {
	const deep = "a_folder_whose_name_alone_is_so_long_that_some_ninety_objects_make_a_line_of_8000"
	for _, version := range drivertest.Toolkits {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{
				"k.cu": "__global__ void k(int *p) { *p = 1; }\n", "m.cu": "int main() { return 0; }\n"})
			p.Gnvcc("-arch=sm_90", "-c", "k.cu", "-o", "k.o")
			p.Gnvcc("-arch=sm_90", "-c", "m.cu", "-o", "m.o")
			short, long := linked(t, p, "s", 150), linked(t, p, deep, 95)
			drivertest.Write(t, filepath.Join(p.Dir, "objects.rsp"), strings.Join(short, "\n"))
			link := []string{"-arch=sm_90", "-dlink", "-o", "d.o"}
			for name, args := range map[string][]string{
				"many": append(link, short...), "long": append(link, long...),
				"file": append(link, "--options-file", "objects.rsp")} {
				t.Run(name, func(t *testing.T) { p.Gnvcc(args...) })
			}

			// Wherever nvlink has a prefix, nvcc gives it its words on the line.
			nvcc := filepath.Join(p.Kit, "bin/nvcc")
			byLine, byFile := 0, 0
			for _, list := range [][]string{short, long} {
				for n := 70; n <= min(105, len(list)); n += 5 {
					args := append([]string{"-arch=sm_90", "-dlink", "-o", "d.o"}, list[:n]...)
					line := toolcmd.ReadLine(args, p.Dir, func(string) string { return "" })
					nvlink := !line.LinksByFile(os.TempDir(), linkWords+3*len(nvcc))
					cmd := exec.Command(nvcc, append(append(prefixArgs(environment.Read(), "cicc", false, false,
						nvlink), "--dryrun"), args...)...)
					cmd.Dir = p.Dir
					out, err := cmd.CombinedOutput()
					file := strings.Contains(string(out), "nvlink -optf")
					if err != nil || nvlink && file {
						t.Errorf("%d objects like %s: %v; nvlink has a prefix: %v, its words in a file: %v", n,
							list[0], err, nvlink, file)
					}
					if nvlink {
						byLine++
					}
					if file {
						byFile++
					}
				}
			}
			if byLine == 0 || byFile == 0 {
				t.Errorf("tried %d links with a prefix, %d whose words stand in a file: none of one kind", byLine,
					byFile)
			}
		})
	}
}
