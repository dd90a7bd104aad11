package stage

import (
	"fmt"
	"os"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/sim/cubin"
)

// The nvlink stage: relocatable cubins in host objects and archives in, one cubin out. It changes
// nothing. It writes the link down with its inputs, so that the tuner can link a candidate in a
// kernel's place.

// maxLinked is how much of a link's inputs is kept, bytes. More than that (a static libtorch_cuda)
// is not copied aside; the paths are written down all the same.
const maxLinked = 256 << 20

func (s *stage) nvlink() error {
	c, err := toolcmd.ReadNvlink(s.words[1:])
	if err != nil {
		return err
	}
	if err := readsBack(c.Output()); err != nil {
		return err
	}
	end, err := s.run(nil)
	if err != nil || !end.OK() {
		return err
	}
	content, err := os.ReadFile(c.Output())
	if os.IsNotExist(err) {
		return nil // nothing to link on the device
	}
	if err != nil {
		return fmt.Errorf("read the linked cubin: %w", err)
	}
	hash := cache.Hash(content)
	if !hasKernels(content) {
		return nil
	}
	var inputs []cache.LinkInput
	room := int64(maxLinked)
	names := ""
	for _, path := range c.Inputs() {
		in := cache.LinkInput{Path: path}
		info, err := os.Stat(in.Path)
		if err != nil {
			return fmt.Errorf("look at a linked file: %w", err)
		}
		if room -= info.Size(); room >= 0 {
			if in.Object, err = s.keepLinked(in.Path); err != nil {
				return fmt.Errorf("keep a linked file: %w", err)
			}
		}
		names += in.Path + "\x00" + in.Object + "\x00"
		inputs = append(inputs, in)
	}
	note := cache.HashOf("link 1", s.env.Command, hash, toolcmd.BlotTemporary(names))
	if _, ok := record.Noted.Get(s.store, note); ok {
		return nil
	}
	l := cache.Link{
		Command: s.env.Command, Nvlink: s.tool, Args: c.Template(), Dir: s.dir, Inputs: inputs,
		Target: c.Target,
		Cubin:  hash, Time: time.Now().UTC(),
	}
	if err := s.store.Spool(cache.Links, record.KeyOf(hash, s.env.Command), l); err != nil {
		return fmt.Errorf("spool the link: %w", err)
	}
	if err := record.Noted.Put(s.store, note, hash); err != nil {
		return fmt.Errorf("note the link: %w", err)
	}
	return nil
}

// keepLinked keeps a file that was linked, of which the device code is wanted. Host objects hold
// the number of nvcc's process, which is another one where nothing else is: it is left out.
func (s *stage) keepLinked(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return s.store.PutObject(toolcmd.EvenTemporary(content))
}

// hasKernels reports whether a cubin holds kernels.
func hasKernels(content []byte) bool {
	f, err := cubin.Read(content)
	return err == nil && len(f.Kernels) > 0
}
