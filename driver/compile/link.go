package compile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim/cubin"
	"gnvcc/sim/fatbin"
)

// Candidates of programs that are linked on the device (-rdc=true). A recorded link has host
// objects and archives as its inputs; of their relocatable cubins the one that defines the kernel makes
// place for the candidate, and nvlink is run again on all of them with the recorded options.

// memoMembers keeps the relocatable cubins of a linked file, by the file's hash and the target.
const memoMembers cache.Memos[[]string] = "members"

// definer finds the assembly that defines a kernel among the inputs of a link.
func (c *Compiler) definer(ix *record.Index, l cache.Link, kernel string) (cache.Assembly, error) {
	for _, in := range l.Inputs {
		members, err := c.members(l, in)
		if err != nil {
			return cache.Assembly{}, fmt.Errorf("%s: %w", kernel, err)
		}
		for _, m := range members {
			// A template's kernel may stand in several objects; nvlink takes the first.
			if a, ok := ix.Assembly(m); ok && slices.ContainsFunc(a.Kernels, func(k cache.Kernel) bool {
				return k.Name == kernel
			}) {
				return a, nil
			}
		}
	}
	return cache.Assembly{}, fmt.Errorf(
		"none of the files that gnvcc built and that went into the device link of its module defines %s", kernel)
}

// members gives the hashes of the relocatable cubins in an input of a link, which are objects then.
func (c *Compiler) members(l cache.Link, in cache.LinkInput) ([]string, error) {
	path, key := in.Path, ""
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.Dir, path)
	}
	if in.Object != "" {
		key = cache.HashOf("members 2", in.Object, l.Target)
		if kept, ok := memoMembers.Get(c.store, key); ok && !slices.ContainsFunc(kept, func(hash string) bool { return !c.store.HasObject(hash) }) {
			return kept, nil
		}
		if kept, err := c.store.ObjectFile(in.Object); err == nil {
			path = kept
		}
	}
	hashes, err := c.extract(l, path)
	if err != nil {
		return nil, fmt.Errorf("take the device code out of %s: %w", in.Path, err)
	}
	if key != "" {
		memoMembers.Put(c.store, key, hashes) // taken out again if it can't be kept
	}
	return hashes, nil
}

// extract takes the relocatable cubins of a link's target out of a file.
func (c *Compiler) extract(l cache.Link, path string) (hashes []string, err error) {
	f, info, err := cache.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = fatbin.Each(f, info.Size(), func(content []byte) error {
		read, err := cubin.Read(content)
		if err != nil || !read.Relocatable || read.Target != ptx.Capability(l.Target) {
			return err
		}
		hash, err := c.store.PutObject(content)
		hashes = append(hashes, hash)
		return err
	})
	return hashes, err
}

// link links a candidate in the place of the assembly that it is made from.
func (c *Compiler) link(ctx context.Context, b *Workbench, s *Source,
	content []byte) ([]byte, error) {
	l := *s.Link
	call, err := toolcmd.ReadNvlink(l.Args)
	if err != nil {
		return nil, fmt.Errorf("the recorded device link: %w", err)
	}
	if call.LTO {
		return nil, fmt.Errorf("the program is linked with -dlto: nvlink compiles it by itself")
	}
	if len(call.Inputs()) != len(l.Inputs) {
		return nil, fmt.Errorf("the recorded device link: it has %d inputs, and %d are known",
			len(call.Inputs()), len(l.Inputs))
	}
	files := make([][]string, len(l.Inputs)) // of each input, its cubins
	replaced := false
	for n, in := range l.Inputs {
		members, err := c.members(l, in)
		if err != nil {
			return nil, err
		}
		for i, hash := range members {
			file := filepath.Join(b.Folder, fmt.Sprintf("%d-%d.cubin", n, i))
			of := content
			if hash != s.Assembly.Cubin || replaced {
				of, err = c.store.Object(hash)
			} else {
				replaced = true
			}
			if err == nil {
				err = os.WriteFile(file, of, 0o600)
			}
			if err != nil {
				return nil, err
			}
			files[n] = append(files[n], file)
		}
	}
	if !replaced {
		return nil, fmt.Errorf("%s is not among the files of the device link any more", s.Kernel)
	}
	out := filepath.Join(b.Folder, "linked.cubin")
	args := call.With(files, out, filepath.Join(b.Folder, "registration.c"))
	dir := l.Dir
	if _, err := os.Stat(dir); err != nil {
		dir = b.Folder
	}
	begun := time.Now()
	if _, err := b.tool(ctx, dir, b.Env.Tool(), append([]string{l.Nvlink}, args...)...); err != nil {
		return nil, fmt.Errorf("link the candidate: %w", err)
	}
	b.Log.Debug().Dur("took", time.Since(begun)).Str("kernel",
		s.Kernel).Msg("device link of a candidate")
	linked, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("read the linked candidate: %w", err)
	}
	return linked, nil
}
