package apply

import (
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/witness"
)

// TestExplain: of the code that a command's files hold, which records of the command made it, and what
// is said of code that it did not make.
func TestExplain(t *testing.T) {
	build := func(command, ptx, recipe string, day int) cache.Assembly {
		return cache.Assembly{Command: command, PTX: ptx, Time: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC),
			Kernels: []cache.Kernel{{Name: "_Z1kPf", Identity: "k", Recipe: recipe}}}
	}
	code := func(linked bool, built ...cache.Assembly) witness.Code {
		return witness.Code{Kernels: []string{"_Z1kPf"}, Built: built, Linked: linked}
	}
	foreign := witness.Code{Kernels: []string{"_Z5otherPf"}}
	for _, c := range []struct {
		name    string
		codes   []witness.Code
		program bool
		builtBy string // PTX of the records of each code
		unknown int
		strange string
		own     bool
	}{
		{"nvcc's own", []witness.Code{code(false, build("c", "p1", "", 1))}, false, "p1", 0, "", true},
		{"with a recipe", []witness.Code{code(false, build("c", "p1", "unroll=4", 1))}, false, "p1", 0, "", false},
		// the same code from two texts: the newest text's records count
		{"of two texts", []witness.Code{code(false, build("c", "p2", "unroll=4", 2), build("c", "p1", "unroll=4", 1))}, false,
			"p2", 0, "", false},
		{"of one text twice", []witness.Code{code(false, build("c", "p1", "unroll=4", 2), build("c", "p1", "unroll=2", 1))},
			false, "p1,p1", 0, "", false},
		// a device link holds several files' code: each of its records stands by itself
		{"linked", []witness.Code{code(true, build("c", "p1", "", 1), build("c", "p2", "unroll=2", 1))}, false, "p1 p2", 0, "",
			false},
		{"another command's", []witness.Code{code(false, build("d", "p1", "unroll=4", 1))}, false, "", 1,
			"another command gave", false},
		{"another command's, nvcc's own", []witness.Code{code(false, build("d", "p1", "", 1))}, false, "", 1,
			"another command gave", true},
		{"not on record", []witness.Code{code(false)}, false, "", 1, "does not know", false},
		// a program holds libraries' code, too, which is none of the command's business
		{"a library in a program", []witness.Code{code(false, build("c", "p1", "", 1)), foreign}, true, "p1", 0, "", false},
		{"the same in an object", []witness.Code{code(false, build("c", "p1", "", 1)), foreign}, false, "p1", 1,
			"does not know", false},
		{"a program with its own kernel by others", []witness.Code{code(false)}, true, "", 1, "does not know", false},
	} {
		f := &fileState{hash: "c", codes: c.codes, all: []cache.Assembly{build("c", "p1", "", 1)}}
		f.explain(c.program)
		var texts []string
		for _, list := range f.builtBy {
			var one []string
			for _, a := range list {
				one = append(one, a.PTX)
			}
			texts = append(texts, strings.Join(one, ","))
		}
		if got := strings.Join(texts, " "); got != c.builtBy || len(f.unknown) != c.unknown ||
			!strings.Contains(f.strange, c.strange) || (f.strange == "") != (c.strange == "") || f.isOwn() != c.own {
			t.Errorf("%s: built by %q, %d unknown, %q, own %v", c.name, got, len(f.unknown), f.strange, f.isOwn())
		}
		if len(f.assemblies()) != len(f.builtBy) {
			t.Errorf("%s: %d records count, of %d codes", c.name, len(f.assemblies()), len(f.builtBy))
		}
	}
	if f := (&fileState{all: []cache.Assembly{build("c", "p", "", 2), build("c", "p", "", 3), build("c", "p", "", 1)}}); f.latest().Day() != 3 {
		t.Errorf("built last on %v", f.latest())
	}
	if (&fileState{}).isOwn() {
		t.Error("a file without device code is nvcc's own")
	}
	if list := []string{"/a/b.cu", "/x/y.h"}; !anyUnder(list, "/a/") || !anyUnder(list, "/x") || anyUnder(list, "/a/b") || anyUnder(list, "/y") {
		t.Error("files are taken for files below another folder")
	}
}

// TestEqualOutputs: outputs are equal that differ in nothing but the number of nvcc's process; a
// length, or any other byte, makes them different.
func TestEqualOutputs(t *testing.T) {
	const text = "static tmpxft_0000abcd_00000000-6_k.cpp and code"
	for other, want := range map[string]bool{
		text: true,
		strings.Replace(text, "0000abcd", "00001234", 1): true,
		strings.Replace(text, "0000abcd", "0000xyzz", 1): false, // no number of nvcc's
		strings.Replace(text, "code", "cade", 1):         false,
		text + " ":                                       false,
		"":                                               false,
	} {
		if equalOutputs([]byte(text), []byte(other)) != want {
			t.Errorf("%q: equal %v", other, !want)
		}
	}
	if exceptDevice([]byte(text), []byte(text)) {
		t.Error("files that are no objects are alike but for their device code")
	}
	if got := string(sortedStrings([]byte("b\x00a\x00c\x00"))); got != "a\x00b\x00c\x00" {
		t.Errorf("strings in order: %q", got)
	}
}
