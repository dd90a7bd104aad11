package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"gnvcc/bench/command"
	"gnvcc/cache"
	"gnvcc/driver"
	"gnvcc/driver/stage"
	"gnvcc/policy/judge"
	"gnvcc/policy/retune"
)

func main() {
	become()
	command.Main("judge", run)
}

// become makes this program gnvcc where it is called by that name, or by nvcc as a stage.
func become() {
	if step, words, ok := stage.Of(os.Args[1:]); ok {
		os.Exit(stage.Run(step, words))
	}
	if filepath.Base(os.Args[0]) == "gnvcc" {
		os.Exit(driver.Face(os.Args[1:]))
	}
}

// A result is one edit's.
type result struct {
	Kernel, Rule, Edit string
	Harmless           bool
	Outcome            string // equal, not equal; or why it does not count
	How, Why, Where    string
	OtherCode          bool // its machine code is not the original's
	Wrong              bool // the verdict is
	Compiled, Ran      float64
}

// A benchmark is what is asked for, and what came of it so far.
type benchmark struct {
	nvcc, work, examples string
	gnvcc                string // whose tune captures launches on a GPU; empty: the emulator judges
	emulate              string // with rate: the gnvcc that judges without a GPU
	rate                 int    // judgements by one judge --serve
	only                 string
	wrong, harmless      int
	random               *rand.Rand
	say                  func(result)
	judged               map[bool]int // by harmless
	other                int          // harmless ones with other machine code
	bad                  int
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("judge", flag.ContinueOnError)
	b := &benchmark{judged: map[bool]int{}}
	set.IntVar(&b.wrong, "wrong", 200, "wrong edits")
	set.IntVar(&b.harmless, "harmless", 50, "harmless edits")
	seed := set.Int64("seed", 1, "which edits")
	set.StringVar(&b.only, "kernel", "", "only kernels whose names hold this")
	set.StringVar(&b.examples, "examples", "examples", "folder of the examples")
	out := set.String("out", "", "file of raw results")
	set.StringVar(&b.gnvcc, "gpu", "", "judge on a GPU, on launches that this gnvcc captures")
	set.IntVar(&b.rate, "rate", 0, "measure so many judgements by one judge --serve")
	set.StringVar(&b.emulate, "emulate", "", "with -rate: the gnvcc that judges, without a GPU")
	set.StringVar(&b.nvcc, "nvcc", cmp.Or(os.Getenv("GNVCC_NVCC"), "nvcc"), "the real nvcc")
	if err := set.Parse(args); err != nil {
		return err
	}
	programs := []*string{&b.nvcc}
	for _, p := range []*string{&b.gnvcc, &b.emulate} {
		if *p != "" {
			programs = append(programs, p)
		}
	}
	if err := command.Programs(programs...); err != nil {
		return err
	}
	b.random = rand.New(rand.NewSource(*seed))
	file := os.Stdout
	if *out != "" {
		f, err := os.Create(*out)
		if err != nil {
			return err
		}
		defer f.Close()
		file = f
	}
	b.say = func(r result) {
		line, _ := json.Marshal(r)
		fmt.Fprintf(file, "%s\n", line)
		if r.Wrong {
			fmt.Fprintf(os.Stderr, "WRONG: %s: %s, %s: %s\n", r.Kernel, r.Rule, r.Edit, r.Outcome)
		}
	}
	var err error
	if b.work, err = os.MkdirTemp("", "gnvcc-judge-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	if b.rate > 0 {
		return b.measure(ctx, file)
	}
	if err := b.all(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d wrong edits, %d harmless (%d with other machine code); %d verdicts wrong\n",
		b.judged[false], b.judged[true], b.other, b.bad)
	if b.bad > 0 {
		return fmt.Errorf("%d verdicts are wrong", b.bad)
	}
	return nil
}

// A bench is a kernel that was built, with the edits that are left of it.
type bench struct {
	kernel
	judging *retune.Judging
	source  string
	store   string
	edits   map[bool][]edit // harmless, and wrong ones
}

// all takes one edit of each kernel in turn, until there are enough.
func (b *benchmark) all(ctx context.Context) error {
	var list []*bench
	for _, k := range kernels {
		if !strings.Contains(k.file+" "+k.name, b.only) {
			continue
		}
		x, err := b.bench(ctx, k)
		if err == nil {
			err = b.judging(ctx, x)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		defer x.judging.Close()
		list = append(list, x)
	}
	for _, harmless := range []bool{true, false} {
		want := b.wrong
		if harmless {
			want = b.harmless
		}
		for left := true; left && b.judged[harmless] < want; {
			left = false
			for _, x := range list {
				if len(x.edits[harmless]) == 0 || b.judged[harmless] >= want {
					continue
				}
				left = true
				e := x.edits[harmless][0]
				x.edits[harmless] = x.edits[harmless][1:]
				if err := b.one(ctx, x, e, harmless); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// bench builds a kernel's file with gnvcc, and lists its edits.
func (b *benchmark) bench(ctx context.Context, k kernel) (*bench, error) {
	dir := filepath.Join(b.work, k.file+"-"+k.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Join(b.examples, k.file))
	if err != nil {
		return nil, err
	}
	x := &bench{kernel: k, source: filepath.Join(folder, k.file+".cu"), edits: map[bool][]edit{}}
	text, err := os.ReadFile(x.source)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	place := filepath.Join(dir, "store")
	gnvcc := func(words ...string) error {
		cmd := exec.CommandContext(ctx, cmp.Or(b.gnvcc, self), words...)
		cmd.Args[0], cmd.Dir = "gnvcc", dir
		cmd.Env = append(os.Environ(), "GNVCC_STORE="+place, "GNVCC_NVCC="+b.nvcc)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("gnvcc %s: %w\n%s", words[0], err, out)
		}
		return nil
	}
	if err := gnvcc("-arch=sm_90", "-w", "-std=c++17",
		"-I"+filepath.Join(filepath.Dir(folder), "common"), "-c", "-o", "k.o", x.source); err != nil {
		return nil, err
	}
	if b.gnvcc != "" { // a search of a second: what counts is what is captured
		if err := errors.Join(gnvcc("-arch=sm_90", "-o", "k", "k.o"),
			gnvcc("tune", "--budget", "1s", "--", "./k")); err != nil {
			return nil, err
		}
	}
	x.store = place
	if x.edits[false], err = edits(string(text), k.name, wrongRules); err != nil {
		return nil, err
	}
	if x.edits[true], err = edits(string(text), k.name, harmlessRules); err != nil {
		return nil, err
	}
	more, err := renames(string(text), k.name)
	x.edits[true] = append(x.edits[true], more...)
	for _, harmless := range []bool{false, true} { // in this order, so that the seed tells which
		list := x.edits[harmless]
		b.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	sort.SliceStable(x.edits[true], func(i, j int) bool { // what gives other code comes first
		return strings.HasPrefix(x.edits[true][i].what, "unroll") &&
			!strings.HasPrefix(x.edits[true][j].what, "unroll")
	})
	return x, err
}

// judging makes the judge of a kernel's edits.
func (b *benchmark) judging(ctx context.Context, x *bench) error {
	store, err := cache.Open(x.store)
	if err != nil {
		return err
	}
	shape := judge.UsualShape()
	k := x.kernel
	if k.grid[0] > 0 {
		shape.Grid, shape.Turns = k.grid, false
	}
	if k.block[0] > 0 {
		shape.Block = k.block
	}
	shape.Dynamic, shape.Bytes = k.dynamic, max(k.bufferSize, shape.Bytes)
	x.judging, err = retune.NewJudging(ctx, retune.JudgeOptions{Store: store, Emulate: b.gnvcc == "",
		Stays: true, Set: k.set, Shape: shape})
	return err
}

// one judges an edit.
func (b *benchmark) one(ctx context.Context, x *bench, e edit, harmless bool) error {
	r := result{Kernel: x.file + "/" + x.name, Rule: e.what, Edit: e.line, Harmless: harmless}
	defer func() { b.say(r) }()
	if !harmless && isEquivalent(r.Kernel, e) {
		r.Outcome = "left out: equivalent, as read by hand"
		return nil
	}
	file := filepath.Join(b.work, x.file+"-"+x.name, x.file+".cu")
	if err := os.WriteFile(file, []byte(e.text), 0o600); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	got, err := x.judging.Judge(limited, file, x.source, "")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.Outcome = "left out: " + strings.SplitN(err.Error(), "\n", 2)[0]
		if !strings.Contains(err.Error(), "does not compile") {
			r.Wrong = true
			b.bad++
		}
		return nil
	}
	r.Compiled, r.Ran, r.Outcome = got.Compiled, got.Ran, "equal"
	for _, k := range got.Kernels {
		r.OtherCode = r.OtherCode || !k.SameCode
		r.How, r.Why, r.Where = k.How, k.Why, k.Where
	}
	if !got.Equal {
		r.Outcome = "not equal"
	}
	if !harmless && !r.OtherCode {
		r.Outcome = "left out: the machine code is the original's"
		return nil
	}
	b.judged[harmless]++
	if harmless && r.OtherCode {
		b.other++
	}
	if got.Equal != harmless {
		r.Wrong = true
		b.bad++
	}
	return nil
}
