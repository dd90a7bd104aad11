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
	"held": hazard.Held, "order": hazard.Order, "fence": hazard.Fence, "divided": hazard.Divided,
}

// expected reads the marks of the program: "class line".
func expected(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for n, line := range strings.Split(string(text), "\n") {
		_, mark, ok := strings.Cut(line, "; // ")
		class, known := classes[mark]
		if !ok || !known {
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
		t.Run(kit.Version, func(t *testing.T) {
			t.Parallel()
			m, err := ptx.Parse(kit.PTX(t, program, "-arch=sm_80", "-lineinfo"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range m.Entries() {
				found, err := hazard.Find(m, f.Name)
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
			if want := expected(t); !slices.Equal(got, want) {
				t.Errorf("found\n  %s\nshould be\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
			}
		})
	}
}
