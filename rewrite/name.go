package rewrite

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/recipe"
)

// name=cutlass gives a second entry a name with that word in it.
//
//	spec{host(block)=256x1x1,host(dynamic)=0} name=cutlass    k  ->  k__tuned_0123abcd_cutlass
//
// ptxas reads the names of entries: where cutlass stands in one, it orders instructions otherwise
// and takes other registers, of the same PTX. Nobody documents that, and another ptxas may do
// without it; a second entry is free to have any name.
//
// Allowed in a second entry only: the program, and whoever looks at it, knows the kernel by its own
// name.
//
// Safe: as a flag of ptxas for that entry alone. Which sums are contracted is written into the PTX
// as in nvcc's own build, or the machine code is compared (driver/compile, contraction.go); the
// bits are compared on launches.
//
// From: users of CUTLASS and Triton, who found kernels to become faster by it.

// CutlassSuffix is what stands behind such an entry's name.
const CutlassSuffix = "_cutlass"

// HasCutlass tells whether ptxas finds the word in an entry's name.
func HasCutlass(name string) bool { return strings.Contains(name, CutlassSuffix[1:]) }

// NameSuffix is what a recipe for one second entry puts behind its name.
func NameSuffix(r recipe.Recipe) string {
	if _, ok := r.Get("name", ""); ok {
		return CutlassSuffix
	}
	return ""
}

// checkName looks at a recipe for one entry.
func checkName(r recipe.Recipe) error {
	if value, ok := r.Get("name", ""); ok && (value != CutlassSuffix[1:] || !r.HasSecond()) {
		return fmt.Errorf("recipe %q: name is for a second entry: spec{...} name=%s", r,
			CutlassSuffix[1:])
	}
	return nil
}
