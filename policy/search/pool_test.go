package search

import (
	"context"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
)

// held is a compiler that does not look up until it is let go, except for one recipe.
type held struct {
	policy.Compiler
	begun, free chan struct{}
	quick       string
}

func (h held) Kernel(module, kernel string) (*policy.Kernel, error) { return nil, errBudget }

func (h held) Compile(_ context.Context, _ *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error) {
	if r.String() != h.quick {
		h.begun <- struct{}{}
		<-h.free
	}
	return &policy.Candidate{}, nil
}

// What is asked for again, and urgent now, is compiled by a worker that stood back.
func TestMovedForward(t *testing.T) {
	h := held{begun: make(chan struct{}, 9), free: make(chan struct{}), quick: "maxnreg=40"}
	p := newPool(t.Context(), h, 2)
	defer p.Close()
	defer close(h.free)
	k := &policy.Kernel{}
	p.want(k, lever.Term("maxnreg", "32"), behind)
	<-h.begun
	j := p.want(k, lever.Term("maxnreg", "40"), behind+1)
	time.Sleep(20 * time.Millisecond) // the other worker looks, and stands back
	if j.finished() {
		t.Fatal("both workers compile ahead")
	}
	if p.want(k, lever.Term("maxnreg", "40"), 0) != j {
		t.Fatal("it is compiled twice")
	}
	select {
	case <-j.done:
	case <-time.After(10 * time.Second):
		t.Error("no worker took it")
	}
}

// A worker that computes on when it is told to end does not keep anybody.
func TestLeftBehind(t *testing.T) {
	usual := patience
	patience = 20 * time.Millisecond
	defer func() { patience = usual }()
	h := held{begun: make(chan struct{}, 9), free: make(chan struct{})}
	p := newPool(t.Context(), h, 2)
	j := p.want(&policy.Kernel{}, lever.Term("maxnreg", "32"), 0)
	<-h.begun
	closed := make(chan struct{})
	go func() {
		p.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("Close waits for a worker that does not end")
	}
	close(h.free)
	<-j.done
}
