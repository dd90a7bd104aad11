package compile

import (
	"bytes"
	"fmt"

	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim/sass"
)

// Kernels that begin before the grid in front of them has ended, and wait for its end
// (griddepcontrol.wait; rewrite.Overlaps).

// keepsWait says why an entry of a cubin, made of a kernel by a recipe, could touch memory
// before the grid in front of it has ended. Where the kernel's own accesses stand in front of
// the wait, its code can't be told from one in which others came there, and is refused.
func keepsWait(m *ptx.Module, kernel string, content []byte, entry string) error {
	if !bytes.Contains(m.Bytes(), []byte("griddepcontrol.wait")) {
		return nil
	}
	why, err := rewrite.Overlaps(m, kernel)
	if err != nil || why == "" {
		return err
	}
	functions, err := sass.Read(content)
	if err != nil {
		return fmt.Errorf("look for what stands in front of griddepcontrol.wait: %w", err)
	}
	for _, f := range functions {
		if f.Name != entry {
			continue
		}
		if n, waits := f.BeforeWait(); waits && n > 0 {
			return fmt.Errorf(
				"%d of its accesses to memory can come before griddepcontrol.wait: whether they did before can't be told",
				n)
		}
	}
	return nil
}
