package witness

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/sim/cubin"
	"gnvcc/sim/fatbin"
)

// A Code is a cubin with kernels that a file holds.
type Code struct {
	Target  int // 90 for sm_90, sm_90a
	Kernels []string
	// what is on record of this very code, the newest first; none: not known here. Of a device
	// link, what is on record of its inputs.
	Built  []cache.Assembly
	Linked bool // it was linked on the device

	compiled    bool // by that link, of code in which there are no recipes (-dlto)
	relocatable bool
}

// Own reports whether this is what nvcc's own compile gives, whatever else gives it too.
func (c Code) Own() bool {
	if c.Linked {
		return (len(c.Built) > 0 || c.compiled) && !slices.ContainsFunc(c.Built, func(a cache.Assembly) bool {
			return !plain(a)
		})
	}
	return slices.ContainsFunc(c.Built, plain)
}

// plain reports whether an assembly has no recipe in it.
func plain(a cache.Assembly) bool {
	return !slices.ContainsFunc(a.Kernels, func(k cache.Kernel) bool { return k.Recipe != "" })
}

// ErrNone says that a file holds no cubin at all, with kernels or without.
var ErrNone = errors.New("it holds no device code")

// ErrHidden says that a file's device code, if there is any, can't be seen.
var ErrHidden = errors.New("the host compiler keeps it in its own intermediate language until it is " +
	"linked (-flto), where device code can't be seen")

// hides reports whether a file is an object of GCC's or clang's for link-time optimization.
func hides(r io.ReaderAt) bool {
	magic := make([]byte, 4)
	if _, err := r.ReadAt(magic, 0); err == nil && string(magic) == "BC\xc0\xde" {
		return true
	}
	f, err := elf.NewFile(r)
	return err == nil && slices.ContainsFunc(f.Sections, func(s *elf.Section) bool {
		return strings.HasPrefix(s.Name, ".gnu.lto_")
	})
}

// Look gives the code in a file. An error says why the file, or its device code, can't be read.
func Look(store *cache.Store, ix *record.Index, path string) ([]Code, error) {
	f, info, err := cache.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, n, err := read(store, ix, f, info.Size(), true)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the device code in %s: %w", path, err)
	case n == 0 && hides(f):
		return nil, ErrHidden
	case n == 0:
		return nil, ErrNone
	}
	return bare(all), nil
}

// read gives the code in a file, and how many cubins there are; links reports whether those that were
// linked on the device are looked up, too.
func read(store *cache.Store, ix *record.Index, r io.ReaderAt, size int64,
	links bool) (out []Code, n int, err error) {
	err = fatbin.Each(r, size, func(content []byte) error {
		f, err := cubin.Read(content)
		if err != nil {
			return err
		}
		if n++; len(f.Kernels) == 0 {
			return nil
		}
		c := Code{Target: f.Target, relocatable: f.Relocatable}
		for _, k := range f.Kernels {
			c.Kernels = append(c.Kernels, k.Name)
		}
		code, err := cubin.CodeHash(content)
		if err != nil {
			return err
		}
		whole := cache.Hash(content)
		c.Built = ix.Holding(code, whole)
		if l, ok := ix.Link(whole); ok && links {
			c.Linked = true
			c.Built, c.compiled, err = inputs(store, ix, l)
		}
		out = append(out, c)
		return err
	})
	return out, n, err
}

// inputs gives what is on record of what went into a device link; none where an input is not, or
// where the link itself compiled all of it (lto).
func inputs(store *cache.Store, ix *record.Index, l cache.Link) (out []cache.Assembly, lto bool,
	err error) {
	call, err := toolcmd.ReadNvlink(l.Args)
	if err != nil {
		return nil, false, nil
	}
	for _, in := range l.Inputs {
		content, err := store.Object(in.Object)
		if err != nil {
			return nil, false, nil // it was not kept, or trimmed since
		}
		all, _, err := read(store, ix, bytes.NewReader(content), int64(len(content)), false)
		if err != nil {
			return nil, false, err
		}
		for _, c := range all {
			if len(c.Built) == 0 {
				return nil, false, nil
			}
			// of two ways to one code, the one without recipes
			out = append(out, c.Built[max(0, slices.IndexFunc(c.Built, plain))])
		}
	}
	return out, call.LTO && len(out) == 0, nil
}

// bare leaves out what is in a file twice: with -rdc=true a program holds the relocatable code that
// its device link was made of, besides the linked one, which is what runs. Where that is not on
// record, what it was made of says it.
func bare(all []Code) []Code {
	linked, loose := map[string]bool{}, map[string]bool{}
	for _, c := range all {
		for _, k := range c.Kernels {
			if c.relocatable {
				loose[k] = true
			} else if len(c.Built) > 0 {
				linked[k] = true
			}
		}
	}
	within := func(names []string, set map[string]bool) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !set[n] })
	}
	return slices.DeleteFunc(all, func(c Code) bool {
		return c.relocatable && within(c.Kernels, linked) ||
			!c.relocatable && len(c.Built) == 0 && within(c.Kernels, loose)
	})
}
