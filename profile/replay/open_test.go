package replay

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gnvcc/profile"
)

// TestOpen: the caller sees each stop in turn, and how the replay ended, whether it goes to the end,
// leaves early, or the launch can't be repeated.
func TestOpen(t *testing.T) {
	lost := errors.New("the process is lost")
	for _, c := range []struct {
		name     string
		captured bool
		alone    bool
		leave    int // after so many stops, 0: never
		want     []int
	}{
		{"to the end", true, false, 0, []int{0, 1, 2, 3}},
		{"varied data alone", false, false, 0, []int{1, 2, 3}},
		{"left at the first", true, false, 1, []int{0}},
		{"left at the second", true, false, 2, []int{0, 1}},
		{"not repeatable", true, true, 0, []int{-1}},
		{"not looked at", true, false, -1, nil},
	} {
		var mores []bool
		at := Open(func(v Visit) (Outcome, error) {
			if c.captured != (v.Search != nil) {
				t.Errorf("%s: it is searched: %v", c.name, v.Search != nil)
			}
			if c.alone {
				v.Alone(&profile.Launch{}, "it prints")
				return Outcome{Reason: "it prints"}, lost
			}
			if v.Search != nil {
				mores = append(mores, v.Search(context.Background(), &profile.Launch{}, nil))
			}
			for _, n := range v.Variations {
				if len(mores) == 0 || mores[len(mores)-1] {
					mores = append(mores, v.Vary(context.Background(), n, &profile.Launch{}, nil))
				}
			}
			return Outcome{Same: true, Tries: len(mores)}, lost
		}, c.captured, []int{1, 2, 3})
		var got []int
		for c.leave >= 0 && (c.leave == 0 || len(got) < c.leave) {
			stop := at.Next()
			if stop == nil {
				break
			}
			if stop.Alone != "" {
				got = append(got, -1)
				continue
			}
			got = append(got, stop.Variation)
		}
		out, err := at.Close()
		if again, same := at.Close(); !slices.Equal(got, c.want) || err != lost || again.Tries != out.Tries || same != err ||
			out.Reason == "" == c.alone {
			t.Errorf("%s: stops %v, want %v; %+v, %v", c.name, got, c.want, out, err)
		}
		if c.leave != 0 && (len(mores) == 0 || mores[len(mores)-1]) {
			t.Errorf("%s: it is told to go on: %v", c.name, mores)
		}
	}
}
