package harm

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gnvcc/bench/lab"
)

// A Result is what became of a program.
type Result struct {
	Name, Class string
	Verdict     Verdict
	Why         string `json:",omitempty"`

	Plain, Again, Tuned, Rebuilt Ended
	// seconds of the program under gnvcc tune, without the search; 0: gnvcc has not said
	Under float64
	// configurations that were replayed with the program's bits, of those that it launched
	Replayed, Launched int
	Reasons            []string `json:",omitempty"` // why the others were not
	Recipes            []string `json:",omitempty"` // adopted, "kernel: recipe"
}

// A Verdict is one word on a program.
type Verdict string

const (
	Same    Verdict = "same"
	Harmed  Verdict = "HARMED"
	Varies  Verdict = "varies"  // nvcc's build by itself does
	Skipped Verdict = "skipped" // the machine has not what it needs
	Failed  Verdict = "failed"  // it could not be built, or not in time
)

// A bench is what all programs have in common.
type bench struct {
	nvcc, gnvcc, arch, work string
	tune                    []string      // options of gnvcc tune
	limit                   time.Duration // of one run
	slots                   chan struct{} // for runs
	all                     sync.Mutex    // of the one that takes all slots
}

func (b *bench) folder(p Program, of string) string { return filepath.Join(b.work, p.Name, of) }

// build builds a program with a compiler.
func (b *bench) build(ctx context.Context, p Program, compiler, of string) error {
	dir := b.folder(p, of)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	common := []string{compiler, "-w", "-O3", "-std=c++17", "-arch=" + b.arch, p.source}
	calls := [][]string{slices.Concat(common, p.build, []string{"-o", p.Name})}
	for _, also := range p.also {
		calls = append([][]string{slices.Concat(common, also)}, calls...)
	}
	for _, argv := range calls {
		r := lab.Step{Argv: argv, Dir: dir, Env: b.env(p), Limit: 5 * time.Minute}.Run(ctx)
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

func (b *bench) env(p Program) []string {
	return []string{"GNVCC_STORE=" + b.folder(p, "store"), "GNVCC_NVCC=" + b.nvcc,
		"GNVCC_LOG=" + b.folder(p, "log")}
}

// builds makes both builds.
func (b *bench) builds(ctx context.Context, p Program) error {
	if err := b.build(ctx, p, b.nvcc, "nvcc"); err != nil {
		return err
	}
	return b.build(ctx, p, b.gnvcc, "gnvcc")
}

// use holds a slot for runs, or all of them for a program that wants to be alone.
func (b *bench) use(p Program) (free func()) {
	n := 1
	if p.alone {
		b.all.Lock() // two that had half of the slots each would wait for ever
		defer b.all.Unlock()
		n = cap(b.slots)
	}
	for range n {
		b.slots <- struct{}{}
	}
	return func() {
		for range n {
			<-b.slots
		}
	}
}

// try is all of it, for a program that was built.
func (b *bench) try(ctx context.Context, p Program) (r Result) {
	r = Result{Name: p.Name, Class: p.Class}
	verdict := func(v Verdict, why string) Result {
		r.Verdict, r.Why = v, why
		return r
	}
	free := b.use(p)
	defer func() { free() }()
	program := "./" + p.Name
	in := func(of string, args ...string) Ended {
		return run(ctx, b.folder(p, of), b.limit, b.env(p), args...)
	}
	r.Plain = in("nvcc", program)
	if why, ok := strings.CutPrefix(r.Plain.Stdout, "skipped: "); ok {
		return verdict(Skipped, strings.TrimSpace(why))
	}
	for _, no := range []string{"cudaErrorInsufficientDriver", "cudaErrorNoDevice"} {
		if strings.Contains(r.Plain.Stdout, no) {
			return verdict(Skipped, "no GPU here")
		}
	}
	if !strings.Contains(r.Plain.Stdout, "ok") { // then it can't tell whether it is harmed
		return verdict(Failed, fmt.Sprintf("by itself it ends with %s and prints %.300q", r.Plain.End,
			r.Plain.Stdout+r.Plain.Stderr))
	}
	r.Tuned = in("gnvcc", slices.Concat([]string{b.gnvcc, "tune"}, b.tune, []string{"--", program})...)
	r.Again = in("nvcc", program)
	free() // compilers need no GPU
	err := b.build(ctx, p, b.gnvcc, "gnvcc")
	free = b.use(p)
	if err != nil {
		return verdict(Failed, "building with what was adopted: "+err.Error())
	}
	r.Rebuilt = in("gnvcc", program)
	if err := b.told(ctx, p, &r); err != nil {
		return verdict(Failed, err.Error())
	}
	if why := r.Again.differs(r.Plain); why != "" {
		return verdict(Varies, "by itself it "+why)
	}
	alone := max(r.Plain.Seconds, r.Again.Seconds)
	for _, c := range []struct{ when, why string }{
		{"under tune", r.Tuned.differs(r.Plain)},
		{"under tune", slow(r.tuned(), alone, tunedFactor, tunedMore)},
		{"rebuilt", r.Rebuilt.differs(r.Plain)},
		{"rebuilt", slow(r.Rebuilt.Seconds, alone, rebuiltFactor, rebuiltMore)},
	} {
		if c.why != "" {
			return verdict(Harmed, c.when+" it "+c.why)
		}
	}
	if p.other != nil {
		want := in("nvcc", append([]string{program}, p.other...)...)
		if why := in("gnvcc", append([]string{program}, p.other...)...).differs(want); why != "" {
			return verdict(Harmed, fmt.Sprintf("rebuilt, with arguments %q, it %s", p.other, why))
		}
	}
	return verdict(Same, "")
}

// tuned is what the program took under gnvcc tune; where gnvcc has not said, the whole command's
// time, in which nothing was searched.
func (r Result) tuned() float64 { return cmp.Or(r.Under, r.Tuned.Seconds) }

// told takes over what gnvcc says of its tuning: its log's last line, and its report.
func (b *bench) told(ctx context.Context, p Program, r *Result) error {
	text, err := os.ReadFile(b.folder(p, "log"))
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l struct {
			Message string
			Program float64
			Rows    []struct {
				Same bool
				Why  string
			}
		}
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.Message != "tuned" {
			continue
		}
		r.Under, r.Launched = l.Program, len(l.Rows)
		for _, row := range l.Rows {
			if row.Same {
				r.Replayed++
			} else if !slices.Contains(r.Reasons, row.Why) {
				r.Reasons = append(r.Reasons, row.Why)
			}
		}
	}
	s := lab.Step{Argv: []string{b.gnvcc, "report", "--all", "--json"}, Dir: b.work, Env: b.env(p),
		Limit: time.Minute}.Run(ctx)
	var report struct {
		Kernels []struct{ Kernel, Recipe string }
	}
	if s.Err == nil && strings.TrimSpace(s.Stdout) != "" {
		if err := json.Unmarshal([]byte(s.Stdout), &report); err != nil {
			return fmt.Errorf("gnvcc report: %w", err)
		}
	}
	for _, k := range report.Kernels {
		if k.Recipe != "" {
			r.Recipes = append(r.Recipes, k.Kernel+": "+k.Recipe)
		}
	}
	return lines.Err()
}
