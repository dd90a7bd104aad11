package hazard_test

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"gnvcc/rewrite/hazard"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

const program = "testdata/hazards.cu"

var classes = map[string]hazard.Class{
	"lockstep": hazard.Lockstep, "held": hazard.Held, "divided": hazard.Divided, "order": hazard.Order,
	"fence": hazard.Fence,
}

// expected reads the marks of the program: "class line", without those of other targets.
func expected(t *testing.T, target string) []string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for n, line := range strings.Split(string(text), "\n") {
		_, mark, ok := strings.Cut(line, "; // ")
		class, known := classes[mark]
		if !ok || !known || class == hazard.Lockstep && target != "sm_60" {
			continue
		}
		out = append(out, fmt.Sprintf("%s hazards.cu:%d", class, n+1))
	}
	sort.Strings(out)
	return out
}

// TestFind: what is marked is reported, at its line, for every nvcc; nothing else is.
func TestFind(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		target := "sm_80"
		if slices.Contains(kit.Archs(t), "sm_60") {
			target = "sm_60"
		}
		t.Run(kit.Version+"/"+target, func(t *testing.T) {
			t.Parallel()
			m, err := ptx.Parse(kit.PTX(t, program, "-arch="+target, "-lineinfo"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range m.Entries() {
				found, err := hazard.Find(m, f.Name, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range found {
					if strings.Contains(x.Kernel, "right") {
						t.Errorf("false alarm in %s: %s", x.Kernel, x)
					}
					got = append(got, fmt.Sprintf("%s %s", x.Class, x.Where))
				}
			}
			sort.Strings(got)
			if want := expected(t, target); !slices.Equal(got, want) {
				t.Errorf("found\n  %s\nshould be\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
			}
		})
	}
}

// TestShapes: where the blocks are known, a condition is judged for these and no others.
func TestShapes(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	m, err := ptx.Parse(kits[len(kits)-1].PTX(t, program, "-arch=sm_80"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		shapes [][3]int
		want   int
	}{
		{nil, 1},
		{[][3]int{{256, 1, 1}}, 1},
		{[][3]int{{7, 8, 1}}, 0}, // no thread has threadIdx.x of 7 and more
		{[][3]int{{256, 1, 1}, {4, 1, 1}}, 0},
	} {
		found, err := hazard.Find(m, "divided", c.shapes)
		if err != nil || len(found) != c.want {
			t.Errorf("%v: %v, %v; should be %d", c.shapes, found, err, c.want)
		}
		for _, f := range found {
			if f.Where != "" || !strings.HasPrefix(f.String(), string(hazard.Divided)+": ") {
				t.Errorf("without -lineinfo: %q", f)
			}
		}
	}
	if _, err := hazard.Find(m, "nobody", nil); err == nil {
		t.Error("a kernel that is not there")
	}
}
