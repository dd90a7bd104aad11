package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestAsk: what rewrite/fold/same says of two kernels is asked once, and is the same for the next
// one who reads the two; of others, and where more is known, it is asked again.
func TestAsk(t *testing.T) {
	const text = `extern "C" __global__ void k(float *o, const float *a, const float *b, float s) {
  float x = a[0] * b[0] * s, y = a[1] * b[1], v = 0, d = a[3] * s;
  if (a[2] > 2) { o[9] = x; o[10] = y; o[12] = d; __syncthreads(); }
  for (int i = 0; i < 64; i++) v += __sinf(a[i] * s);
  o[0] = x + y; o[1] = x - b[2]; o[2] = v + d;
}
`
	kits := ptxtest.Toolkits(t)
	kit := kits[len(kits)-1]
	read := func(text string) same.Built {
		file := filepath.Join(t.TempDir(), "k.cu")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := ptx.Parse(kit.PTX(t, file, "-arch=sm_80", "-lineinfo"))
		if err != nil {
			t.Fatal(err)
		}
		return same.Built{Module: m, Entry: "k"}
	}
	again := func(b same.Built) same.Built {
		m, err := ptx.Parse(b.Module.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return same.Built{Module: m, Entry: "k"}
	}
	st, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &Workbench{Store: st}
	fixed := fold.Fixed{Params: map[int]bool{}}
	own := read(text)
	first, err := b.ask(t.Context(), own, again(own), fixed)
	if err != nil || len(first.Sums) == 0 || len(first.Both) == 0 || len(first.Approximate) == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	one, two := again(own), again(own)
	second, err := b.ask(t.Context(), one, two, fixed)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := worded(first), worded(second); !reflect.DeepEqual(a, b) {
		t.Errorf("%v, and when it was kept %v", a, b)
	}
	for _, s := range second.Sums {
		if s.At.Func != two.Module.Entry("k") || s.May[0].Func != one.Module.Entry("k") {
			t.Errorf("%s is of another module", placed(s.At))
		}
	}
	// what is kept is what is given
	key := answerKey(own, own, fixed)
	kept, ok := memoAnswer.Get(st, key)
	if !ok {
		t.Fatal("nothing is kept")
	}
	kept.Error = "kept"
	memoAnswer.Put(st, key, kept)
	if _, err := b.ask(t.Context(), own, own, fixed); err == nil || err.Error() != "kept" {
		t.Errorf("what was kept is not used: %v", err)
	}
	other := own
	other.Contracted = map[same.Statement]same.Statement{}
	if _, err := b.ask(t.Context(), other, own, fixed); err != nil {
		t.Errorf("where sums are known: %v", err)
	}
	if _, err := b.ask(t.Context(), own, own, fold.Fixed{Params: map[int]bool{3: true}}); err != nil &&
		err.Error() == "kept" {
		t.Error("another question has the same answer")
	}
	if _, err := b.ask(t.Context(), own, read(strings.Replace(text, "x + y", "x", 1)), fixed); err != nil &&
		err.Error() == "kept" {
		t.Error("another variant has the same answer")
	}
	// damaged: asked again
	kept.Error, kept.Alone = "", []int{1 << 20}
	memoAnswer.Put(st, key, kept)
	a, err := b.ask(t.Context(), own, own, fixed)
	if err != nil || !reflect.DeepEqual(worded(a), worded(first)) {
		t.Errorf("a damaged answer: %v, %v", a, err)
	}
}

func placed(s same.Statement) string { return fmt.Sprint(s.Index, " ", text(s)) }

// worded is an answer without the modules that it is of.
func worded(a *same.Answer) (out []string) {
	list := func(what string, of []same.Statement) {
		for _, s := range of {
			what += ", " + placed(s)
		}
		out = append(out, what)
	}
	for _, s := range a.Sums {
		list("sum", []same.Statement{s.At})
		list("may", s.May)
		list("ordered", s.Ordered)
	}
	list("both", a.Both)
	list("alone", a.Alone)
	list("approximate", a.Approximate)
	return append(out, a.Early...)
}
