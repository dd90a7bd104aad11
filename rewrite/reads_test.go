package rewrite

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestReadsReal: in what nvcc gives for known sources, old and new, what is read as floating point
// is told from what is not.
func TestReadsReal(t *testing.T) {
	want := map[string]map[Pointer]Numbers{
		"mixed": {{0, 0}: Floats, {1, 0}: Floats, {2, 0}: Integers, {3, 0}: Doubles, {4, 0}: Integers,
			{6, 0}: Doubles},
		"math":    {{1, 0}: Floats, {2, 0}: Floats, {3, 0}: Doubles},
		"vectors": {{1, 0}: Floats, {2, 0}: Doubles, {3, 0}: Integers},
		"others":  {{1, 0}: Floats, {3, 0}: Integers, {4, 0}: Integers, {5, 0}: Integers},
		"tile":    {{1, 0}: Floats},
	}
	for _, kit := range ptxtest.Toolkits(t) {
		m, err := ptx.Parse(kit.PTX(t, "testdata/reads.cu", "-arch=sm_80"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Entries() {
			for name, pointers := range want {
				if !strings.Contains(f.Name, name+"P") {
					continue
				}
				got := Reads(f)
				for p, n := range pointers {
					if name == "mixed" && p.Index == 4 {
						continue // bits taken for a number: either is right
					}
					if got[p] != n {
						t.Errorf("%s: %s: %v is %d, want %d", kit.Version, name, p, got[p], n)
					}
				}
				if read, written, whole := Touched(f); name == "tile" && (!whole || !reflect.DeepEqual(written,
					[][2]int{{0, 0}}) || slices.Contains(read, [2]int{0, 0})) || name == "others" && (!whole ||
					!slices.Contains(read, [2]int{4, 0}) || slices.Contains(written, [2]int{4, 0}) ||
					!slices.Contains(written, [2]int{0, 0}) || slices.Contains(read, [2]int{0, 0})) ||
					name == "mixed" && whole && !slices.Contains(read, [2]int{0, 0}) {
					t.Errorf("%s: %s reads %v, and writes %v; all: %v", kit.Version, name, read, written, whole)
				}
				if len(got) > len(pointers) {
					t.Errorf("%s: %s: %v", kit.Version, name, got)
				}
			}
		}
	}
}
