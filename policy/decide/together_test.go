package decide

import (
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// TestTogether: a launch that needs many blocks to be resident at a time keeps them so: a recipe
// that takes more registers is refused, unless it is for a second entry, which no such launch is
// given.
func TestTogether(t *testing.T) {
	plain, err := recipe.Parse("hint@ld=cs")
	if err != nil {
		t.Fatal(err)
	}
	second, err := recipe.Parse("spec{host(block)=256x1x1,host(dynamic)=0} hint@ld=cs")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		file       string
		attributes []string
		r          recipe.Recipe
		registers  int
		refused    bool
	}{
		{"a usual launch", "", nil, plain, 40, false},
		{"with a priority", "", []string{"priority"}, plain, 40, false},
		{"cooperative", "", []string{"cooperative"}, plain, 40, true},
		{"cooperative, fewer registers", "", []string{"cooperative"}, plain, 24, false},
		{"in clusters", "", []string{"cluster dimension"}, plain, 40, true},
		{"beside such launches", "cudaLaunchCooperativeKernel", nil, plain, 40, true},
		{"beside such launches, a second entry", "cudaLaunchCooperativeKernel", nil, second, 40, false},
	} {
		k := &policy.Kernel{Name: "k", Together: c.file, Default: cache.Build{Registers: 32}}
		l := &profile.Launch{Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{256, 1, 1}},
			LaunchAttributes: c.attributes}
		why := Shrinks(k, c.r, &policy.Candidate{Build: cache.Build{Registers: c.registers}}, 256, l)
		if (why != "") != c.refused || c.refused && !strings.Contains(why, "resident") {
			t.Errorf("%s: %q", c.name, why)
		}
		tr := &policy.Trial{Recipe: c.r, Text: c.r.String(), Build: cache.Build{Registers: c.registers}}
		f := &Findings{Kernel: *k, Configs: []*Config{{Launch: l}}}
		config := &Config{}
		config.Notebook.Trials = []*policy.Trial{tr}
		if c.file != "" || config.figure(k, c.r) == nil {
			continue // of a file's other launches nothing is known when a recipe is adopted
		}
		if why := f.answers(c.r, []*Config{config}); (why != "") != c.refused {
			t.Errorf("%s, adopted: %q", c.name, why)
		}
	}
}
