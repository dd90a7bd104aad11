package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gnvcc/bench/lab"
)

func main() { lab.Main("watch", run) }

// A bench is a run with its results.
type bench struct {
	Machine lab.Machine
	Saves   []save  `json:",omitempty"`
	Median  float64 `json:",omitempty"` // seconds from saving an edit to the decision in the store
	Idle    *idle   `json:",omitempty"`

	gnvcc, nvcc string
	end         time.Time
	wrong       int
}

// A save is one edit of a constant.
type save struct {
	Seconds    float64 // until the decision was in the store
	Candidates int     // measured
	Recipe     string
	Ratio      float64
	Launch     float64 // what a launch takes without a recipe, seconds
	Others     int     // candidates measured for kernels that were not edited
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("watch", flag.ContinueOnError)
	b := &bench{}
	set.StringVar(&b.gnvcc, "gnvcc", "bin/gnvcc", "the gnvcc to measure")
	set.StringVar(&b.nvcc, "nvcc", "/usr/local/cuda/bin/nvcc", "the nvcc behind it")
	out := set.String("out", "watch.json", "raw results")
	limit := set.Duration("limit", 3*time.Minute, "end in this time")
	times := set.Int("times", 20, "how often a constant is edited")
	idle := set.Int("idle", 0, "instead: what a watch of so many files costs, for a minute")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	if err := set.Parse(args); err != nil {
		return err
	}
	if err := lab.Tools(&b.gnvcc, &b.nvcc); err != nil {
		return err
	}
	b.end, b.Machine = time.Now().Add(*limit), lab.Gather(ctx, b.nvcc, b.gnvcc, *commit)
	p, err := newProject(b.gnvcc, b.nvcc)
	if err != nil {
		return err
	}
	defer p.remove()
	switch {
	case *idle > 0:
		err = b.idle(p, *idle)
	default:
		err = b.watch(p, *times)
	}
	if e := lab.WriteJSON(*out, b); err == nil {
		err = e
	}
	if err == nil && b.wrong > 0 {
		err = fmt.Errorf("%d edits came out wrong", b.wrong)
	}
	return err
}

// captured builds the program and runs it under gnvcc tune, which captures its launches.
func (b *bench) captured(p *project) error {
	if err := p.build(); err != nil {
		return err
	}
	return p.run(p.gnvcc, "tune", "--quiet", "--budget", "8", "--", "./many")
}

func (b *bench) watch(p *project, times int) error {
	if err := b.captured(p); err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	defer func() {
		if err := p.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "watch:", err)
		}
		log, _ := os.ReadFile(filepath.Join(p.store, "watch", "log")) // for whoever reads a failure
		fmt.Fprintf(os.Stderr, "%s%s", p.output.String(), log)
	}()
	return b.saves(p, times)
}

// saves edits a constant of one kernel again and again.
func (b *bench) saves(p *project, times int) error {
	const n = 2
	var seconds []float64
	for i := range times {
		if time.Now().After(b.end) {
			fmt.Printf("the time is over: %d of %d edits\n", i, times)
			break
		}
		r, err := p.edit(func() error { return p.constant(n, 100+i) })
		if err != nil {
			return err
		}
		s := save{Seconds: r.first.Seconds()}
		for kernel, count := range r.candidates {
			if kernel == mangled(n) {
				s.Candidates = count
			} else {
				s.Others += count
			}
		}
		for _, d := range r.done {
			s.Recipe, s.Ratio, s.Launch = d.Recipe, d.Ratio, d.Launch
		}
		if len(r.done) != 1 || s.Others != 0 || s.Seconds == 0 {
			fmt.Printf("FAIL edit %d of a constant: %+v\n", i+1, r)
			b.wrong++
			continue
		}
		fmt.Printf("saved: decision after %.2f s, %d candidates, a launch takes %.3f ms: %q %.3f\n",
			s.Seconds, s.Candidates, 1e3*s.Launch, s.Recipe, s.Ratio)
		b.Saves, seconds = append(b.Saves, s), append(seconds, s.Seconds)
	}
	b.Median = lab.Median(seconds)
	fmt.Printf("FIGURE saving an edited kernel to its decision: median of %d %.2f s\n", len(seconds),
		b.Median)
	return nil
}
