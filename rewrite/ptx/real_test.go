package ptx_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// What the real nvcc emits for testdata/*.cu must come back byte for byte, and what we edit must still assemble.

// builds says how each file is compiled: the target decides which headers and intrinsics the code takes.
var builds = []struct {
	arch  string
	flags []string
	only  string // "": every file
}{
	{"sm_75", nil, ""},
	{"sm_80", nil, "modern.cu"},
	{"sm_90", []string{"-lineinfo", "-rdc=true"}, ""},
	{"sm_90", []string{"-G"}, ""},
	{"sm_90a", nil, "modern.cu"},
	{"sm_100", nil, ""},
}

func TestRealPTX(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatal("no test programs", err)
	}
	for _, kit := range ptxtest.Toolkits(t) {
		for _, file := range files {
			for _, build := range builds {
				if build.only != "" && build.only != filepath.Base(file) {
					continue
				}
				flags := append([]string{"-arch=" + build.arch}, build.flags...)
				t.Run(fmt.Sprintf("%s/%s/%s", kit.Version, filepath.Base(file), strings.Join(flags, "")), func(t *testing.T) {
					t.Parallel()
					text := kit.PTX(t, file, flags...)
					m := roundTrip(t, text)
					if len(m.Entries()) == 0 {
						t.Fatal("no kernel found")
					}
					edited(t, m)
					assemble := []string{"-arch=" + build.arch}
					if strings.Contains(strings.Join(flags, " "), "rdc") {
						assemble = append(assemble, "-c")
					}
					if strings.Contains(strings.Join(flags, " "), "-G") {
						assemble = append(assemble, "-g")
					}
					if _, err := kit.Assemble(t, m.Bytes(), assemble...); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

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
	return m
}

// edited changes every entry where it does no harm: an instruction at its beginning, one at its end, a directive.
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
