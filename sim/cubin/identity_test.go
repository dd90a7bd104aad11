package cubin

import (
	"bytes"
	"strings"
	"testing"
)

// TestCodeHash: a byte of line information or of a note makes no other code, any other byte of a
// section does.
func TestCodeHash(t *testing.T) {
	whole := lined(t)
	want, err := CodeHash(whole)
	if err != nil {
		t.Fatal(err)
	}
	c, err := readContainer(whole)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[bool]int{}
	for _, s := range c.sections {
		if len(s.data) == 0 || s.name == ".shstrtab" {
			continue
		}
		b := bytes.Clone(whole)
		b[s.offset+uint64(len(s.data)/2)] ^= 1
		got, err := CodeHash(b)
		apart := strings.Contains(s.name, "debug") || strings.HasPrefix(s.name, ".note")
		if kinds[apart]++; err == nil && (got == want) != apart {
			t.Errorf("%s: the same code: %v", s.name, got == want)
		}
	}
	if kinds[true] == 0 || kinds[false] < 4 {
		t.Errorf("sections: %v", kinds)
	}
}
