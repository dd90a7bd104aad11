package policy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"sort"
	"strings"
)

// What the GPU would execute, as a hash: about half of all candidates (neighbouring caps, levels
// that change nothing) give the code of another one, and need neither a check nor a measurement of
// their own.

// CodeHash hashes the code of a kernel in a cubin: its own section, the functions that stand in
// sections of their own (they may be called), the constants that the compiler put next to it, and
// the relocations of these. Names of sections go in, addresses don't. Attributes (registers, shared
// memory) are not in it: compare those too.
func CodeHash(cubin []byte, kernel string) (string, error) {
	// e_version: 1, but in cubins of 11.x and 12.x up to sm_90 the toolkit's, which debug/elf does not
	// take
	if len(cubin) > 24 {
		cubin = bytes.Clone(cubin)
		copy(cubin[20:24], []byte{1, 0, 0, 0})
	}
	f, err := elf.NewFile(bytes.NewReader(cubin))
	if err != nil {
		return "", fmt.Errorf("hash the code of %s: %w", kernel, err)
	}
	entries := map[string]bool{}
	for _, s := range f.Sections {
		if name, ok := strings.CutPrefix(s.Name, ".nv.constant0."); ok {
			entries[name] = true
		}
	}
	var parts []string
	found := false
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS {
			continue
		}
		name, relocations := s.Name, ""
		for _, prefix := range []string{".rela", ".rel"} {
			if rest, ok := strings.CutPrefix(name, prefix+"."); ok {
				name, relocations = "."+rest, prefix
				break
			}
		}
		of, ok := strings.CutPrefix(name, ".text.")
		if !ok {
			constant, rest, cut := strings.Cut(strings.TrimPrefix(name, ".nv.constant"), ".")
			if !strings.HasPrefix(name, ".nv.constant") || !cut || constant == "0" {
				continue
			}
			of = rest
		}
		if of != kernel && entries[of] {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return "", fmt.Errorf("hash the code of %s: section %s: %w", kernel, s.Name, err)
		}
		found = found || name == ".text."+kernel && relocations == ""
		sum := sha256.Sum256(data)
		parts = append(parts, fmt.Sprintf("%s %x", s.Name, sum))
	}
	if !found {
		return "", fmt.Errorf("hash the code of %s: the cubin has no such kernel", kernel)
	}
	sort.Strings(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

// CodeOf returns what distinguishes candidates by their behaviour, "" if unknown.
func CodeOf(c *Candidate, kernel string) string {
	if c.Code == "" && c.Path != "" {
		if b, err := os.ReadFile(c.Path); err == nil {
			c.Code, _ = CodeHash(b, cmp.Or(c.Entry, kernel))
		}
	}
	if c.Code == "" {
		return ""
	}
	text := fmt.Sprintf("%s r%d s%d", c.Code, c.Build.Registers, c.Build.Shared)
	if r := c.Manner.Reserve; r.On {
		text += fmt.Sprintf(" d%d c%d", r.Dynamic, r.Carveout)
	}
	if b := c.Manner.Block; b != [3]int{} {
		text += fmt.Sprintf(" b%dx%dx%d", b[0], b[1], b[2])
	}
	if n := c.Manner.Coarse; n != [3]int{} {
		text += fmt.Sprintf(" n%dx%dx%d", n[0], n[1], n[2])
	}
	if c.Manner.Beside {
		text += fmt.Sprintf(" beside of %v", c.Manner.Only)
	}
	return text
}
