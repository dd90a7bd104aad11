package lever

import (
	"errors"
	"slices"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/repeat"
)

func TestRepeat(t *testing.T) {
	loops := []repeat.Loop{
		{Number: 1, Counted: true, Size: 90}, {Number: 2, Counted: true, Inner: true, Size: 20},
		{Number: 4, Inner: true, Size: 5}, {Number: 5, Counted: true, Inner: true, Size: 40},
		{Number: 6, Counted: true, Inner: true, Size: 1 << 20}}
	s := &Situation{Kernel: &policy.Kernel{
		Repeats: func() ([]repeat.Loop, error) { return loops, nil }}}
	texts := func(list []recipe.Recipe) (out []string) {
		for _, r := range list {
			out = append(out, r.String())
		}
		return out
	}
	l := Named("repeat")
	if got, want := texts(l.Try(s)), []string{"repeat@5=4", "repeat@5=2", "repeat@5=8", "repeat@2=4",
		"repeat@1=4"}; !slices.Equal(got, want) {
		t.Errorf("tried are %q, want %q", got, want)
	}
	best, err := recipe.Parse("maxnreg=64 repeat@5=8")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := texts(l.Around(s, policy.Trial{Recipe: best})), []string{"maxnreg=64 repeat@5=16",
		"maxnreg=64 repeat@2=4 repeat@5=8",
		"maxnreg=64 repeat@1=4 repeat@5=8"}; !slices.Equal(got, want) {
		t.Errorf("around it %q, want %q", got, want)
	}
	none := &Situation{Kernel: &policy.Kernel{Repeats: func() ([]repeat.Loop, error) {
		return nil, errors.New("it has no loop")
	}}}
	if l.Try(none) != nil || l.Why(none) != "it has no loop" {
		t.Error("something is tried of a kernel without a loop")
	}
}
