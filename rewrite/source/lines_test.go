package source

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

var (
	locLine  = regexp.MustCompile(`(?m)^\s*\.loc\s+(\d+) (\d+) (\d+)`)
	fileLine = regexp.MustCompile(`(?m)^\s*\.file\s+(\d+) "([^"]*)"`)
)

// Every line and column that -lineinfo gives for a rewritten text must be one where the source has
// a token, as for the untouched text; and asserts must speak of the same lines.
func TestLinesAndColumns(t *testing.T) {
	p, ii := prepare(t, newest(t), filepath.Join("testdata", "programs", "basics.cu"), "-lineinfo")
	u, err := Parse(ii)
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]bool{}
	for _, tok := range u.tokens {
		if at := u.at(int(tok.off)); at.file == 0 {
			tokens[fmt.Sprint(at.line, ":", at.column+1)] = true
		}
	}
	// the outer block that a rewrite adds ends two columns behind the body
	for _, k := range u.kernels() {
		at := u.at(int(u.tokens[u.tokens[k.f.open].match].off))
		tokens[fmt.Sprint(at.line, ":", at.column+3)] = true
	}
	plain, err := p.ptx(t, ii)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	text := ii
	for _, e := range m.Entries() {
		u, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var terms []recipe.Term
		k, err := u.Kernel(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(k.Loops) > 0 && k.Loops[0].Kind == "for" {
			terms = append(terms, recipe.Term{Lever: "unroll", Value: "2"})
		}
		if k.NoSpec == "" {
			terms = append(terms, recipe.Term{Lever: "spec", Value: "blockDim.x=64", Brace: true})
		}
		if text, err = k.rewrite(terms, nil); err != nil {
			t.Fatal(err)
		}
	}
	out, err := p.ptx(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if string(out) == string(plain) {
		t.Fatal("nothing changed")
	}
	for name, text := range map[string][]byte{"default": plain, "rewritten": out} {
		main := map[string]bool{}
		for _, f := range fileLine.FindAllSubmatch(text, -1) {
			if strings.HasSuffix(string(f[2]), "basics.cu") {
				main[string(f[1])] = true
			}
		}
		seen := 0
		for _, l := range locLine.FindAllSubmatch(text, -1) {
			if !main[string(l[1])] {
				continue
			}
			seen++
			if string(l[2]) == "0" || string(l[3]) == "0" { // a function's head; nvcc's own for asserts
				continue
			}
			if at := string(l[2]) + ":" + string(l[3]); !tokens[at] {
				t.Errorf("%s: .loc %s, where the source has no token", name, at)
			}
		}
		if seen < 60 {
			t.Errorf("%s: only %d lines", name, seen)
		}
	}
	// The assert's line is an argument of __assertfail: 29 in the file.
	for name, text := range map[string][]byte{"default": plain, "rewritten": out} {
		if !strings.Contains(string(text), ", "+strconv.Itoa(assertLine(t, ii))+";") {
			t.Errorf("%s: the assert's line is not in the PTX", name)
		}
	}
}

func assertLine(t *testing.T, ii []byte) int {
	u, err := Parse(ii)
	if err != nil {
		t.Fatal(err)
	}
	for i, tok := range u.tokens {
		if tok.kind == ident && u.str(i) == "__assert_fail" &&
			u.files[u.at(int(tok.off)).file].name == "basics.cu" {
			return u.at(int(tok.off)).line
		}
	}
	t.Fatal("no assert")
	return 0
}
