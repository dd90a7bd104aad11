package ptx

import (
	"math/rand"
	"os"
	"reflect"
	"testing"
)

// TestSplice: whatever edits do to a function, reading only what they touched gives what reading
// all of it gives, or says that all must be read; and for edits that a pass makes it does not say
// so.
func TestSplice(t *testing.T) {
	pieces := []string{"", "add.s32 %r1, %r1, 1;", "\n\tret;\n", "L:", "{", "}", "{ ret; }", "// note",
		"// note\n", "/*", "*/", ";", "\"", ".loc 1 2 3", "\n.loc 1 2 3\n",
		"@", "@%p1 ", ".reg .b32 %x<3>;", " ", ".cs", ":", ".maxnreg 32", "\n", ".pragma \"a;b\";"}
	rng := rand.New(rand.NewSource(1))
	spliced, whole := 0, 0
	for _, name := range []string{"testdata/odd.ptx", "testdata/bench.ptx"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Funcs {
			for round := 0; round < 1500; round++ {
				g := f.Clone()
				for n := rng.Intn(4); n >= 0; n-- {
					at := uint32(rng.Intn(len(f.text)))
					if len(f.Stmts) > 0 && rng.Intn(2) == 0 { // where passes edit
						s := f.Stmts[rng.Intn(len(f.Stmts))]
						at = []uint32{s.Start, s.Op, s.OpEnd, s.End, s.End - 1}[rng.Intn(5)]
					}
					end := at
					if rng.Intn(2) == 0 {
						end = min(at+uint32(rng.Intn(60)), uint32(len(f.text)))
					}
					g.ReplaceSpan(Span{at, end}, pieces[rng.Intn(len(pieces))])
				}
				edits := g.edits // Commit puts them in order
				err := g.Commit()
				if err != nil && len(g.text) == len(f.text) && &g.text[0] == &f.text[0] && overlap(edits) {
					continue
				}
				out := apply(f.text, edits)
				h := f.Clone()
				errWhole := h.SetText(out)
				if (err == nil) != (errWhole == nil) {
					t.Fatalf("%s: read in part: %v; as a whole: %v\n%s", f.Name, err, errWhole, out)
				}
				if err == nil {
					if !reflect.DeepEqual(g.Stmts, h.Stmts) || g.open != h.open || g.close != h.close ||
						string(g.text) != string(h.text) || !reflect.DeepEqual(g.Directives, h.Directives) {
						t.Fatalf("%s: the parts are not the whole:\n%s", f.Name, out)
					}
				}
				if stmts, _ := f.splice(edits, out); stmts != nil {
					spliced++
				} else {
					whole++
				}
			}
			if !f.Body || len(f.Stmts) == 0 {
				continue
			}
			g := f.Clone()
			g.Insert(g.First(), "mov.u32 %gnvcc, %tid.x;")
			for _, s := range g.Stmts {
				if s.Kind == Inst {
					g.ReplaceSpan(Span{s.OpEnd, s.OpEnd}, ".x")
					if !s.Guarded {
						g.ReplaceSpan(Span{s.Start, s.Start}, "@%p1 ")
					}
				}
			}
			g.Insert(len(g.Stmts), "ret;")
			if f.Entry {
				g.AddDirective(".maxnreg 32")
			}
			edits := g.edits // Commit puts them in order
			if err := g.Commit(); err != nil {
				t.Fatal(err)
			}
			if stmts, _ := f.splice(edits, g.text); stmts == nil {
				t.Errorf("%s: edits such as passes make are read as a whole", f.Name)
			}
		}
	}
	t.Logf("%d read in part, %d as a whole", spliced, whole)
	if spliced < 1000 || whole < 1000 {
		t.Errorf("%d read in part, %d as a whole: the test sees too few of one kind", spliced, whole)
	}
}

// apply carries edits out, which Commit has put in order.
func apply(text []byte, edits []edit) []byte {
	var out []byte
	last := uint32(0)
	for _, e := range edits {
		out = append(append(out, text[last:e.start]...), e.text...)
		last = e.end
	}
	return append(out, text[last:]...)
}

func overlap(edits []edit) bool {
	for i := 1; i < len(edits); i++ {
		if edits[i].start < edits[i-1].end {
			return true
		}
	}
	return false
}
