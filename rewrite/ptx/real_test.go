package ptx_test

import (
	"bytes"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// What the real nvcc emits for testdata/*.cu must come back byte for byte, and what we edit must
// still assemble.

var all = flag.Bool("all", false,
	"every test program with every toolkit in every way, not one or two ways each")

// builds says how a program is compiled: the target decides which headers and intrinsics the code
// takes.
var builds = [][]string{
	{"-arch=sm_90"},
	{"-arch=sm_75"},
	{"-arch=sm_90", "-lineinfo", "-rdc=true"},
	{"-arch=sm_100"},
	{"-arch=sm_90", "-G"},
	{"-arch=sm_80"},
	{"-arch=sm_90a"},
}

func TestRealPTX(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatal("no test programs", err)
	}
	every := kits.Every()
	kits := ptxtest.Toolkits(t)
	for k, kit := range kits {
		archs := kit.Archs(t)
		var possible [][]string
		for _, flags := range builds {
			if slices.Contains(archs, strings.TrimPrefix(flags[0], "-arch=")) {
				possible = append(possible, flags)
			}
		}
		for n, file := range files {
			chosen := possible
			if !*all { // over files and toolkits each way comes up
				chosen = [][]string{possible[(2*n+k)%len(possible)]}
				if every && k == len(kits)-1 {
					chosen = append(chosen, possible[(2*n+k+1)%len(possible)])
				}
			}
			for _, flags := range chosen {
				t.Run(fmt.Sprintf("%s/%s/%s", kit.Version, filepath.Base(file), strings.Join(flags, "")),
					func(t *testing.T) {
						t.Parallel()
						text := kit.PTX(t, file, flags...)
						m := roundTrip(t, text)
						if len(m.Entries()) == 0 {
							t.Fatal("no kernel found")
						}
						edited(t, m)
						assemble := []string{flags[0]}
						if slices.Contains(flags, "-rdc=true") {
							assemble = append(assemble, "-c")
						}
						if slices.Contains(flags, "-G") {
							assemble = append(assemble, "-g")
						}
						if _, err := kit.Assemble(t, m.Bytes(), assemble...); err != nil {
							// 11.8: -lineinfo -rdc=true with cooperative groups
							if _, own := kit.Assemble(t, text, assemble...); own != nil {
								t.Skipf("SKIPPED: this ptxas fails on nvcc's own output: %v", own)
							}
							t.Error(err)
						}
					})
			}
		}
	}
}

var comment = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)

func roundTrip(t *testing.T, text []byte) *ptx.Module {
	t.Helper()
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Bytes(), text) {
		t.Fatal("Bytes is not what was parsed")
	}
	// Every function put together again from its own statements, by an edit that changes nothing.
	for _, f := range m.Funcs {
		for i, s := range f.Stmts {
			f.Replace(i, string(f.Text()[s.Start:s.End]))
			if s.End <= s.Start || i > 0 && s.Start < f.Stmts[i-1].End {
				t.Fatalf("%s: statement %d is out of order: %+v", f.Name, i, s)
			}
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(m.Bytes(), text) {
		t.Fatal("rewriting every statement with its own text changed the module")
	}
	// What there is between the statements that were found is nothing but white space and comments.
	for _, f := range m.Funcs {
		for i := 1; i < len(f.Stmts); i++ {
			gap := comment.ReplaceAll(f.Text()[f.Stmts[i-1].End:f.Stmts[i].Start], nil)
			if len(bytes.TrimSpace(gap)) > 0 {
				t.Fatalf("%s: %q is in no statement", f.Name, gap)
			}
		}
	}
	// Labels are found where branches go.
	for _, f := range m.Funcs {
		if _, err := f.Blocks(); err != nil {
			t.Error(err)
		}
	}
	for _, f := range m.Entries() {
		if _, err := m.Identity(f.Name); err != nil {
			t.Error(err)
		}
		if _, err := m.Traits(f.Name); err != nil {
			t.Error(err)
		}
	}
	return m
}

// edited changes every entry where it does no harm: an instruction at its beginning, one at its
// end, a directive.
func edited(t *testing.T, m *ptx.Module) {
	t.Helper()
	for _, f := range m.Entries() {
		f.Insert(0, ".reg .b32 %gnvcc_test; // edited")
		f.Insert(f.First(), "mov.u32 %gnvcc_test, %tid.x;")
		f.Insert(len(f.Stmts), "mov.u32 %gnvcc_test, 7;")
		if _, ok := f.Directive(".maxnreg"); !ok {
			f.AddDirective(".maxnreg 64")
		}
		before := len(f.Stmts)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if len(f.Stmts) != before+3 {
			t.Fatalf("%s: %d statements, had %d", f.Name, len(f.Stmts), before)
		}
		if got, _ := f.Directive(".maxnreg"); got == "" {
			t.Fatalf("%s: no .maxnreg", f.Name)
		}
	}
}
