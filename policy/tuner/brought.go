// SPDX-License-Identifier: Apache-2.0

package tuner

import (
	"context"
	"errors"
	"os"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/record"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Captures that were brought here from another machine. Its builds are not on record: a launch is
// of the kernel of its name that was built here for its GPU, if that takes the same arguments, and
// runs its code of here. What another machine's code would have left is then not known.

// Brought finds builds for such captures.
type Brought struct {
	Store    *capture.Store
	builds   *apply.Builds
	built    []record.BuiltKernel
	compiler *Compiler
	codes    map[string]capture.Code // by cubin and kernel: made once
}

// NewBrought reads what was built here.
func NewBrought(s *capture.Store, store *cache.Store, c *Compiler) (*Brought, error) {
	built, _, err := apply.Kernels(store, "")
	return &Brought{s, apply.ReadBuilds(store), built, c, map[string]capture.Code{}}, err
}

// of is a capture as one of a build here; an error says why it is none.
func (f *Brought) of(ctx context.Context, m *capture.Manifest) (*capture.Manifest, error) {
	if m.Code.Hash == m.Cubin && len(f.builds.Of(m.Cubin, m.Kernel)) > 0 {
		return m, nil // the very same build, by the content's own hash and not by a word of theirs
	}
	for _, k := range f.built {
		if k.Name == m.Kernel && ptx.Capability(k.Assembly.Target) == m.Major*10+m.Minor {
			code, err := f.code(ctx, k)
			if err != nil {
				return nil, err
			}
			return f.Store.Edited(m, code)
		}
	}
	return nil, errors.New("no kernel of that name was built here for that GPU")
}

func (f *Brought) code(ctx context.Context, k record.BuiltKernel) (capture.Code, error) {
	hash, key := k.Assembly.Cubin, k.Assembly.Cubin+" "+k.Name
	if code, ok := f.codes[key]; ok {
		return code, nil
	}
	s, err := f.compiler.Compiler.Kernel(hash, k.Name)
	if err != nil {
		return capture.Code{}, err
	}
	made, err := f.compiler.Compiler.Compile(ctx, s, recipe.Recipe{})
	if err != nil {
		return capture.Code{}, err
	}
	b, err := os.ReadFile(made.Path)
	if err != nil {
		return capture.Code{}, err
	}
	code, err := f.compiler.fitting(b, hash, k.Name)
	if err == nil {
		f.codes[key] = code
	}
	return code, err
}

// List are the captures that fit, and how many do not.
func (f *Brought) List(ctx context.Context) (list []*capture.Manifest, left int) {
	all, left := f.Store.List()
	for _, m := range all {
		if m, err := f.of(ctx, m); err == nil {
			list = append(list, m)
		} else {
			left++
		}
	}
	return list, left
}
