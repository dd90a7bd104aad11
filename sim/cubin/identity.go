// What makes two cubins the same code.

package cubin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// CodeHash is a hash of all that a cubin has for the GPU: code, constants, variables, symbols, what
// the driver learns of kernels. Left out is what differs between two compiles of the same: line
// information (with -lineinfo and -G ptxas of 11.8 to 13.3 puts the source file's time there) and
// notes, which name the tool, its options and, with -G of 13.x, nvcc's temporary files.
func CodeHash(b []byte) (string, error) {
	c, err := readContainer(b)
	if err != nil {
		return "", fmt.Errorf("read cubin: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "code 1 %d %d %d %d\n", c.osabi, c.abi, c.typ, c.flags)
	left := uint64(len(b))
	for i, s := range c.sections {
		if aside(s.name) {
			continue
		}
		if uint64(len(s.data)) > left { // overlapping sections: no tool writes these
			return "", fmt.Errorf("read cubin: its sections are larger than the file of %d bytes", len(b))
		}
		left -= uint64(len(s.data))
		fmt.Fprintf(h, "%d %q %d %d %d %d %d\n", i, s.name, s.kind, s.flags, s.link, s.info, s.size)
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s.data)))
		h.Write(n[:])
		h.Write(s.data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// aside reports whether a section has nothing for the GPU.
func aside(name string) bool {
	name = strings.TrimPrefix(strings.TrimPrefix(name, ".rela"), ".rel")
	return strings.HasPrefix(name, ".debug_") || strings.HasPrefix(name, ".nv_debug_") ||
		strings.HasPrefix(name, ".note.")
}
