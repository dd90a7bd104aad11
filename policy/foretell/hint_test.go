package foretell

import (
	"testing"

	"gnvcc/cache"
	"gnvcc/rewrite/recipe"
)

// Where warps use a part of each line and memory brings many sectors, larger pieces are tried; on
// scattered accesses, whole rows, what the caches have, another GPU, and with nothing counted: no
// hint.
func TestHints(t *testing.T) {
	counts := func(sectors, memory, lines uint64) *cache.Counts {
		return &cache.Counts{Sectors: []uint64{sectors - 10, 10}, Memory: []uint64{memory},
			Lines: []uint64{lines}}
	}
	partial := counts(2000, 1000, 1000)
	got := hints(partial, 90)
	if len(got) != 2 || got[0].String() != "ld=L2::256B" {
		t.Errorf("%v", got)
	}
	for name, c := range map[string]*cache.Counts{"scattered": counts(1000, 500, 1000),
		"rows": counts(4000, 2000, 1000), "cached": counts(2000, 100, 1000), "nothing": nil,
		"empty": {}} {
		if got := hints(c, 90); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := hints(partial, 80); got != nil {
		t.Errorf("another GPU: %v", got)
	}
	for text, known := range map[string]bool{"ld=L2::256B": true, "ld=L2::128B maxnreg=40": true,
		"ld=L2::64B": false, "ld=L2::128B ld@1=none": false, "maxnreg=40": false, "st=cs": false} {
		r, err := recipe.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if w := Worth(partial, 90, r); (w < 1) != known || w > 1 || w < 0.9 {
			t.Errorf("%s: %g", text, w)
		}
	}
}
