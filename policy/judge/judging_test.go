package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/policy/tuner"
	"gnvcc/policy/tuner/tunertest"
	"gnvcc/profile/capture/capturetest"
	"gnvcc/profile/replay"
)

// preparing is a GPU that notes until when a process may wait.
type preparing struct {
	tunertest.GPU
	until *context.Context
	limit *time.Duration
}

func (p preparing) Prepare(ctx context.Context, o replay.Options, _ string) *replay.Standby {
	*p.until, *p.limit = ctx, o.Limit
	return nil
}

// TestBetween: what is kept for the next edit is there when that comes, and does not grow for ever.
func TestBetween(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	store, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	captures, err := tuner.Captures(store)
	if err != nil {
		t.Fatal(err)
	}
	m, err := capturetest.Keep(captures, capturetest.Launch{Kernel: "k",
		Params: [][2]int{{0, 8}}})
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := tuner.NewCompiler(store)
	if err != nil {
		t.Fatal(err)
	}
	var until context.Context
	var limit time.Duration
	gpu := preparing{until: &until, limit: &limit}
	j := &Judging{o: Options{Stays: true, GPU: gpu}, captures: captures, compiler: compiler}
	defer j.Close()

	ctx, cancel := context.WithCancel(context.Background()) // of one judgement
	j.prepare(ctx, m)
	cancel()
	if until == nil || until.Err() != nil {
		t.Error("the process that waits for the next edit ends with the judgement of this one")
	}
	if limit != longestRun {
		t.Errorf("an edit that does not end has %v in it", limit)
	}
	until = nil
	if j.prepare(ctx, m); until != nil {
		t.Error("a process is started for nobody")
	}

	one, err := j.scratch()
	if err != nil {
		t.Fatal(err)
	}
	for range mostTried - 1 {
		if s, err := j.scratch(); err != nil || s != one {
			t.Fatalf("another store: %v", err)
		}
	}
	if s, err := j.scratch(); err != nil || s == one {
		t.Errorf("one store takes all edits: %v", err)
	}
	if _, err := os.Stat(one.Path()); !os.IsNotExist(err) {
		t.Errorf("the first store is still there: %v", err)
	}
}

// TestWrongItself: an edit is compiled once more, up to the host compiler, only where its fault
// could be in the shorter way.
func TestWrongItself(t *testing.T) {
	for text, want := range map[string]bool{
		`/x/edit.cu(11): error: expected a ";"`:            true,
		"/x/edit.cu:3:10: fatal error: no.h: No such file": true,
		"nvcc fatal   : Unknown option '-x'":               false,
		"ptxas error : Entry function uses too much":       false,
		"Killed": false,
	} {
		if got := wrongItself(fmt.Errorf("%w: %s", apply.ErrSource, text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if wrongItself(errors.New("(1): error: ")) {
		t.Error("an error of ours")
	}
}
