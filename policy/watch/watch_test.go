package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gnvcc/driver/apply"
	"gnvcc/policy/edits"
)

// A fake is a World of one command a file; what its kernels are stands in the files, "k1=a k2=b".
// Nothing is compiled or run.
type fake struct {
	t        *testing.T
	mu       sync.Mutex
	built    map[string]string // files as they were when they were built
	captured []Captured
	decided  map[string]bool
	news     map[string]News // of kernels as they were captured, by identity
	tried    []string        // commands
	tuned    []Job
	ran      []string
	busy     string
	wrong    map[string]error // what a try gives
	outcome  func(ctx context.Context, j Job) (Outcome, error)
	program  string
	when     time.Time // of the last build
}

func (f *fake) command(file, text string) Command {
	files := []string{file, "common.h"}
	c := Command{Built: apply.Built{Hash: "hash of " + file, Name: file, Output: file + ".o",
		Files: files}, Read: edits.Files{Near: files}, When: f.when}
	for _, word := range strings.Fields(text) {
		name, is, _ := strings.Cut(word, "=")
		k := Kernel{Name: name, Identity: name + " as " + is, Source: file, CC: 90, Cubin: file + text}
		c.Kernels = append(c.Kernels, k)
	}
	return c
}

func (f *fake) Commands() (out []Command, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for file, text := range f.built {
		out = append(out, f.command(file, text))
	}
	return out, nil
}

func (f *fake) Try(ctx context.Context, c Command) (Command, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tried = append(f.tried, c.Name)
	if err := f.wrong[c.Name]; err != nil {
		return c, err
	}
	return f.command(c.Name, f.text(c.Name)), ctx.Err()
}

func (f *fake) Captured() ([]Captured, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.captured), nil
}

func (f *fake) Stale(k Kernel, _ []Captured) News {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.news[k.Identity]
}

func (f *fake) Decided(identity, device string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decided[identity]
}

func (f *fake) Tune(ctx context.Context, j Job) (Outcome, error) {
	f.mu.Lock()
	f.tuned = append(f.tuned, j)
	delete(f.news, j.Kernel.Identity)
	do := f.outcome
	f.mu.Unlock()
	if do != nil {
		return do(ctx, j)
	}
	f.decide(j.Kernel.Identity)
	return Outcome{Recipe: "maxnreg=32", Ratio: 0.5, Candidates: 3}, nil
}

func (f *fake) decide(identity string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decided[identity] = true
}

func (f *fake) Busy(gpu bool) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy
}

func (f *fake) Run(ctx context.Context, kernels []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ran = append(f.ran, strings.Join(kernels, "+"))
	return nil
}

func (f *fake) Program() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.program
}

func (f *fake) names() (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range f.tuned {
		out = append(out, j.Kernel.Identity)
	}
	return out
}

// text is what stands in a file, write changes it.
func (f *fake) text(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		f.t.Error(err)
	}
	return string(text)
}

func (f *fake) write(file, text string) {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Error(err)
	}
}

// newFake has files as they were built, and a captured launch of each kernel; the first weighs
// most.
func newFake(t *testing.T, files map[string]string) *fake {
	t.Helper()
	t.Chdir(t.TempDir())
	f := &fake{t: t, built: map[string]string{}, decided: map[string]bool{}, wrong: map[string]error{}}
	f.write("common.h", "")
	for file, text := range files {
		f.build(file, text)
		f.capture(file, text)
	}
	return f
}

// build has a file built with a text.
func (f *fake) build(file, text string) {
	f.write(file, text)
	f.built[file], f.when = text, time.Now()
}

func (f *fake) capture(file, text string) {
	var names []string
	for _, word := range strings.Fields(text) {
		name, _, _ := strings.Cut(word, "=")
		names = append(names, name)
	}
	for i, word := range strings.Fields(text) {
		name, is, _ := strings.Cut(word, "=")
		f.captured = append(f.captured, Captured{ID: word, Program: "app", Kernel: name, CC: 90,
			Device: "GPU", Made: time.Now(), Weight: 1 / float64(1+i), Place: apply.Place{Output: file + ".o",
				Source: file, Identity: name + " as " + is, Beside: names}})
	}
}

// A running is a watch of a fake.
type running struct {
	*fake
	edits chan []string
	notes chan struct{}
	mu    sync.Mutex
	last  Status
	log   []Event
}

func (f *fake) start(t *testing.T, o Options) *running {
	t.Helper()
	r := &running{fake: f, edits: make(chan []string), notes: make(chan struct{})}
	o.Settle, o.Pause = 20*time.Millisecond, 20*time.Millisecond
	o.Watch = func(edits.Files) {}
	o.OnStatus = func(s Status) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if s.At.After(r.last.At) {
			r.last = s
		}
	}
	o.Log = func(e Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log = append(r.log, e)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- New(f, o).Run(ctx, r.edits, r.notes) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("it does not end")
		}
	})
	return r
}

// edit changes files and tells of it.
func (r *running) edit(pairs ...string) {
	var batch []string
	r.fake.mu.Lock()
	for i := 0; i < len(pairs); i += 2 {
		r.write(pairs[i], pairs[i+1])
		batch = append(batch, pairs[i])
	}
	r.fake.mu.Unlock()
	r.edits <- batch
}

// until waits for a status.
func (r *running) until(what string, is func(Status) bool) Status {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		r.mu.Lock()
		s := r.last
		r.mu.Unlock()
		if !s.At.IsZero() && is(s) {
			return s
		}
	}
	r.t.Fatalf("never %s: %+v; %+v", what, r.last, r.log)
	return Status{}
}

func (r *running) idle() Status {
	r.t.Helper()
	time.Sleep(5 * time.Millisecond)
	return r.until("idle", func(s Status) bool { return s.Idle })
}

func (r *running) want(names ...string) {
	r.t.Helper()
	r.idle()
	if got := r.names(); !slices.Equal(got, names) {
		r.t.Errorf("tuned: %q, want %q", got, names)
	}
	r.fake.mu.Lock()
	r.tuned = nil
	r.fake.mu.Unlock()
}

// TestEdited: of many kernels the edited one is tuned, once; what stood for it before is said.
func TestEdited(t *testing.T) {
	r := newFake(t, map[string]string{"a.cu": "k1=a k2=b k3=c", "b.cu": "k4=d"}).start(t,
		Options{Tries: 2})
	r.want()
	r.edit("a.cu", "k1=a k2=x k3=c")
	r.idle()
	if j := r.tuned; len(j) != 1 || !slices.Equal(j[0].Before, []string{"k2 as b"}) ||
		!slices.Equal(j[0].Captures, []string{"k2=b"}) {
		t.Fatalf("%+v", j)
	}
	r.want("k2 as x")
	r.edit("a.cu", "k1=a k2=y k3=c")
	r.idle()
	if b := r.tuned[0].Before; !slices.Equal(b, []string{"k2 as x", "k2 as b"}) {
		t.Errorf("before: %q", b)
	}
	r.want("k2 as y")
	tries := len(r.tried)
	r.edit("a.cu", "k1=a k2=x k3=c") // taken back: nothing is run
	r.edit("a.cu", "k1=a k2=b k3=c")
	r.want()
	if len(r.tried) != tries {
		t.Errorf("run again: %q", r.tried[tries:])
	}
	if s := r.idle(); s.Candidates["k2"] != 6 || len(s.Candidates) != 1 || s.Tuned != 2 {
		t.Errorf("%+v", s)
	}
}

// TestHeader: kernels of many files, by weight, the heaviest first; those that weigh nothing are
// left out.
func TestHeader(t *testing.T) {
	f := newFake(t, map[string]string{"a.cu": "k1=a"})
	var names []string
	for i := range 50 {
		name := fmt.Sprintf("h%02d", i)
		f.build(name+".cu", name+"=a")
		f.capture(name+".cu", name+"=a")
		f.captured[len(f.captured)-1].Weight = float64(100 - i)
		if i < 49 {
			names = append(names, name+" as z")
		}
	}
	f.captured[len(f.captured)-1].Weight = 1
	r := f.start(t, Options{Tries: 1})
	r.idle()
	pairs := []string{"common.h", "changed"}
	for i := range 50 {
		pairs = append(pairs, fmt.Sprintf("h%02d.cu", i), fmt.Sprintf("h%02d=z", i))
	}
	f.mu.Lock()
	f.busy = "not yet" // so that all are known before the first is tuned
	f.mu.Unlock()
	r.edit(pairs...)
	time.Sleep(50 * time.Millisecond)
	if got := r.names(); len(got) != 0 {
		t.Errorf("tuned on a busy machine: %q", got)
	}
	f.mu.Lock()
	f.busy = ""
	f.mu.Unlock()
	r.idle()
	got := r.names()
	if len(got) != 49 || got[0] != names[0] {
		t.Errorf("%d kernels: %q", len(got), got)
	}
	if got := r.tried[:2]; got[0] != "h00.cu" || got[1] != "h01.cu" {
		t.Errorf("run again first: %q", got)
	}
}

// TestTrouble: what does not compile, or can't be run, leaves the last good state, and is tried
// again when it may be otherwise.
func TestTrouble(t *testing.T) {
	r := newFake(t, map[string]string{"a.cu": "k1=a k2=b"}).start(t, Options{})
	r.idle()
	r.wrong["a.cu"] = fmt.Errorf("%w: a.cu(3): error", apply.ErrSource)
	r.edit("a.cu", "k1=half")
	if s := r.until("failing", func(s Status) bool {
		return len(s.Failing) == 1
	}); !strings.Contains(s.Failing[0].Why, "a.cu(3)") {
		t.Errorf("%+v", s.Failing)
	}
	r.want()
	r.fake.mu.Lock()
	delete(r.wrong, "a.cu")
	r.fake.mu.Unlock()
	r.edit("a.cu", "k1=whole k2=b")
	r.want("k1 as whole")
	if s := r.idle(); len(s.Failing) != 0 {
		t.Errorf("%+v", s.Failing)
	}
	// A search that was interrupted begins again; one that gives nothing does not, until there are
	// other captures.
	n := 0
	r.outcome = func(ctx context.Context, j Job) (Outcome, error) {
		if n++; n == 1 {
			return Outcome{}, errors.New("the disk is full")
		}
		return Outcome{Why: "it faults", Run: true}, nil
	}
	r.edit("a.cu", "k1=other k2=b")
	r.want("k1 as other")
	if s := r.idle(); len(s.Waiting) != 1 || s.Waiting[0].Why != "the disk is full" {
		t.Errorf("%+v", s.Waiting)
	}
	outcome := r.outcome
	r.outcome = func(context.Context, Job) (Outcome, error) { panic("our own fault") }
	r.edit("a.cu", "k1=panics k2=b")
	r.want("k1 as panics")
	if s := r.idle(); len(s.Waiting) != 1 || !strings.HasPrefix(s.Waiting[0].Why,
		"panic: our own fault") {
		t.Errorf("%+v", s.Waiting)
	}
	r.outcome = outcome
	r.edit("a.cu", "k1=third k2=b")
	r.want("k1 as third")
	if s := r.idle(); len(s.Waiting) != 1 || s.Waiting[0].Why != "it faults" || !s.Waiting[0].Run {
		t.Errorf("%+v", s.Waiting)
	}
	r.fake.mu.Lock()
	r.capture("a.cu", "k1=fresh k2=b")
	r.fake.mu.Unlock()
	r.notes <- struct{}{}
	time.Sleep(100 * time.Millisecond)
	r.want("k1 as third")
}

// TestSuperseded: the search on a kernel that is edited once more ends, and the newest is tuned.
func TestSuperseded(t *testing.T) {
	r := newFake(t, map[string]string{"a.cu": "k1=a"}).start(t, Options{})
	r.idle()
	begun := make(chan string, 8)
	r.outcome = func(ctx context.Context, j Job) (Outcome, error) {
		begun <- j.Kernel.Identity
		if j.Kernel.Identity == "k1 as b" {
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		}
		r.decide(j.Kernel.Identity)
		return Outcome{}, nil
	}
	r.edit("a.cu", "k1=b")
	<-begun
	r.edit("a.cu", "k1=c")
	if got := <-begun; got != "k1 as c" {
		t.Errorf("next: %s", got)
	}
	r.want("k1 as b", "k1 as c")
}

// TestYield: a search ends when somebody else wants the GPU, and is done when it is free.
func TestYield(t *testing.T) {
	r := newFake(t, map[string]string{"a.cu": "k1=a"}).start(t, Options{})
	r.idle()
	begun := make(chan bool, 8)
	first := true
	r.outcome = func(ctx context.Context, j Job) (Outcome, error) {
		begun <- true
		if first {
			first = false
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		}
		r.decide(j.Kernel.Identity)
		return Outcome{}, nil
	}
	r.edit("a.cu", "k1=b")
	<-begun
	r.fake.mu.Lock()
	r.busy = "process 7 uses the GPU"
	r.fake.mu.Unlock()
	s := r.until("paused", func(s Status) bool { return s.Paused != "" && len(s.Doing) == 0 })
	if s.Idle || len(s.Waiting) != 1 || s.Waiting[0].Why != "process 7 uses the GPU" {
		t.Errorf("%+v", s)
	}
	r.fake.mu.Lock()
	r.busy = ""
	r.fake.mu.Unlock()
	r.want("k1 as b", "k1 as b")
}

// TestBuilt: what a build gave counts; kernels that were edited while nobody watched are tuned; a
// program is run for kernels with new names, once for each time that it was built.
func TestBuilt(t *testing.T) {
	f := newFake(t, map[string]string{"a.cu": "k1=a"})
	f.build("a.cu", "k1=b") // again, after the launches were captured
	r := f.start(t, Options{Runs: true})
	r.want("k1 as b")
	r.edit("a.cu", "k1=b renamed=a")
	if s := r.idle(); len(s.Waiting) != 1 || !s.Waiting[0].Run {
		t.Errorf("%+v", s.Waiting)
	}
	time.Sleep(100 * time.Millisecond)
	if len(r.ran) != 0 {
		t.Errorf("run before it was built: %q", r.ran)
	}
	build := func(program string) {
		r.fake.mu.Lock()
		r.fake.build("a.cu", r.text("a.cu"))
		r.program = program
		r.fake.mu.Unlock()
		r.notes <- struct{}{}
		time.Sleep(150 * time.Millisecond)
	}
	build("first")
	build("first")
	build("second")
	r.fake.mu.Lock()
	defer r.fake.mu.Unlock()
	if !slices.Equal(r.ran, []string{"renamed", "renamed"}) {
		t.Errorf("run: %q", r.ran)
	}
}

// TestRetry: a full disk is no fault of a source's: the command is run again by itself, and what
// was good stays until then.
func TestRetry(t *testing.T) {
	r := newFake(t, map[string]string{"a.cu": "k1=a"}).start(t, Options{Retry: 50 * time.Millisecond})
	r.idle()
	r.fake.mu.Lock()
	r.wrong["a.cu"] = errors.New("the disk is full")
	r.fake.mu.Unlock()
	r.edit("a.cu", "k1=b")
	if s := r.until("failing", func(s Status) bool {
		return len(s.Failing) == 1
	}); s.Failing[0].Why != "the disk is full" {
		t.Errorf("%+v", s)
	}
	r.fake.mu.Lock()
	delete(r.wrong, "a.cu")
	r.fake.mu.Unlock()
	r.until("tuned", func(s Status) bool { return s.Tuned == 1 })
	if s := r.idle(); len(s.Failing) != 0 {
		t.Errorf("%+v", s.Failing)
	}
	r.want("k1 as b")
}

// TestUnobserved: a file of which no launch is captured waits for a first run, and the status says
// so; a run that captures one ends that.
func TestUnobserved(t *testing.T) {
	f := newFake(t, map[string]string{"a.cu": "k1=a"})
	f.build("b.cu", "k2=a k3=a")
	r := f.start(t, Options{})
	s := r.until("idle", func(s Status) bool { return s.Idle && s.Commands == 2 })
	if want := []Unobserved{{"b.cu", 2}}; !slices.Equal(s.Unobserved, want) {
		t.Errorf("%+v, want %+v", s.Unobserved, want)
	}
	f.mu.Lock()
	f.capture("b.cu", "k2=a")
	f.mu.Unlock()
	r.notes <- struct{}{}
	r.until("observed", func(s Status) bool { return s.Idle && len(s.Unobserved) == 0 })
}

// TestStale: kernels that were not edited are tuned again when the world says that what was decided
// is stale, the heaviest first, each once; those that need other launches wait; those that weigh
// little are left.
func TestStale(t *testing.T) {
	f := newFake(t, map[string]string{"a.cu": "k1=a k2=b k3=c k4=d k5=e"})
	weights := map[string]float64{"k1": 0.2, "k2": 0.49, "k3": 0.005, "k4": 0.3, "k5": 0.005}
	for i, c := range f.captured {
		f.decide(c.Identity)
		f.captured[i].Weight = weights[c.Kernel]
	}
	r := f.start(t, Options{})
	r.want()
	f.mu.Lock()
	f.news = map[string]News{"k1 as a": {Why: "new"}, "k2 as b": {Why: "new"},
		"k3 as c": {Why: "new"}, "k4 as d": {Why: "not captured", Run: true}}
	f.mu.Unlock()
	r.notes <- struct{}{}
	r.until("tuned", func(s Status) bool { return s.Tuned == 2 })
	r.want("k2 as b", "k1 as a")
	s := r.idle()
	if len(s.Waiting) != 1 || s.Waiting[0].Why != "not captured" || s.Waiting[0].Share < 0.29 {
		t.Errorf("%+v", s.Waiting)
	}
	f.mu.Lock()
	tried := slices.Clone(f.tried)
	f.mu.Unlock()
	if len(tried) > 0 {
		t.Errorf("commands were run again for kernels that are as they were: %q", tried)
	}
}
