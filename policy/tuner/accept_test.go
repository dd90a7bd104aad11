package tuner

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
)

// TestAcceptance: all approximations are built and asked about; where they are refused, one after the
// other, and what is not accepted is taken back, in the store and in the last build.
func TestAcceptance(t *testing.T) {
	for _, c := range []struct {
		name, bad string // kernels that the command refuses; "*": whatever is built
		want      string // that stay approximate
		asked     int
		fails     bool
	}{
		{"all are accepted", "", "a b c", 1, false},
		{"one is refused", "b", "a c", 5, false},
		{"none is accepted", "a b c", "", 5, false},
		{"the program is refused without any", "*", "", 2, true},
	} {
		now, built := map[string]string{}, map[string]string{}
		var refused []string
		asked := 0
		var list []cache.Decision
		for _, k := range []string{"a", "b", "c"} {
			list = append(list, cache.Decision{Kernel: k, Recipe: "fastmath=all", Exactness: "approximate"})
			now[k] = "fastmath=all"
		}
		a := acceptance{
			keep:   func(d cache.Decision) error { now[d.Kernel] = d.Recipe; return nil },
			refuse: func(d cache.Decision) error { refused = append(refused, d.Kernel); return nil },
			build: func() error {
				for k, r := range now {
					built[k] = r
				}
				return nil
			},
			accepts: func() (bool, error) {
				asked++
				for k, r := range built {
					if r != "" && strings.Contains(c.bad, k) {
						return false, nil
					}
				}
				return c.bad != "*", nil
			}}
		err := a.run(list)
		var stay []string
		for _, d := range list {
			if built[d.Kernel] != "" {
				stay = append(stay, d.Kernel)
			}
			if (built[d.Kernel] == "") != slices.Contains(refused, d.Kernel) && err == nil {
				t.Errorf("%s: %s is built with %q, refused %v", c.name, d.Kernel, built[d.Kernel], refused)
			}
		}
		if strings.Join(stay, " ") != c.want || asked != c.asked || (err != nil) != c.fails {
			t.Errorf("%s: %v stay, asked %d times, %v", c.name, stay, asked, err)
		}
	}
	broken := acceptance{build: func() error { return nil }, accepts: func() (bool, error) { return false, errors.New("no such command") }}
	if err := broken.run([]cache.Decision{{Kernel: "a"}}); err == nil {
		t.Error("a command that can't be run accepts")
	}
}
