package policy

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"gnvcc/policy/stats"
	"gnvcc/rewrite"
)

// What the user may say about a tuning run. The zero Options is invalid; use Defaults.

// Options of a run.
type Options struct {
	// the worst level that may be adopted: ByConstruction, Checked (usual), Approximate
	Exact  rewrite.Exactness
	Within Bound // error allowed; zero: the same bits
	// the source's hints for speed (hints.go) are kept, whatever is faster
	Keep bool

	Budget time.Duration // for one configuration of a kernel, waiting for compilers included
	Full   int           // configurations of one kernel that are searched in full
	Verify int           // further ones on which the best recipes so far are verified
	Short  time.Duration // kernels below are left alone: launching costs more than they do
	Checks int           // later launches on which the winner is checked again
	Jobs   int           // compiles at a time

	// Crashes of a kernel's candidates, each of which costs a process, after which it is let be
	Crashes int

	Only    *regexp.Regexp `json:"-"` // kernels to tune, by mangled or short name; nil: all
	Levers  []string       // only these; nil: all
	Without []string       // but not these
	Driver  string
	Version string     // of gnvcc
	Rule    stats.Rule `json:"-"`
}

// Defaults are the options of gnvcc tune without options.
//
// Budget: a configuration of a 100 us kernel takes 0.3 to 1 s of measuring; the rest is for cicc
// (0.3 to 3 s a source variant, Jobs at a time). Full and Verify: kernels launched with ever new
// shapes must not stop the program for ever. Short: an empty kernel takes 1 us on an H200, without
// what events around it take; of one that takes little more nothing can be gained.
func Defaults() Options {
	return Options{
		Exact:  rewrite.Checked,
		Budget: 20 * time.Second,
		Full:   4,
		Verify: 16,
		Short:  1500 * time.Nanosecond,
		Checks: 4,
		Jobs:   runtime.GOMAXPROCS(0),
		Rule:   stats.Standard,
	}
}

// Validate names the first thing wrong with options; known are the names of all levers.
func (o *Options) Validate(known []string) error {
	for _, list := range [][]string{o.Levers, o.Without} {
		for _, name := range list {
			if !slices.Contains(known, name) {
				return fmt.Errorf("unknown lever %q (there are %s)", name, strings.Join(known, ", "))
			}
		}
	}
	for _, name := range o.Levers {
		approximate := func(p rewrite.Pass) bool {
			return p.Lever == name && p.Exact == rewrite.Approximate
		}
		switch {
		case slices.Contains(o.Without, name):
			return fmt.Errorf("--levers names both %[1]s and -%[1]s", name)
		case o.Exact != rewrite.Approximate && slices.ContainsFunc(rewrite.Levers(), approximate):
			return fmt.Errorf("the lever %s gives other results: it needs --exact=approximate", name)
		}
	}
	if o.Budget <= 0 {
		return errors.New("--budget must be more than 0")
	}
	if o.Exact == rewrite.Approximate && o.Within == (Bound{}) {
		return errNoBound
	}
	return nil
}

// Leave is what the user allows beyond the same bits, as text; "" for nothing.
func (o *Options) Leave() string {
	if o.Within == (Bound{}) {
		return ""
	}
	return fmt.Sprintf("%s within %s\n", o.Exact, o.Within)
}

// Allows reports whether a lever may be used at all.
func (o *Options) Allows(lever string) bool {
	if o.Levers != nil && !slices.Contains(o.Levers, lever) {
		return false
	}
	return !slices.Contains(o.Without, lever)
}
