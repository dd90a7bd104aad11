package profile

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestBetween: calls of the program's that copy, allocate and wait are counted with their time and
// the line that they come from, and launches that follow each other with none of them between.
func TestBetween(t *testing.T) {
	f := newFakeDriver(t)
	h := &host{again: func(l *Launch) int { return l.Count }}
	f.run(t, h, "between", true)
	sum := h.sums[0]
	got := map[string]Call{}
	for _, c := range sum.Calls {
		got[c.What] = c
	}
	read, wait := got["read back"], got["waited"]
	if read.Count != 40 || read.Bytes != 40*4700 || read.Seconds < 0.08 || read.Seconds > 1 || wait.Count != 40 ||
		wait.Seconds > 0.04 || got["allocated"].Count != 1 || len(got) != 3 {
		t.Errorf("%+v", sum.Calls)
	}
	text, err := os.ReadFile("testdata/app.c")
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Count(string(text[:strings.Index(string(text), "// here")]), "\n") + 1
	want := regexp.MustCompile(`^(call_in|call|read_back) \(app\.c:(\d+)\)$`)
	if len(read.Sites) != 1 || !want.MatchString(read.Sites[0].Where) || read.Sites[0].Count < 32 {
		t.Errorf("%+v, want line %d or a function that it calls", read.Sites, line)
	}
	follows := map[string]int{}
	for _, f := range sum.Follows {
		follows[f.First+f.Then] = f.Count
		if f.Timed > f.Count || f.Close > f.Timed || f.Gap < 0 {
			t.Errorf("%+v", f)
		}
	}
	if fmt.Sprint(follows) != "map[kk:80 kother:40]" {
		t.Errorf("%v", follows)
	}
	// nobody watches, nobody counts
	h = &host{}
	f.run(t, h, "between", false)
	if len(h.sums[0].Calls)+len(h.sums[0].Follows) > 0 {
		t.Errorf("%+v", h.sums[0])
	}
}

// TestPlaces: a function's name without debug information; of what is no program, nothing.
func TestPlaces(t *testing.T) {
	if s := readSymbols("testdata/app.c"); s.name(100) != "" {
		t.Error("a place in a text")
	}
	if got := (&places{}).of([]uint64{1, 2}); got != "" {
		t.Errorf("%q of nothing", got)
	}
}
