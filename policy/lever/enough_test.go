package lever

import (
	"errors"
	"fmt"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// TestEnough: words are added by what is spilled, until nothing is or four ptxas runs are through.
func TestEnough(t *testing.T) {
	const at = " maxnreg=40 spec{host(block)=256x1x1,host(dynamic)=0}"
	for _, x := range []struct {
		name, recipe string
		spill        map[string]int // bytes, by the value of demote; others 0
		own          int            // bytes that nvcc's own code spills
		want         string         // the recipe, "" for a refusal
		runs         int
	}{
		{"enough at once", "demote=11:loops" + at, nil, 0, "demote=11:loops" + at, 1},
		{"by what is spilled", "demote=11:loops" + at, map[string]int{"11:loops": 24, "17:loops": 4}, 0,
			"demote=18:loops" + at, 3},
		{"four runs", "demote=11:loops" + at, map[string]int{"11:loops": 4, "12:loops": 4, "13:loops": 4, "14:loops": 4},
			0, "", 4},
		{"the best of them, where nvcc spills more", "demote=11:loops" + at,
			map[string]int{"11:loops": 12, "14:loops": 4, "15:loops": 8, "17:loops": 8}, 12, "demote=14:loops" + at, 4},
		{"no room", "demote=47:loops" + at, map[string]int{"47:loops": 40, "48:loops": 8}, 0, "", 2},
		{"no more warps", "demote=11:loops maxnreg=72 spec{host(block)=256x1x1,host(dynamic)=0}",
			map[string]int{"11:loops": 40}, 0, "", 2},
		{"refused", "demote=7:loops" + at, map[string]int{"7:loops": -1}, 0, "", 1},
		{"ptxas' own", "demote=spill" + at, map[string]int{"spill": 8}, 0, "demote=spill" + at, 1},
		{"a cap", "maxnreg=40", map[string]int{"": 8}, 0, "maxnreg=40", 1},
	} {
		k := &policy.Kernel{MaxThreads: 1024, CC: 90, Default: cache.Build{Registers: 78, Spill: x.own}}
		r, err := recipe.Parse(x.recipe)
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		got, c, err := Enough(k, r, func(r recipe.Recipe) (*policy.Candidate, error) {
			runs++
			value, _ := r.Get("demote", "")
			spill := x.spill[value]
			if spill < 0 {
				return nil, errors.New("no value can be demoted")
			}
			words, registers := 0, 0
			fmt.Sscanf(value, "%d:", &words)
			text, _ := r.Get("maxnreg", "")
			fmt.Sscan(text, &registers)
			return &policy.Candidate{Entry: r.String(), Build: cache.Build{Registers: registers, Spill: spill,
				Shared: 1024 * words}}, nil
		})
		if x.want == "" {
			if err == nil || runs != x.runs {
				t.Errorf("%s: %s in %d runs, no refusal", x.name, got, runs)
			}
			continue
		}
		if err != nil || got.String() != x.want || c.Entry != x.want || runs != x.runs {
			t.Errorf("%s: %s after %d runs, %v", x.name, got, runs, err)
		}
	}
}
