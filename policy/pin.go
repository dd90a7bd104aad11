package policy

import (
	"errors"
	"fmt"

	"gnvcc/cache"
	"gnvcc/rewrite/recipe"
)

// What speaks against a recipe that a user gives and nobody measures: all that speaks against a candidate before it is run.

// Pinnable says why a kernel is not to be built with a recipe, nil if it may be.
func Pinnable(k *Kernel, r recipe.Recipe) error {
	if k.Alone != "" {
		return errors.New(k.Alone)
	}
	for _, t := range r.Terms {
		why := ""
		switch t.Lever {
		case "unroll":
			why = k.NoUnroll
		case "guard":
			why = k.NoSpec
		case "spec":
			if why = k.NoSecond; why == "" && !t.HostOnly() {
				why = k.NoSpec
			}
		case "throttle":
			why = k.NoThrottle
		case "maxnreg":
			if k.Bounds != "" && !hasLever(r, "spec") {
				why = k.Bounds + " is yours, and stays"
			}
		}
		if why != "" {
			return fmt.Errorf("%s: %s", t, why)
		}
	}
	return nil
}

// Launches says why a build with a recipe could fail where nvcc's own would not, whatever the launches are; nil if it can't.
func Launches(k *Kernel, r recipe.Recipe, b cache.Build) error {
	grown := b.Shared - k.Default.Shared
	switch {
	case k.Awaits != "" && (grown > 0 || b.Registers > k.Default.Registers):
		return fmt.Errorf("its blocks may wait for each other (%s): with %d registers and %d bytes of shared memory fewer of them could be resident than a launch counts on",
			k.Awaits, b.Registers, b.Shared)
	case grown > 0 && !forDynamic(r):
		return fmt.Errorf("it takes %d bytes of shared memory more, which launches with dynamic shared memory may need", grown)
	}
	return nil
}
