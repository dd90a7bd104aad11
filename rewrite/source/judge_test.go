package source

// What the reader believes of values' types, against the compiler.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"gnvcc/install/kits"
)

var errorLine = regexp.MustCompile(`(?m)^s\.cu\((\d+)\): (?:error|catastrophic error)`)

// compiled gives the lines of s.cu that the front end refuses.
func (p *program) compiled(text []byte) map[int]bool {
	in := filepath.Join(p.dir, "fuzz.ii")
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return nil
	}
	out, _ := p.output(p.cicc, in, filepath.Join(p.dir, "fuzz.ptx"))
	bad := map[int]bool{}
	for _, m := range errorLine.FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(m[1])
		bad[n] = true
	}
	return bad
}

// TestJudge: a text in which a layout is believed that is none must be refused by the compiler.
func TestJudge(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "e.cu")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eachToolkit(t, func(t *testing.T, tk kits.Kit) {
		for _, dialect := range []string{"c++17", "c++14"} { // c++03 has no such constants: there no field is specialised
			p, head := prepare(t, tk, empty, "-std="+dialect)
			good := Value{Name: "s.n", Offset: 4, Bits: 32, Class: Integer, field: true, text: true, whole: 16}
			judge := func(v Value) bool {
				text := fmt.Sprintf("%s\n# 1 \"s.cu\"\nstruct S { char c; int n; double d; }; __attribute__((global)) void k(const S s, float f) { typedef char j[%s ? 1 : -1]; }\n", head, v.judge())
				return len(p.compiled([]byte(text))) == 0
			}
			if !judge(good) {
				t.Errorf("%s: the right layout is refused", dialect)
			}
			for name, change := range map[string]func(v *Value){
				"offset": func(v *Value) { v.Offset = 1 }, "size": func(v *Value) { v.whole = 13 }, "width": func(v *Value) { v.Bits = 16 },
				"class": func(v *Value) { v.Class = Float }, "field": func(v *Value) { v.Name = "s.d" }, "parameter": func(v *Value) { v.Name, v.field = "f", false },
			} {
				v := good
				change(&v)
				if judge(v) {
					t.Errorf("%s: another %s is taken", dialect, name)
				}
			}
		}
	})
}
