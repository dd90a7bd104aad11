package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gnvcc/bench/machine"
	"gnvcc/bench/watch/script"
)

func main() {
	gnvcc := flag.String("gnvcc", "bin/gnvcc", "the gnvcc to measure")
	nvcc := flag.String("nvcc", "/usr/local/cuda/bin/nvcc", "the nvcc behind it")
	out := flag.String("out", "watch.json", "raw results")
	limit := flag.Duration("limit", 3*time.Minute, "end in this time")
	edits := flag.Bool("script", true, "the edits of the script")
	times := flag.Int("times", 20, "how often a constant is edited, for the time to the recipe")
	commit := flag.String("commit", "", "gnvcc's commit, for the record")
	more := flag.Bool("more", true, "faults, other users of the GPU, new names, the user's own build")
	idle := flag.Int("idle", 0, "instead: what a watch of so many files costs, for a minute")
	flag.Parse()
	b := &bench{end: time.Now().Add(*limit), Machine: machine.Gather(context.Background(), *nvcc,
		*gnvcc, *commit)}
	var err error
	if *idle > 0 {
		err = b.idle(*gnvcc, *nvcc, *idle)
	} else {
		err = b.run(*gnvcc, *nvcc, *edits, *times, *more)
	}
	text, _ := json.MarshalIndent(b, "", " ")
	if e := os.WriteFile(*out, append(text, '\n'), 0o644); err == nil {
		err = e
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
	if b.wrong > 0 {
		os.Exit(1)
	}
}

// A bench is a run with its results.
type bench struct {
	Machine machine.Facts
	Edits   []script.Result
	Saves   []save
	Median  float64 // seconds from saving an edit to the recipe in the store
	More    []check `json:",omitempty"`
	Idle    *idle   `json:",omitempty"`

	end   time.Time
	wrong int
}

// A save is one edit of a constant.
type save struct {
	Seconds    float64 // until the recipe was in the store
	Candidates int     // measured
	Recipe     string
	Ratio      float64
	Launch     float64 // what a launch takes without a recipe, seconds
	Others     int     // candidates measured for kernels that were not edited
}

func project(gnvcc, nvcc string) (*script.Project, error) {
	dir, err := os.MkdirTemp("", "gnvcc-bench-watch-")
	if err != nil {
		return nil, err
	}
	if gnvcc, err = filepath.Abs(gnvcc); err != nil {
		return nil, err
	}
	store := filepath.Join(dir, "store")
	p := &script.Project{Gnvcc: gnvcc, Dir: filepath.Join(dir, "project"), Store: store,
		Env: append(os.Environ(), "GNVCC_STORE="+store, "GNVCC_NVCC="+nvcc, "TMPDIR="+dir)}
	return p, p.Write()
}

func (b *bench) run(gnvcc, nvcc string, edits bool, times int, more bool) error {
	p, err := project(gnvcc, nvcc)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(p.Dir))
	if err := p.Build(); err != nil {
		return err
	}
	begun := time.Now()
	if err := p.Tune("8"); err != nil {
		return err
	}
	fmt.Printf("the program was run and its launches captured: %.1f s\n", time.Since(begun).Seconds())
	if err := p.Start(); err != nil {
		return err
	}
	defer func() {
		if err := p.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "watch:", err)
		}
		fmt.Fprint(os.Stderr, p.Output())
		if text, err := os.ReadFile(filepath.Join(p.Store, "watch", "log")); err == nil {
			fmt.Fprintf(os.Stderr, "%s", text)
		}
	}()
	for i, e := range script.Edits() {
		if !edits || time.Now().After(b.end) {
			break
		}
		r, err := p.Do(e)
		if err != nil {
			return err
		}
		b.Edits = append(b.Edits, r)
		word := "PASS"
		if r.Wrong != "" {
			word = "FAIL"
			b.wrong++
		}
		fmt.Printf("%s %2d. %s: %.2f s %s\n", word, i+1, e.Name, r.Took.Seconds(), r.Wrong)
	}
	if err := b.saves(p, times); err != nil || !more {
		return err
	}
	return b.more(p, nvcc)
}

// saves edits a constant of one kernel again and again.
func (b *bench) saves(p *script.Project, times int) error {
	const n = 2
	var seconds []float64
	for i := range times {
		if time.Now().After(b.end) {
			fmt.Printf("the time is over: %d of %d edits\n", i, times)
			break
		}
		before, err := p.Now()
		if err != nil {
			return err
		}
		r, err := p.Do(script.Constant(n, 100+i))
		if err != nil {
			return err
		}
		after, err := p.Now()
		if err != nil {
			return err
		}
		s := save{Seconds: r.First.Seconds()}
		for kernel, count := range after.Candidates {
			if count -= before.Candidates[kernel]; kernel == script.Name(n) {
				s.Candidates = count
			} else {
				s.Others += count
			}
		}
		for _, d := range r.Done {
			s.Recipe, s.Ratio, s.Launch = d.Recipe, d.Ratio, d.Launch
		}
		if len(r.Done) != 1 || s.Others != 0 || s.Seconds == 0 {
			fmt.Printf("FAIL edit %d of a constant: %+v\n", i+1, r)
			b.wrong++
			continue
		}
		fmt.Printf("saved: recipe after %.2f s, %d candidates, a launch takes %.3f ms: %q %.3f\n",
			s.Seconds, s.Candidates, 1e3*s.Launch, s.Recipe, s.Ratio)
		b.Saves, seconds = append(b.Saves, s), append(seconds, s.Seconds)
	}
	if len(seconds) > 0 {
		slices.Sort(seconds)
		b.Median = seconds[len(seconds)/2]
		fmt.Printf("FIGURE saving an edited kernel to its recipe in the store: median of %d %.2f s\n",
			len(seconds), b.Median)
	}
	return nil
}
