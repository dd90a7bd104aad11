package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/driver/compile"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/policy/tuner"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Kernels, what is asked of them, and the answers.

// large is the number of PTX instructions above which a kernel without a loop counts, too.
const large = 200

// A question is a kernel that is asked about.
type question struct {
	built        record.BuiltKernel
	source       *compile.Source
	kernel       *policy.Kernel
	instructions int
	loops        bool
}

// about reads what is known of a kernel.
func about(c *tuner.Compiler, b record.BuiltKernel) (question, error) {
	q := question{built: b}
	var err error
	if q.kernel, err = c.Kernel(b.Assembly.Cubin, b.Name); err != nil {
		return q, err
	}
	q.source = q.kernel.Built
	q.instructions, q.loops = size(q.source.Module, b.Name)
	return q, nil
}

// size counts the instructions that an entry reaches, and reports whether a branch leads back.
func size(m *ptx.Module, entry string) (instructions int, loops bool) {
	reach, err := m.Reach(entry)
	if err != nil {
		return 0, false
	}
	for n, f := range reach.Funcs {
		if !f.Body || n > 0 && f.Entry {
			continue
		}
		for _, s := range f.Stmts {
			if s.Kind == ptx.Inst {
				instructions++
			}
		}
		blocks, err := f.Blocks()
		for i, b := range blocks {
			loops = loops || err == nil && slices.ContainsFunc(b.Succs, func(to int) bool {
				return to <= i
			})
		}
	}
	return instructions, loops
}

// choose leaves out small kernels, and of one template in one file all but some: the largest ones.
func choose(all []question, each int) []question {
	slices.SortStableFunc(all, func(a, b question) int { return b.instructions - a.instructions })
	seen := map[string]int{}
	return slices.DeleteFunc(all, func(q question) bool {
		if !q.loops && q.instructions <= large {
			return true
		}
		name, _, _ := strings.Cut(q.kernel.Short, "<")
		key := q.built.Assembly.PTX + " " + name
		seen[key]++
		return each > 0 && seen[key] > each
	})
}

// usual are the levers that are asked for; others can be named.
var usual = []string{"maxnreg", "hint", "unroll", "spec", "coarsen", "shape", "throttle"}

// recipes are what is asked for of a lever; none where the kernel has nothing for it.
func (q question) recipes(name string) []string {
	k := q.kernel
	host := q.host()
	switch name {
	case "maxnreg":
		return q.caps()
	case "hint":
		return append(when(k.Loads > 0, "hint@ld=cs"), when(k.Stores > 0, "hint@st=cs")...)
	case "unroll":
		if !q.loops || k.NoUnroll == "" && len(k.Loops) == 0 {
			return nil
		}
		out := []string{"unroll=4", "unroll=2", "unroll=1"}
		for i, l := range k.Loops {
			if l.Site != "" && i < 3 {
				out = append(out, "unroll@"+l.Site+"=4")
			}
		}
		return out
	case "spec":
		return q.values()
	case "coarsen":
		return []string{host + " coarsen=1x2x1", host + " coarsen=2x1x1"}
	case "shape":
		return []string{fmt.Sprintf("%s shape=%dx1x1", host, max(q.block()/2, 1))}
	case "throttle":
		return []string{host + " throttle=4"}
	case "bypass":
		return when(k.Loads > 0, "bypass=1")
	case "early":
		return when(lever.Early.Of(k).Loads > 0, "early=on")
	case "inorder":
		return when(lever.Ordered.Of(k) > 1, "inorder=on")
	case "demote":
		return when(k.Default.Spill > 0, host+" demote=spill")
	}
	return nil
}

func when(is bool, texts ...string) []string {
	if is {
		return texts
	}
	return nil
}

// block is one that the kernel can be launched with.
func (q question) block() int { return min(256, q.kernel.MaxThreads) }

// host is a second entry for such a block, and for dynamic shared memory where the kernel has some:
// 8 words a thread.
func (q question) host() string {
	dynamic := 0
	if q.kernel.Dynamic {
		dynamic = 8 * 4 * q.block()
	}
	return fmt.Sprintf("spec{host(block)=%dx1x1,host(dynamic)=%d}", q.block(), dynamic)
}

// caps are register counts: three quarters and half of nvcc's, and the largest that its blocks
// leave. What spills is asked for, too.
func (q question) caps() []string {
	now := q.kernel.Default.Registers
	var out []string
	for _, n := range []int{now * 3 / 4 &^ 7, now / 2 &^ 7, min(255, now+24)} {
		text := fmt.Sprintf("maxnreg=%d", max(n, 24))
		if n != now && !slices.Contains(out, text) {
			out = append(out, text)
			if n < now && q.kernel.Default.Stack > rewrite.StackLimit { // more of it, in a second entry
				out = append(out, q.host()+" "+text)
			}
		}
	}
	return out
}

// values are copies for what a launch may have: the first and the last integer argument, and the
// block, where the code reads it.
func (q question) values() []string {
	var out []string
	for _, v := range q.kernel.Values {
		if v.Why == "" && v.Class == lowered.Integer && v.Bits >= 32 {
			text := "spec{" + recipe.Place{Index: v.Argument, Offset: v.Offset}.String() + "=64}"
			out = append(out[:min(len(out), 1)], text)
		}
	}
	block := fmt.Sprintf("spec{blockDim.x=%d,blockDim.y=1,blockDim.z=1}", q.block())
	if q.kernel.NoSpec != "" || slices.ContainsFunc(q.kernel.Reads, func(s string) bool {
		return strings.HasPrefix(s, "blockDim")
	}) {
		out = append(out, block)
	}
	return out
}

// ask asks for all levers of one kernel.
func (r *run) ask(ctx context.Context, c *tuner.Compiler, q question) []Row {
	levers := usual
	if r.levers != "" {
		levers = strings.Split(r.levers, ",")
	}
	var out []Row
	for _, lever := range levers {
		list := q.recipes(lever)
		if len(list) == 0 || ctx.Err() != nil {
			continue
		}
		row := Row{Program: r.program, File: r.relative(q.source.File), Kernel: q.kernel.Short,
			Name:   q.built.Name,
			Source: q.kernel.Source, Instructions: q.instructions, Loops: q.loops,
			Registers: q.kernel.Default.Registers, Stack: q.kernel.Default.Stack, Lever: lever}
		for _, text := range list {
			row.Asked = append(row.Asked, text)
			if err := r.rehearse(ctx, c, q, text); err != nil {
				row.Refused = append(row.Refused, reason(text, errors.New(r.relative(err.Error()))))
				continue
			}
			if row.Accepted == "" {
				row.Accepted = text
			}
			if lever != "maxnreg" { // of caps each is a question of its own
				break
			}
		}
		out = append(out, row)
	}
	return out
}

// relative writes paths in a text from where the compiler runs.
func (r *run) relative(text string) string {
	dir, err := filepath.Abs(r.dir)
	if err != nil {
		return text
	}
	return strings.ReplaceAll(text, dir+"/", "")
}

// rehearse says what speaks against a recipe, as gnvcc pin -n does.
func (r *run) rehearse(ctx context.Context, c *tuner.Compiler, q question, text string) error {
	parsed, err := recipe.Parse(text)
	if err == nil && q.source.Code != nil {
		parsed, err = q.source.Code.Resolve(parsed, q.source.Signature)
	}
	if err == nil {
		err = rewrite.Check(parsed)
	}
	if err == nil {
		err = lever.Pinnable(q.kernel, parsed)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	if _, err = c.Compiler.Rehearse(ctx, q.source, parsed); err != nil && ctx.Err() != nil {
		return errors.New("too slow")
	}
	return err
}
