package lever

import (
	"fmt"
	"testing"

	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// A copy for values and a throttled one are one entry: a launch takes one.
func TestThrottleWithOthers(t *testing.T) {
	host := "host(block)=256x1x1,host(dynamic)=0"
	for _, c := range [][3]string{
		{"spec{" + host + "} throttle=3", "hint@ld=cs", "hint@ld=cs spec{" + host + "} throttle=3"},
		{"maxnreg=40", "spec{" + host + "} throttle=3", "maxnreg=40 spec{" + host + "} throttle=3"},
		{"spec{#1=8} unroll=2", "spec{" + host + "} throttle=3", "spec{#1=8," + host +
			"} throttle=3 unroll=2"},
		{"spec{" + host + "} throttle=3", "spec{#1=8} unroll=2", "spec{#1=8," + host +
			"} throttle=3 unroll=2"},
		{"spec{#1=8," + host + "} throttle=3", "spec{" + host + "} throttle=2", "spec{#1=8," + host +
			"} throttle=2"},
		{"spec{#1=8}", "maxnreg=40", "maxnreg=40 spec{#1=8}"},
	} {
		got := Join(recipeOf(t, c[0]), recipeOf(t, c[1]))
		if got.String() != c[2] {
			t.Errorf("%s and %s: %s, want %s", c[0], c[1], got, c[2])
		}
		if err := rewrite.Check(got); err != nil {
			t.Error(err)
		}
	}
	if n, ok := guardedBlock(recipeOf(t, "spec{#1=8,host(block)=64x2x1}")); n != 128 || !ok {
		t.Errorf("a block of %d, %v", n, ok)
	}
	for resident, want := range map[int]string{0: "[]", 1: "[1]", 2: "[2 1]", 8: "[8 7 6 5 4 3 2 1]",
		16: "[16 14 12 10 8 6 4 2 1]", 32: "[28 24 20 16 12 8 4 2 1]"} {
		if got := fmt.Sprint(levelsFrom(resident)); got != want {
			t.Errorf("levels below %d: %s, want %s", resident, got, want)
		}
	}
}

func recipeOf(t *testing.T, text string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
