package record

import (
	"cmp"
	"slices"

	"gnvcc/cache"
)

// A BuiltKernel is a kernel of a build on record.
type BuiltKernel struct {
	cache.Kernel
	Assembly cache.Assembly
}

// BuiltBy gives the kernels of the newest build of every file and target, by their identities.
func BuiltBy(store *cache.Store) map[string]BuiltKernel {
	out := map[string]BuiltKernel{}
	for _, all := range Read(store).ByCommand() {
		for _, a := range Newest(store, all) {
			for _, k := range a.Kernels {
				if _, twice := out[k.Identity]; k.Identity != "" && !twice {
					out[k.Identity] = BuiltKernel{k, a}
				}
			}
		}
	}
	return out
}

// Built lists them in the order of their names.
func Built(store *cache.Store) []BuiltKernel {
	var out []BuiltKernel
	for _, b := range BuiltBy(store) {
		out = append(out, b)
	}
	slices.SortFunc(out, BuiltKernel.Compare)
	return out
}

// Compare orders kernels by their names.
func (b BuiltKernel) Compare(other BuiltKernel) int {
	return cmp.Or(cmp.Compare(b.Name, other.Name), cmp.Compare(b.Identity, other.Identity))
}
