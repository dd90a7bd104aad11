// What a build with recipes costs: nvcc's clean build, gnvcc's first one on a machine that has the
// decisions and nothing else, and its second one.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"gnvcc/bench/step"
	folders "gnvcc/bench/tree"
)

// Builds are one program's: seconds of wall time, one program at a time, and how often gnvcc ran
// tools beside nvcc's own.
type Builds struct {
	Nvcc          float64 // mean of a build before and one after gnvcc's
	First, Second float64
	Cicc, Ptxas   [2]int // of the first and the second build
}

// builds measures them, in a tree of its own.
func (j *job) builds(ctx context.Context) error {
	const tree = "builds"
	if err := folders.Copy(j.s.source, filepath.Base(j.dir(tree)), filepath.Join(j.s.work, tree,
		j.name)); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	store := filepath.Join(j.s.work, "untuned", j.name)
	if err := os.RemoveAll(store); err != nil {
		return err
	}
	if err := os.MkdirAll(store, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"decisions.db", "decisions.snapshot"} {
		content, err := os.ReadFile(filepath.Join(j.store(), name))
		if err != nil {
			return fmt.Errorf("the decisions of the tuned store: %w", err)
		}
		if err := os.WriteFile(filepath.Join(store, name), content, 0o600); err != nil {
			return err
		}
	}
	var out Builds
	build := func(what, compiler string, env ...string) (float64, error) {
		if _, err := j.do(ctx, what+" clean", j.with(tree, compiler, env, "clean"),
			j.s.limits.build); err != nil {
			return 0, err
		}
		r, err := j.do(ctx, what, j.with(tree, compiler, env), j.s.limits.build)
		return r.Wall.Seconds(), err
	}
	off := "GNVCC_OFF=1"
	first, err := build("builds nvcc 1", j.s.nvcc, off)
	if err != nil {
		return err
	}
	for i, seconds := range []*float64{&out.First, &out.Second} {
		log := filepath.Join(j.s.work, "logs", fmt.Sprintf("%s.builds.%d.jsonl", j.name, i))
		if err := os.RemoveAll(log); err != nil {
			return err
		}
		if *seconds, err = build(fmt.Sprintf("builds gnvcc %d", i+1), j.s.gnvcc, "GNVCC_NVCC="+j.s.nvcc,
			"GNVCC_STORE="+store, "GNVCC_LOG="+log); err != nil {
			return err
		}
		text, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		out.Cicc[i], out.Ptxas[i] = tools(text)
	}
	last, err := build("builds nvcc 2", j.s.nvcc, off)
	if err != nil {
		return err
	}
	out.Nvcc = (first + last) / 2
	j.result.Builds = &out
	return nil
}

// with gives the command of a target with a compiler of its own.
func (j *job) with(tree, compiler string, env []string, targets ...string) step.Step {
	s := j.make(tree, targets...)
	s.Env = env
	for i, v := range j.s.compilers {
		s.Argv[3+i] = v + "=" + compiler
	}
	return s
}

// tools counts, in gnvcc's log, the tools that it ran beside nvcc's own.
func tools(log []byte) (cicc, ptxas int) {
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			Message string   `json:"message"`
			Argv    []string `json:"argv"`
		}
		if json.Unmarshal(lines.Bytes(), &entry) != nil || entry.Message != "compile by recipe" ||
			len(entry.Argv) == 0 {
			continue
		}
		switch filepath.Base(entry.Argv[0]) {
		case "cicc":
			cicc++
		case "ptxas":
			ptxas++
		}
	}
	return cicc, ptxas
}

// overhead sums the builds up; "" where none was measured.
func overhead(results []Result) string {
	var n int
	var b Builds
	for _, r := range results {
		if r.Builds == nil {
			continue
		}
		n++
		b.Nvcc, b.First, b.Second = b.Nvcc+r.Builds.Nvcc, b.First+r.Builds.First, b.Second+r.Builds.Second
		for i := range 2 {
			b.Cicc[i] += r.Builds.Cicc[i]
			b.Ptxas[i] += r.Builds.Ptxas[i]
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(
		"  clean builds of %d programs, nvcc %.1f s: with recipes the first time %.2f times that (%d runs of cicc and %d of ptxas beside nvcc's), the second time %.2f (%d and %d)\n",
		n, b.Nvcc, b.First/b.Nvcc, b.Cicc[0], b.Ptxas[0], b.Second/b.Nvcc, b.Cicc[1], b.Ptxas[1])
}
