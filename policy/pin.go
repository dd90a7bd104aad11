package policy

import (
	"errors"
	"fmt"
	"strings"

	"gnvcc/rewrite/recipe"
)

// What speaks against a recipe that a user gives and nobody measures: all that speaks against a
// candidate before it is run.

// Pinnable says why a kernel is not to be built with a recipe, nil if it may be.
func Pinnable(k *Kernel, r recipe.Recipe) error {
	if k.Alone != "" {
		return errors.New(k.Alone)
	}
	if why := k.Shut(r); why != "" {
		return errors.New(why)
	}
	for _, t := range r.Terms {
		why := ""
		switch t.Lever {
		case "unroll":
			why = k.NoUnroll
		case recipe.Second:
			if why = k.NoSecond; why == "" && !t.HostOnly() {
				why = k.NoSpec
			}
		case "throttle":
			why = k.NoThrottle
		case "shape":
			why = k.NoShape
		case "coarsen":
			if !strings.HasSuffix(t.Value, "b") { // for these the block is looked at when it is compiled
				why = k.NoCoarsen
			}
		}
		if why != "" {
			return fmt.Errorf("%s: %s", t, why)
		}
	}
	return nil
}
