package lowered

// The guard as the host can check it: the same conditions as in the text, on the bytes of the
// arguments.

import "gnvcc/rewrite/recipe"

// Conditions are what a launch must fulfil for a specialised kernel.
type Conditions struct {
	Arguments   []Argument
	Block, Grid [3]int // 0: any
	HasDynamic  bool   // Dynamic counts
	Dynamic     int    // dynamic shared memory of the launch, bytes
}

// An Argument is a condition on one argument: its bytes at an offset, or, where Align is set, a
// multiple of Align.
type Argument struct {
	Index, Offset int
	Bytes         []byte
	Align         int
}

// Conditions reads a spec term. What Rewrite refuses is refused here, too.
func (k *Kernel) Conditions(term recipe.Term, signature []string) (Conditions, error) {
	_, c, err := k.copied([]recipe.Term{term}, signature)
	return c, err
}
