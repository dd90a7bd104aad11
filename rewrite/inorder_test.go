package rewrite

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/sim/sass"
)

// TestInorder looks at what each ptxas makes of a kernel that exchanges two arrays. By itself it
// asks last for the line that it stores to first; under the lever it goes by the text, with the
// same instructions.
func TestInorder(t *testing.T) {
	g := readGolden(t, filepath.Join("testdata", "inorder.txtar"))
	g.in = bytes.ReplaceAll(g.in, []byte(".target sm_90"), []byte(".target sm_80"))
	text, err := g.alone(t, nil, "a", g.rounds[0]["a"])
	if err != nil {
		t.Fatal(err)
	}
	for _, kit := range ptxtest.Toolkits(t) {
		for _, arch := range []string{"-arch=sm_80", "-arch=sm_90"} {
			plain := exchange(t, kit, g.in, arch)
			lever := exchange(t, kit, text, arch)
			if plain.inText() {
				t.Errorf("ptxas %s %s: the test's kernel has the text's order without the lever: %v",
					kit.Version, arch, plain.names)
			}
			if !lever.inText() {
				t.Errorf("ptxas %s %s: the lever leaves ptxas' order: %v", kit.Version, arch, lever.names)
			}
			if !slices.Equal(lever.sorted(), plain.sorted()) {
				t.Errorf("ptxas %s %s: other instructions under the lever: %v, was %v", kit.Version, arch,
					lever.names, plain.names)
			}
		}
	}
}

// An exchanged is what the exchange of two arrays became in machine code.
type exchanged struct {
	names         []string // all instructions
	loads, stores []uint64 // the address registers of those to global memory, in their order
}

// inText tells whether what is loaded first is what is stored to first, as the text has it.
func (e exchanged) inText() bool {
	return len(e.loads) == 2 && len(e.stores) == 2 && e.loads[0] == e.stores[0] &&
		e.loads[1] == e.stores[1]
}

func (e exchanged) sorted() []string { return slices.Sorted(slices.Values(e.names)) }

func exchange(t *testing.T, kit ptxtest.Toolkit, text []byte, flags ...string) exchanged {
	t.Helper()
	cubin, err := kit.Assemble(t, text, flags...)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := sass.Read(cubin)
	if err != nil {
		t.Fatal(err)
	}
	var out exchanged
	for _, f := range functions {
		if f.Name != "a" {
			continue
		}
		for i := range f.Insts {
			inst := &f.Insts[i]
			name := inst.Name()
			if strings.HasPrefix(name, "NOP") {
				continue // fills the last line of the cache
			}
			out.names = append(out.names, name)
			address := inst.Lo >> 24 & 0xff
			switch {
			case strings.HasPrefix(name, "LDG"):
				out.loads = append(out.loads, address)
			case strings.HasPrefix(name, "STG"):
				out.stores = append(out.stores, address)
			}
		}
	}
	return out
}
