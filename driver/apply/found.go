package apply

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/witness"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim/fatbin"
)

// Files with device code that no command on record writes: copied, moved or renamed, with their
// folder or without; archives, programs and libraries; what was built with another store, or
// before this one was cleaned. Nothing can build them again here. What is in them is reported all
// the same, but for code in programs and shared libraries that is not on record: that is somebody
// else's.

// found looks for such files in and below a folder; "": nowhere. all are the commands that are
// known there.
func (l *looking) found(ctx context.Context, folder string,
	all []*fileState) (out []*fileState, err error) {
	if folder == "" {
		return nil, nil
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	written := map[string]bool{}
	for _, r := range all {
		if r.command.Dir != "" {
			for _, path := range record.Writes(r.command) {
				written[path] = true
			}
		}
	}
	own, err := filepath.EvalSymlinks(l.store.Path())
	if err != nil {
		own = l.store.Path()
	}
	paths, err := witness.Find(ctx, folder, own)
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return written[p] })
	if l.readAll(ctx, paths); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, path := range paths {
		f := &fileState{path: path, kind: witness.KindOf(path), strange: "no command is known that writes it"}
		var err error
		if f.codes, err = l.at(path); errors.Is(err, witness.ErrNone) {
			continue
		}
		if f.kind == fatbin.Linked && path != folder { // a library of somebody's, as a rule
			had := len(f.codes) > 0
			f.codes = slices.DeleteFunc(slices.Clone(f.codes), func(c witness.Code) bool {
				return len(c.Built) == 0
			})
			err = nil
			if had && len(f.codes) == 0 && isExtension(path) {
				f.strange = errExtension
				out = append(out, f)
				continue
			}
		}
		if f.unknown = f.codes; err != nil {
			f.gone, f.strange = true, err.Error()
		} else if f.made() {
			f.strange = "linked from the objects below"
			switch {
			case path == folder:
				f.strange = "linked from other files"
			case f.kind == fatbin.Archive:
				f.strange = "an archive of the objects below"
			}
		}
		if err != nil || len(f.codes) > 0 {
			out = append(out, f)
		}
	}
	return out, nil
}

// isExtension tells whether a file is a Python module of the user's: not one of PyTorch's or NVIDIA's own.
func isExtension(path string) bool {
	name := filepath.Base(path)
	return (strings.Contains(name, ".cpython-") || strings.Contains(name, ".abi3.")) && strings.HasSuffix(name, ".so") &&
		!strings.Contains(path, "/site-packages/torch") && !strings.Contains(path, "/site-packages/nvidia")
}

// errExtension is said of one whose kernels nobody here has built.
const errExtension = "nvcc built its device code, and gnvcc took no part: without ninja PyTorch takes CUDA_HOME/bin/nvcc " +
	"(gnvcc doctor --links FOLDER, then CUDA_HOME=FOLDER), with it PYTORCH_NVCC=gnvcc"

// made reports whether a file is made of others.
func (f *fileState) made() bool { return f.kind == fatbin.Archive || f.kind == fatbin.Linked }

// remains says of which files a revert can't say that they are nvcc's own code, when all is run
// that can be: still, where nothing here makes them so; stale, where the user's build will, since
// what they are made of can be built again. all are the commands that are known.
func (l *looking) remains(ctx context.Context, folder string, all []*fileState) (still, stale []string,
	err error) {
	alive := map[string]bool{}
	for _, r := range all {
		alive[r.hash] = r.command.Dir != "" && !record.Vanished(r.command)
	}
	tell := func(name string, made bool, c witness.Code) {
		kernel := ptx.ShortName(c.Kernels[0])
		again := slices.ContainsFunc(c.Built, func(a cache.Assembly) bool { return alive[a.Command] })
		switch {
		case c.Own():
		case len(c.Built) == 0:
			still = append(still, fmt.Sprintf("%s: it holds code of %s that this store does not know; if "+
				"that has recipes, GNVCC_OFF=1 or nvcc itself builds it without", name, kernel))
		case (made || c.Linked) && again:
			stale = append(stale, fmt.Sprintf("%s: it holds code with recipes (%s), until your build makes "+
				"it again", name, recipesOf(c)))
		default:
			still = append(still, fmt.Sprintf("%s: it holds code with recipes (%s), and no command "+
				"is known that writes it; GNVCC_OFF=1 or nvcc itself builds it without", name, recipesOf(c)))
		}
	}
	for _, r := range all { // a program: code of other commands
		if r.strange != "" || r.gone || r.command.Dir == "" {
			continue // named already, or nothing
		}
		if len(r.changes) > 0 {
			still = append(still, r.String()+" is still to be built again")
		}
		for _, c := range r.codes {
			if more := othersOf(c, r.hash); len(more.Built) > 0 && (c.Linked || !mine(c, r)) {
				tell(r.name(), true, more)
			}
		}
	}
	others, err := l.found(ctx, folder, all)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range others {
		if f.gone {
			still = append(still, f.strange)
		}
		for _, c := range f.codes {
			tell(f.path, f.made(), c)
		}
	}
	slices.Sort(still)
	slices.Sort(stale)
	return slices.Compact(still), slices.Compact(stale), nil
}

// mine tells whether a command gave code.
func mine(c witness.Code, r *fileState) bool {
	return slices.ContainsFunc(c.Built, func(a cache.Assembly) bool { return a.Command == r.hash })
}

// recipesOf are those in some code, as its newest record has them; of a device link, those of all that went into
// it.
func recipesOf(c witness.Code) string {
	var out []string
	built := c.Built
	if !c.Linked {
		built = built[:1]
	}
	for _, a := range built {
		for _, k := range a.Kernels {
			if k.Recipe != "" {
				out = append(out, ptx.ShortName(k.Name)+": "+k.Recipe)
			}
		}
	}
	return strings.Join(out, "; ")
}
