package ir

import (
	"sync"
	"testing"

	"gnvcc/rewrite/ptx"
)

// TestOnce: a body is analysed once, anew after an edit, by itself in a copy; what depends on several
// functions is worked out anew after an edit of any of them.
func TestOnce(t *testing.T) {
	m, err := ptx.Parse([]byte(`.version 7.8
.target sm_80
.address_size 64
.func f() { ret; }
.visible .entry k() { call f; ret; }
`))
	if err != nil {
		t.Fatal(err)
	}
	of := func(m *ptx.Module) *Func {
		w, err := Of(m.Entry("k"))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	reach := func(m *ptx.Module) *ptx.Reach {
		r, err := m.Reach("k")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, reached, copied := of(m), reach(m), m.Clone()
	if of(m) != first || reach(m) != reached {
		t.Error("the same question was worked out twice")
	}
	if of(copied) == first || of(copied).Func != copied.Entry("k") || reach(copied) == reached {
		t.Error("a copy has the original's analyses")
	}
	f := copied.Func("f")
	f.Insert(0, "trap;\n")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	k := of(copied)
	if reach(copied).Funcs[1] != f || k != of(copied) {
		t.Error("an edit of f changed what is known of k's body, or k does not reach f")
	}
	if tr, err := copied.Traits("k"); err != nil || tr.SetMaxNReg {
		t.Fatal(tr, err)
	}
	f.Insert(0, "setmaxnreg.inc.sync.aligned.u32 40;\n")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if tr, err := copied.Traits("k"); err != nil || !tr.SetMaxNReg {
		t.Errorf("traits from before an edit of f (%v)", err)
	}
	copied.Entry("k").Insert(0, "trap;\n")
	if err := copied.Entry("k").Commit(); err != nil {
		t.Fatal(err)
	}
	if now := of(copied); now == k || now.Inst(0).Op != "trap" {
		t.Error("a body from before an edit")
	}
	if of(m) != first {
		t.Error("an edit of the copy made the original anew")
	}
}

// TestOnceTogether: several goroutines ask one body for everything that it works out.
func TestOnceTogether(t *testing.T) {
	m, err := ptx.Parse([]byte(loopText))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			w, err := Of(m.Entry("k"))
			if err != nil {
				t.Error(err)
				return
			}
			for i := range w.Stmts {
				if x := w.Inst(i).Address(); x != nil {
					w.Origin(*x)
				}
				w.Live(i)
			}
			if len(w.Loops()) != 1 || w.Depth(0) != 0 || w.Dominator(1) != 0 || w.Meet(0) < 0 {
				t.Error("other loops or dominators")
			}
		})
	}
	all.Wait()
}
