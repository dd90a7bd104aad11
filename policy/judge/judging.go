package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/compile"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/policy/check"
	"gnvcc/policy/predicted"
	"gnvcc/policy/selection"
	"gnvcc/policy/stats"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
	"gnvcc/sim/cubin"
	"gnvcc/sim/predict"
)

// Judging edits, for gnvcc judge: the recorded command compiles the edited file in a scratch
// folder, and package judge runs what came out and the originals.

// Options are what a Judging is made of.
type Options struct {
	Store   *cache.Store
	Emulate bool // no GPU is used
	GPU     tuner.GPU
	Within  Within
	Stays   bool // more edits follow: the process of the next replay is started early
	// gives the agent and the replayer; nil: they are built
	Tools func() (agent, replayer string, err error)
}

// A Judging judges one edit after the other. What it knows of originals it keeps.
type Judging struct {
	o        Options
	captures *capture.Store
	compiler *tuner.Compiler
	builds   *apply.Builds
	commands []apply.Built
	benches  map[string]*original
	standby  *replay.Standby
	edits    *cache.Store // what edits give
	tried    int          // edits in that
	agent    string
	replayer string
}

// An original is a kernel as it was built, made ready once.
type original struct {
	source *compile.Source
	code   Code
	facts  cubin.Kernel
	bench  *Bench
	types  []string
	names  []string            // of its parameters in the source
	list   []*capture.Manifest // captured launches of it, on a GPU
}

// NewJudging makes one; Close ends its processes and removes its scratch folder.
func NewJudging(ctx context.Context, o Options) (*Judging, error) {
	j := &Judging{o: o, benches: map[string]*original{}}
	var err error
	if err = o.Store.PublishSpooled(ctx); err != nil {
		return nil, err
	}
	if j.captures, err = tuner.Captures(o.Store); err != nil {
		return nil, err
	}
	if !o.Emulate {
		if o.Tools == nil {
			o.Tools = func() (string, string, error) { return tuner.Tools(ctx, o.Store) }
		}
		if j.agent, j.replayer, err = o.Tools(); err != nil {
			return nil, err
		}
	}
	if j.compiler, err = tuner.NewCompiler(o.Store); err != nil {
		return nil, err
	}
	j.builds = apply.ReadBuilds(o.Store)
	j.commands = j.builds.Commands(nil)
	return j, nil
}

// Close ends what waits.
func (j *Judging) Close() {
	j.standby.Close()
	j.compiler.Close()
}

// mostTried is how many edits one store takes: its size is what bounds it, half a MB for each.
const mostTried = 200

// scratch is a store for what an edit gives: the user's says how the user's was made, and one PTX
// may come from both. It knows the toolkit from the edit before.
func (j *Judging) scratch() (*cache.Store, error) {
	if j.tried++; j.edits != nil && j.tried <= mostTried {
		return j.edits, nil
	}
	if j.edits != nil {
		os.RemoveAll(j.edits.Path())
	}
	folder, err := os.MkdirTemp(j.compiler.Folder(), "edit-")
	if err != nil {
		return nil, err
	}
	j.tried = 1
	j.edits, err = cache.Open(folder)
	return j.edits, err
}

// prepare starts the process of the next replay. It outlives the judgement that begins it: the next
// edit comes when it comes.
func (j *Judging) prepare(ctx context.Context, next *capture.Manifest) {
	if j.standby == nil && ctx.Err() == nil {
		j.standby = tuner.ThisGPU(j.o.GPU).Prepare(context.WithoutCancel(ctx), replay.Options{
			Program: j.replayer, Agent: j.agent, Scratch: j.compiler.Folder(), Limit: longestRun},
			next.UUID)
	}
}

// Judge compiles a file and judges its kernels; of names the recorded file that it is an edit of,
// "" where its own name says that. An error: it can't be judged.
func (j *Judging) Judge(ctx context.Context, file, of, kernel string) (*Judgement, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	command, err := j.command(file, of)
	if err != nil {
		return nil, err
	}
	of = command.source
	begun := time.Now()
	store, err := j.scratch()
	if err != nil {
		return nil, err
	}
	how := apply.Otherwise{Store: store, Input: of, Other: file, Cubin: oneCubin(command.Built)}
	trial, err := apply.TryOtherwise(ctx, j.o.Store, command.Hash, how)
	if how.Cubin && (err != nil && !wrongItself(err) || err == nil && len(trial.Units) == 0) &&
		ctx.Err() == nil {
		how.Cubin = false
		trial, err = apply.TryOtherwise(ctx, j.o.Store, command.Hash, how)
	}
	if err != nil {
		return nil, err
	}
	out := &Judgement{File: file, Of: of, Equal: true, Compiled: time.Since(begun).Seconds()}
	begun = time.Now()
	pairs, err := j.pairs(command.Built, trial, of, file, kernel)
	if err != nil {
		return nil, err
	}
	slower := false
	for _, p := range pairs {
		var code []byte
		if code, err = store.Object(p.now.Cubin); err != nil {
			return nil, err
		}
		k, err := j.kernel(ctx, p, code)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", policy.ShortName(p.name), err)
		}
		out.Kernels = append(out.Kernels, *k)
		out.Equal = out.Equal && k.Equal
		out.Faster, slower = out.Faster || k.Faster, slower || k.Slower
	}
	if len(pairs) == 0 {
		out.Notes = append(out.Notes, "no kernel differs from the original: their PTX is the same")
	}
	out.Faster = out.Faster && !slower && out.Equal
	out.Ran = time.Since(begun).Seconds()
	return out, nil
}

// wrongItself reports an error that is the source's, in the words of cicc or of the host's
// preprocessor: the whole compile has it, too.
func wrongItself(err error) bool {
	return errors.Is(err, apply.ErrSource) && (strings.Contains(err.Error(), "): error: ") ||
		strings.Contains(err.Error(), ": fatal error: "))
}

// A recorded is a command that compiles a source, and when it last did.
type recorded struct {
	apply.Built
	source string
	when   time.Time
}

// compiling lists the commands that compile a source, the latest first.
func (j *Judging) compiling(is func(source string) bool) (out []recorded) {
	for _, c := range j.commands {
		r := recorded{Built: c}
		for _, u := range c.Units {
			if u.Source != "" && is(u.Source) {
				r.source = u.Source
			}
			if u.Time.After(r.when) {
				r.when = u.Time
			}
		}
		if r.source != "" {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(x, y recorded) int { return y.when.Compare(x.when) })
	return out
}

// command finds the recorded command that compiles a file.
func (j *Judging) command(file, of string) (recorded, error) {
	found := j.compiling(func(s string) bool { return apply.Same(s, cmp.Or(of, file)) })
	if len(found) == 0 && of == "" {
		found = j.compiling(func(s string) bool { return filepath.Base(s) == filepath.Base(file) })
	}
	switch {
	case len(found) == 0 && of != "":
		return recorded{}, fmt.Errorf("no build of %s is known: build it with gnvcc", of)
	case len(found) == 0:
		return recorded{}, fmt.Errorf("no build of %s is known: build it with gnvcc, or say --of SOURCE", file)
	case len(found) > 1 && found[0].when.IsZero():
		return recorded{}, fmt.Errorf("%d commands build %s", len(found), found[0].source)
	}
	return found[0], nil
}

// oneCubin reports whether a command compiles one file for one target, so that its cubin is all.
func oneCubin(c apply.Built) bool {
	return len(c.Units) == 1 && !c.Units[0].Reloc && filepath.Ext(c.Output) == ".o"
}

// A pair is a kernel as it was built, and edited.
type pair struct {
	name     string
	own, now record.Unit
	build    cache.Kernel // of the edit
}

// pairs are the kernels to be judged.
func (j *Judging) pairs(c apply.Built, trial *apply.Trial, of, file,
	kernel string) ([]pair, error) {
	var all []pair
	var gone []string
	for _, u := range c.Units {
		if u.Source != of {
			continue
		}
		for _, k := range u.Kernels {
			at, found := edited(trial, k.Name, u.Target)
			if !found {
				gone = append(gone, policy.ShortName(k.Name))
				continue
			}
			p := pair{name: k.Name, own: u, now: at}
			for _, e := range at.Kernels {
				if e.Name == k.Name {
					p.build = e
				}
			}
			if kernel != "" || p.build.Identity != k.Identity {
				all = append(all, p)
			}
		}
	}
	if len(gone) > 0 && kernel == "" {
		return nil, fmt.Errorf("%s has no %s any more: another name, or other parameters",
			filepath.Base(file), strings.Join(gone, ", "))
	}
	return selection.Of(kernel, all, func(p pair) selection.Kernel {
		return selection.Kernel{Name: p.name, Identity: p.build.Identity, File: of, Target: p.own.Target}
	})
}

func edited(trial *apply.Trial, kernel, target string) (record.Unit, bool) {
	for _, u := range trial.Units {
		if u.Target == target && slices.ContainsFunc(u.Kernels, func(k cache.Kernel) bool {
			return k.Name == kernel
		}) {
			return u, true
		}
	}
	return record.Unit{}, false
}

// original makes a kernel ready.
func (j *Judging) original(ctx context.Context, p pair) (*original, error) {
	key := p.own.Cubin + " " + p.name
	if o := j.benches[key]; o != nil {
		return o, nil
	}
	s, err := j.compiler.Compiler.Kernel(p.own.Cubin, p.name)
	if err != nil {
		return nil, err
	}
	made, err := j.compiler.Compiler.Compile(ctx, s, recipe.Recipe{})
	if err != nil {
		return nil, fmt.Errorf("the original: %w", err)
	}
	o := &original{source: s, code: Code{Kernel: p.name}}
	if o.code.Cubin, err = os.ReadFile(made.Path); err != nil {
		return nil, err
	}
	if o.facts, err = o.code.Facts(); err != nil {
		return nil, err
	}
	if s.Code != nil {
		for _, q := range s.Code.Params {
			is := q.Type
			if size, _ := element(is); size == 0 { // a name of the user's for a type
				is = s.Code.PointsTo(q)
			}
			o.types, o.names = append(o.types, is), append(o.names, q.Name)
		}
	}
	list, _ := j.captures.List()
	for _, m := range list {
		if m.Kernel != p.name || !slices.ContainsFunc(j.builds.Of(m.Cubin, m.Kernel),
			func(at apply.Place) bool { return at.Identity == s.Identity }) {
			continue
		}
		o.list = append(o.list, m)
	}
	if j.o.Emulate {
		err = j.ready(ctx, o, s)
	}
	if err != nil {
		return nil, err
	}
	j.benches[key] = o
	return o, nil
}

// ready does launches with the original in the emulator.
func (j *Judging) ready(ctx context.Context, o *original, s *compile.Source) (err error) {
	sig := Signature{PTX: s.Signature, Types: o.types}
	if s.Code != nil {
		if sig.Values, err = s.Code.Values(s.Signature); err != nil {
			sig.Values = nil
		}
	}
	if o.bench, err = NewBench(ctx, o.code, sig, UsualShape()); err != nil {
		return err
	}
	for _, m := range o.list {
		if err := o.bench.Captured(ctx, j.captures, m, o.types); err != nil {
			return err
		}
	}
	return nil
}

// kernel judges one.
func (j *Judging) kernel(ctx context.Context, p pair, cubin []byte) (*JudgedKernel, error) {
	if p.now.Reloc {
		return nil, errors.New("its module is made by a device link (-rdc=true), and an edit of one file is none")
	}
	o, err := j.original(ctx, p)
	if err != nil {
		return nil, err
	}
	code := Code{Cubin: cubin, Kernel: p.name}
	k := &JudgedKernel{Kernel: p.name, Short: policy.ShortName(p.name), Emulated: j.o.Emulate,
		Original: o.source.Default, Edit: cache.Build{Registers: p.build.Registers, Spill: p.build.Spill,
			Stack: p.build.Stack, Shared: p.build.Shared, Barriers: p.build.Barriers}}
	why, err := Fits(o.facts, code)
	switch {
	case err != nil:
		return nil, err
	case why != "":
		k.Verdict = Verdict{How: Refused, Why: why}
		return k, nil
	}
	if k.SameCode = o.code.Same(code); k.SameCode {
		k.Verdict = Verdict{How: Same, Equal: true}
		return k, nil
	}
	if j.o.Emulate {
		k.Verdict, err = o.bench.Judge(ctx, code, j.o.Within)
		if err == nil && k.Equal {
			j.predict(k, o, code)
		}
	} else {
		err = j.replay(ctx, k, o, code)
	}
	if err != nil {
		return nil, err
	}
	k.Why = o.named(k.Why)
	k.note()
	return k, nil
}

var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`#[0-9]+`) })

// named has parameters by their names in the source, where they have some, in place of numbers.
func (o *original) named(text string) string {
	return numbered().ReplaceAllStringFunc(text, func(number string) string {
		n, err := strconv.Atoi(number[1:])
		if err != nil || n >= len(o.names) || o.names[n] == "" {
			return number
		}
		return o.names[n]
	})
}

// predict compares machine code: that is no measurement.
func (j *Judging) predict(k *JudgedKernel, o *original, code Code) {
	device, rates, err := predicted.Rates(90)
	if err != nil {
		return
	}
	shape := UsualShape()
	if len(o.list) > 0 {
		shape.Grid, shape.Block, shape.Dynamic = o.list[0].Grid, o.list[0].Block, o.list[0].Dynamic
	}
	cycles := func(c Code) float64 {
		run, err := predict.NewRun(c.Cubin, c.Kernel, device, sim.Shape{
			Threads: shape.Block[0] * shape.Block[1] * shape.Block[2],
			Blocks:  shape.Grid[0] * shape.Grid[1] * shape.Grid[2], Shared: shape.Dynamic}, rates)
		if err != nil {
			return 0
		}
		e, err := run.Estimate()
		if err != nil {
			return 0
		}
		return e.Cycles
	}
	was, now := cycles(o.code), cycles(code)
	if was <= 0 || now <= 0 {
		return
	}
	k.Ratio, k.Predicted = now/was, true
	k.Faster, k.Slower = k.Ratio < 1-predict.Resolution, k.Ratio > 1+predict.Resolution
}

// replay runs an edit on the captured launches, on a GPU.
func (j *Judging) replay(ctx context.Context, k *JudgedKernel, o *original, code Code) error {
	if len(o.list) == 0 {
		return errors.New("no launch of the original is captured (gnvcc tune -- ./app captures some; --emulate makes some up)")
	}
	f, err := cubin.Read(code.Cubin)
	if err != nil {
		return err
	}
	own, err := cubin.Read(o.code.Cubin)
	if err != nil {
		return err
	}
	path := filepath.Join(j.compiler.Folder(), "edit.cubin")
	if err := os.WriteFile(path, code.Cubin, 0o600); err != nil {
		return err
	}
	var best *policy.Compared
	better, unchanged := false, true
	read, written, whole := rewrite.Touched(o.source.Entry)
	if !whole {
		written = nil
	}
	for n, m := range o.list {
		r := &Replayed{Path: path, Kernel: k.Kernel, Within: j.o.Within, Timed: n == 0}
		over := m.Overwritten(read, written)
		_, due := check.Draws(m.Grid[0] * m.Grid[1] * m.Grid[2] * m.Block[0] * m.Block[1] * m.Block[2])
		for v := 1; v <= check.Kinds*due; v++ {
			if m.Changed(v) || v == 1 && over.Fills() {
				r.Variations = append(r.Variations, v)
			}
		}
		for _, g := range f.Globals {
			if !slices.ContainsFunc(own.Globals, func(x cubin.Global) bool { return x.Name == g.Name }) &&
				strings.HasPrefix(g.Section, ".nv.global") {
				r.Variables = append(r.Variables, g)
			}
		}
		r.Numbers = numbersOf(m)
		u, err := replay.Unpack(j.captures, over, j.compiler.Folder())
		if err != nil {
			return err
		}
		options := replay.Options{Program: j.replayer, Agent: j.agent, Scratch: j.compiler.Folder(),
			Standby: j.standby, Limit: longestRun}
		if more := n+1 < len(o.list); (more || j.o.Stays) && tuner.Roomy(m) {
			options.Running = func() { j.prepare(ctx, o.list[(n+1)%len(o.list)]) }
		}
		j.standby = nil
		err = r.Replay(func(v replay.Visit) (replay.Outcome, error) {
			return tuner.ThisGPU(j.o.GPU).Replay(ctx, options, u, v)
		})
		u.Close()
		if err != nil && !r.Done {
			return err
		}
		if !r.Done {
			return errors.New("the captured launch was not repeated: its process ended")
		}
		launches := k.Launches + r.Launches
		k.Verdict = r.Verdict
		k.Launches = launches
		if !r.Equal {
			break
		}
		if r.Timed {
			best, better = r.Speed, r.Better
		}
		unchanged = unchanged && !r.Changes
	}
	if k.Equal && unchanged {
		return errors.New("the original leaves memory as it finds it in all captured launches: they don't show whether an edit does anything")
	}
	if k.Equal && best != nil && best.Ratio.N > 0 {
		k.Ratio, k.Low, k.High = best.Ratio.Estimate, best.Ratio.Low, best.Ratio.High
		k.Faster, k.Slower = better, stats.Standard.Harmful(best.Ratio)
	}
	if j.o.Stays {
		j.prepare(ctx, o.list[0])
	}
	return nil
}

// longestRun is how long one launch of an edit may take before its process is ended.
const longestRun = 10 * time.Second

// numbersOf is what all ranges of a launch hold, where they hold the same.
func numbersOf(m *capture.Manifest) string {
	for _, r := range m.Ranges {
		if r.Numbers != m.Ranges[0].Numbers || r.Numbers == "zero" {
			return ""
		}
	}
	if len(m.Ranges) == 0 {
		return ""
	}
	return m.Ranges[0].Numbers
}
