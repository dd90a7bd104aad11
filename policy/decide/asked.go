package decide

import (
	"fmt"
	"slices"

	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// Programs that ask the driver about a kernel: how many registers it has, how many of its blocks
// fit on a multiprocessor, how large a block may be. They choose blocks and grids by the answer,
// and with these their results: partial sums of floats, one a block, add up to other bits where
// there are other blocks. So such a kernel keeps what the answers are made of. A second entry is
// another kernel, which the program does not ask about.

// answers says what a program that asks would get now, "" if nothing new; and why a cooperative
// launch of the kernel, or one in clusters, could fail.
func (k *Findings) answers(r recipe.Recipe, configs []*Config) string {
	any := func(is func(*profile.Launch) bool) bool {
		return slices.ContainsFunc(k.Configs, func(c *Config) bool {
			return c.Launch != nil && is(c.Launch)
		})
	}
	asked := any(func(l *profile.Launch) bool { return l.Asked })
	together := any((*profile.Launch).Together)
	if r.HasSecond() || !asked && !together {
		return ""
	}
	was := k.Default
	for _, c := range configs {
		tr := c.figure(&k.Kernel, r)
		if tr == nil {
			continue
		}
		if is := tr.Build; together && (is.Registers > was.Registers || is.Shared > was.Shared) {
			return fmt.Sprintf("the program launches the kernel as cooperative, or in clusters: with %d registers (%d by nvcc) fewer of its blocks would be resident than that may need", is.Registers, was.Registers)
		}
		if is := tr.Build; asked && (is.Registers != was.Registers || is.Shared != was.Shared ||
			is.Stack != was.Stack || is.Barriers != was.Barriers) {
			return fmt.Sprintf(
				"the program asks the driver for the kernel's registers or occupancy, and may launch different blocks if the answer changes (%d registers, not %d)", is.Registers, was.Registers)
		}
	}
	return ""
}
