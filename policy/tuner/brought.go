// SPDX-License-Identifier: Apache-2.0

package tuner

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Captures that were brought here from another machine. Its builds are not on record: a launch is
// of the kernel of its name that was built here for its GPU, if that takes the same arguments, and
// runs its code of here. What another machine's code would have left is then not known. Where
// several have that name it is of the one with its machine code.

// Brought finds builds for such captures.
type Brought struct {
	Store    *capture.Store
	builds   *apply.Builds
	built    []record.BuiltKernel
	compiler *Compiler
	codes    map[string]made // by cubin and kernel: made once
}

type made struct {
	code capture.Code
	err  error
}

// NewBrought reads what was built here.
func NewBrought(s *capture.Store, store *cache.Store, c *Compiler) (*Brought, error) {
	built, _, err := apply.Kernels(store, "")
	return &Brought{s, apply.ReadBuilds(store), built, c, map[string]made{}}, err
}

// of is a capture as one of a build here, of an identity where that is not ""; an error says why it
// is none.
func (f *Brought) of(ctx context.Context, m *capture.Manifest, identity string) (*capture.Manifest,
	error) {
	if m.Code.Hash == m.Cubin && len(f.builds.Of(m.Cubin, m.Kernel)) > 0 {
		return m, nil // the very same build, by the content's own hash and not by a word of theirs
	}
	var list []record.BuiltKernel
	for _, k := range f.built {
		if k.Name == m.Kernel && ptx.Capability(k.Assembly.Target) == m.Major*10+m.Minor &&
			(identity == "" || k.Identity == identity) {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no kernel %q was built here for that GPU", policy.ShortName(m.Kernel))
	}
	is := list[0]
	if len(list) > 1 {
		at, err := f.alike(ctx, m, list)
		if err != nil {
			return nil, err
		}
		is = list[at]
	}
	code, err := f.code(ctx, is)
	if err != nil {
		return nil, err
	}
	return f.Store.Edited(m, code)
}

// alike is the place of the build that has a capture's machine code.
func (f *Brought) alike(ctx context.Context, m *capture.Manifest, list []record.BuiltKernel) (int,
	error) {
	b, err := f.Store.Code(m)
	if err != nil {
		return 0, err
	}
	its, err := policy.CodeHash(b, m.Kernel)
	if err != nil {
		return 0, err
	}
	for at, k := range list {
		if code, err := f.code(ctx, k); err == nil {
			if hash, err := policy.CodeHash(code.Cubin, k.Name); err == nil && hash == its {
				return at, nil
			}
		}
	}
	return 0, fmt.Errorf("%d kernels %q were built here, and none has its machine code", len(list),
		policy.ShortName(m.Kernel))
}

func (f *Brought) code(ctx context.Context, k record.BuiltKernel) (capture.Code, error) {
	key := k.Assembly.Cubin + " " + k.Name
	if had, ok := f.codes[key]; ok {
		return had.code, had.err
	}
	var out made
	out.code, out.err = f.compiled(ctx, k.Assembly.Cubin, k.Name)
	f.codes[key] = out
	return out.code, out.err
}

func (f *Brought) compiled(ctx context.Context, hash, kernel string) (capture.Code, error) {
	s, err := f.compiler.Compiler.Kernel(hash, kernel)
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
	return f.compiler.fitting(b, hash, kernel)
}

// List are the captures that fit, of an identity where that is not "", how many do not, and why the
// first of these does not.
func (f *Brought) List(ctx context.Context, identity string) (list []*capture.Manifest, left int,
	why error) {
	all, left := f.Store.List()
	for _, m := range all {
		if m, err := f.of(ctx, m, identity); err == nil {
			list = append(list, m)
		} else {
			left, why = left+1, cmp.Or(why, err)
		}
	}
	return list, left, why
}
