package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gnvcc/policy/retune"
)

// How many judgements a minute one gnvcc judge --serve gives, asked as a program asks that edits a
// kernel: each edit when the verdict on the last is there, a harmless and a wrong one in turn. An
// edit that does not compile is no judgement, and one whose machine code is the original's is
// counted apart: nothing is run for it. The first judgement makes the original ready, and is left
// out.

// An answer is one line, and what it took.
type answer struct {
	retune.Judgement
	Rule, Edit string
	Harmless   bool
	Again      bool    // the list of edits is at its end: this one was judged before
	Elapsed    float64 // seconds from the line to the answer, as the one sees it who asks
}

// ran tells whether the edit was run beside the original.
func (a answer) ran() bool {
	return slices.ContainsFunc(a.Kernels, func(k retune.JudgedKernel) bool { return !k.SameCode })
}

// measure asks for so many judgements, and prints what they took.
func (b *benchmark) measure(ctx context.Context, raw io.Writer) error {
	at := slices.IndexFunc(kernels, func(k kernel) bool {
		return strings.Contains(k.file+" "+k.name, cmp.Or(b.only, "quantile"))
	})
	if at < 0 || cmp.Or(b.gnvcc, b.emulate) == "" {
		return errors.New("-rate N wants -gpu GNVCC or -emulate GNVCC, and a -kernel that there is")
	}
	k := kernels[at]
	x, err := b.bench(ctx, k)
	if err != nil {
		return err
	}
	words := []string{"judge", "--serve"}
	if b.gnvcc == "" {
		size := func(s [3]int) string { return fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]) }
		words = append(words, "--emulate", fmt.Sprint("--dynamic=", k.dynamic))
		for _, set := range k.set {
			words = append(words, "--set="+set)
		}
		if k.grid[0] > 0 {
			words = append(words, "--grid="+size(k.grid))
		}
		if k.block[0] > 0 {
			words = append(words, "--block="+size(k.block))
		}
	}
	cmd := exec.CommandContext(ctx, cmp.Or(b.gnvcc, b.emulate), words...)
	cmd.Env = append(os.Environ(), "GNVCC_STORE="+x.store, "GNVCC_NVCC="+b.nvcc)
	cmd.Stderr = os.Stderr
	lines, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	got, failed, err := b.ask(x, lines, bufio.NewReader(out), raw)
	err = errors.Join(err, lines.Close(), cmd.Wait())
	if err != nil {
		return err
	}
	spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Fprintf(os.Stderr, "processor time, with all children: %.2f s for each line\n",
		spent.Seconds()/float64(len(got)+failed))
	b.print(x, got, failed)
	return nil
}

// ask asks for the judgements; failed are lines that were answered with an error.
func (b *benchmark) ask(x *bench, to io.Writer, from *bufio.Reader,
	raw io.Writer) (got []answer, failed int, err error) {
	file := filepath.Join(filepath.Dir(x.store), x.file+".cu")
	for _, harmless := range []bool{true, false} {
		x.edits[harmless] = slices.DeleteFunc(x.edits[harmless], func(e edit) bool {
			return !harmless && isEquivalent(x.file+"/"+x.name, e)
		})
		if len(x.edits[harmless]) == 0 {
			return nil, 0, errors.New("the kernel has no edits of both kinds")
		}
	}
	for n := 0; len(got) <= b.rate && n < 4*b.rate+4; n++ {
		harmless := n%2 == 0
		list := x.edits[harmless]
		e := list[n/2%len(list)]
		if err := os.WriteFile(file, []byte(e.text), 0o600); err != nil {
			return nil, 0, err
		}
		line, err := json.Marshal(map[string]string{"file": file, "of": x.source, "kernel": x.name})
		if err != nil {
			return nil, 0, err
		}
		begun := time.Now()
		if _, err := fmt.Fprintf(to, "%s\n", line); err != nil {
			return nil, 0, err
		}
		text, err := from.ReadBytes('\n')
		if err != nil {
			return nil, 0, fmt.Errorf("judge --serve gave no answer: %w", err)
		}
		a := answer{Rule: e.what, Edit: e.line, Harmless: harmless, Again: n/2 >= len(list),
			Elapsed: time.Since(begun).Seconds()}
		if err := json.Unmarshal(text, &a.Judgement); err != nil {
			return nil, 0, fmt.Errorf("read %s: %w", text, err)
		}
		kept, err := json.Marshal(map[string]any{"rule": a.Rule, "edit": a.Edit,
			"harmless": a.Harmless, "again": a.Again, "elapsed": a.Elapsed,
			"answer": json.RawMessage(text)})
		if err != nil {
			return nil, 0, err
		}
		fmt.Fprintf(raw, "%s\n", kept)
		if a.Error == "" {
			got = append(got, a)
		} else {
			failed++
		}
	}
	if len(got) < 2 {
		return nil, 0, fmt.Errorf("%d edits, and nearly all answered with an error", failed)
	}
	return got, failed, nil
}

// print tells what they took.
func (b *benchmark) print(x *bench, got []answer, failed int) {
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Fprintf(os.Stderr, "%s/%s, %d processors, load average %s", x.file, x.name, runtime.NumCPU(),
		cmp.Or(string(load), "unknown\n"))
	fmt.Fprintf(os.Stderr, "the first: %.2f s; left out, as %d that could not be judged\n",
		got[0].Elapsed, failed)
	got = got[1:]
	for _, row := range []struct {
		what  string
		takes func(answer) bool
	}{
		{"all", func(answer) bool { return true }},
		{"run beside the original", answer.ran},
		{"  equal", func(a answer) bool { return a.ran() && a.Equal }},
		{"  not equal", func(a answer) bool { return a.ran() && !a.Equal }},
		{"the original's code", func(a answer) bool { return !a.ran() }},
	} {
		var sum float64
		n, wrong, again, steps := 0, 0, 0, map[string]float64{}
		for _, a := range got {
			if !row.takes(a) {
				continue
			}
			n, sum = n+1, sum+a.Elapsed
			if a.Equal != a.Harmless && a.ran() {
				wrong++
			}
			if a.Again {
				again++
			}
			steps["compile"] += a.Compiled
			steps["run"] += a.Ran
			steps["between"] += a.Elapsed - a.Compiled - a.Ran
			for step, s := range a.Spent {
				steps["run: "+step] += s
			}
		}
		if n == 0 {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: %d (%d of them again, %d with another verdict than expected), "+
			"%.0f judgements a minute; seconds each: %.3f =", row.what, n, again, wrong,
			60*float64(n)/sum, sum/float64(n))
		for _, step := range slices.Sorted(maps.Keys(steps)) {
			fmt.Fprintf(os.Stderr, " %s %.3f", step, steps[step]/float64(n))
		}
		fmt.Fprintln(os.Stderr)
	}
}
