package main

import (
	"fmt"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/policy/tuner"
	"gnvcc/rewrite/recipe"
)

// sources are the kernels that were built here, with their source.
type sources struct {
	compiler *tuner.Compiler
	built    map[string]record.BuiltKernel // by identity
}

func openSources(store *cache.Store) (*sources, error) {
	c, err := tuner.NewCompiler(store)
	if err != nil {
		return nil, err
	}
	return &sources{c, newestBuilt(store)}, nil
}

// site is where a term of a recipe acts: a loop, or the kernel; "" where that is not known.
func (x *sources) site(d cache.Decision, t recipe.Term) string {
	b, ok := x.built[d.Identity]
	if !ok {
		return ""
	}
	s, err := x.compiler.Compiler.Built(b.Assembly, b.Name)
	if err != nil || s.Code == nil {
		return ""
	}
	for _, l := range s.Code.Loops {
		if l.Site != "" && l.Site == t.Site {
			return fmt.Sprintf("loop at %s:%d", l.File, l.Line)
		}
	}
	whole := ""
	if t.Lever == recipe.Unroll && t.Site == "" {
		whole = "every loop of the "
	}
	return fmt.Sprintf("%skernel at %s:%d", whole, s.Code.File, s.Code.Line)
}
