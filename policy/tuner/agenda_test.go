package tuner

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/policy/report"
	"gnvcc/policy/search"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/profile/capture/capturetest"
	"gnvcc/profile/profiletest"
	"gnvcc/profile/replay"
	"gnvcc/rewrite"
	"gnvcc/rewrite/counters"
	src "gnvcc/rewrite/lowered"
	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/recipe"
)

// A SIMULATED program, compiler and GPU, in simulated time: what a run's budget is spent on. What a
// kernel takes, what a replay takes beside its search, and what levers are worth to it, is given;
// nothing else of it is real.

// A simulated kernel: one configuration of it.
type simulated struct {
	name    string
	shape   policy.Shape
	seconds float64 // in the program
	launch  float64 // of these, one launch
	begin   float64 // seconds until a replay's search begins, and after it
	check   float64 // of a candidate
	vary    float64 // seconds that a winner's checks on varied data take
	alone   map[string]float64
	won     []string // the levers of the best recipe, which takes best
	best    float64
	family  float64 // Use.Family
	late    bool    // the build that counts comes late
	crashes string  // the lever whose candidates do
	work    []work  // how its launches differ; nil: they don't
	gb      float64 // of its captures
	numbers bool    // it has an argument that can be varied
}

// A simulation is a program of such kernels; it is their compiler and GPU.
type simulation struct {
	t       *testing.T
	kernels []simulated
	unnamed bool    // launches do not say of which capture they are: what won was compared on none
	first   float64 // seconds that the first capture's file takes
	ptxas   time.Duration
	cicc    time.Duration
}

func (s *simulation) of(name string, grid int) *simulated {
	i := slices.IndexFunc(s.kernels, func(k simulated) bool {
		return k.name == name && (k.shape.Grid[0] == grid || grid == 0)
	})
	return &s.kernels[i]
}

func (s *simulation) Kernel(cubin, name string) (*policy.Kernel, error) {
	k := policy.Kernel{Name: name, Short: name, Identity: "identity of " + name, Target: "sm_90",
		CC: 90, Ptxas: "13.0.88", Default: cache.Build{Registers: 32}, MaxThreads: 1024}
	has := s.of(name, 0).alone
	if has["hint@ld"] > 0 {
		k.Loads, k.Stores = 4, 4
		lever.Ordered.Put(&k, 2)
	}
	if has["early"] > 0 {
		lever.Early.Put(&k, lever.EarlyLoads{Loads: 2, Turns: true})
	}
	if s.of(name, 0).numbers {
		k.Scalars = map[rewrite.Pointer]rewrite.Numbers{{Index: 1}: rewrite.Floats}
	}
	lever.Shapeable.Put(&k, lever.Sight{Shapeable: has["shape"] > 0})
	lever.Coarsenable.Put(&k, lever.Coarsens{Axes: [3]bool{has["coarsen"] > 0}})
	if has["unroll"] > 0 {
		k.Loops = []src.Loop{{Site: "1", Kind: "for", Line: 12}, {Site: "2", Kind: "for", Line: 17,
			Inner: true}}
		k.Values = []src.Value{{Name: "n", Type: "int", Argument: 1, Bits: 32,
			Class: src.Integer}}
	}
	return &k, nil
}

func (s *simulation) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error) {
	takes := s.ptxas
	if lever.HasStage(r, rewrite.Source) {
		takes = s.cicc
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c := &policy.Candidate{Path: k.Name + "|" + r.String(), Build: k.Default, MaxThreads: 1024,
		Manner: rewrite.MannerOf(r)}
	if c.Code = c.Path; r.HasSecond() {
		c.Entry = k.Name + "__tuned"
	}
	return c, nil
}

func (s *simulation) Counting(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, counters.Counters, error) {
	if s.of(k.Name, 0).late {
		<-ctx.Done()
	}
	return nil, nil, errors.New("it is not counted")
}

func (s *simulation) Spent(string) (int, time.Duration) { return 0, 0 }

// takes is the part of the default's time that a recipe takes: each value of a lever what is said
// of the lever; together what they take one by one, and what won what that took.
func (k *simulated) takes(r recipe.Recipe) float64 {
	if r.IsDefault() {
		return 1
	}
	has := func(name string) bool { return lever.Has(r, name) }
	if len(k.won) > 0 && !slices.ContainsFunc(k.won, func(l string) bool { return !has(l) }) {
		return k.best
	}
	f := 1.0
	for name, part := range k.alone {
		carrier := name == recipe.Second && lever.Of(r) != recipe.Second // of a shape, say
		if part > 0 && has(name) && !carrier {
			f *= part
		}
	}
	return max(f, cmp.Or(k.best, 1))
}

func (s *simulation) Prepare(context.Context, replay.Options, string) *replay.Standby { return nil }

// Replay is replay.Run.
func (s *simulation) Replay(ctx context.Context, _ replay.Options, u *replay.Unpacked,
	visit replay.Visit) (replay.Outcome, error) {
	m := u.Manifest()
	k := s.of(m.Kernel, m.Grid[0]).at(m.Took)
	if waitOr(ctx, k.begin+s.first) {
		return replay.Outcome{Reason: "killed"}, replay.ErrRefused
	}
	s.first = 0
	l := s.launch(m.Kernel, m.Cubin, m.Grid, m.Block)
	m.Use.Apply(l)
	if l.Part = m.Part; !s.unnamed {
		l.Capture = m.ID
	}
	on := s.session(k)
	vary := visit.Search == nil || visit.Search(ctx, l, on)
	if on.Lost != nil {
		return replay.Outcome{Same: true, Reason: "a crash"}, nil
	}
	if vary {
		if waitOr(ctx, k.vary) {
			return replay.Outcome{Same: true, Reason: "killed"}, nil
		}
		for _, v := range visit.Variations {
			visit.Vary(ctx, v, l, on)
		}
	}
	return replay.Outcome{Same: true, Whole: true, Varied: visit.Variations}, nil
}

func (s *simulation) launch(kernel, cubin string, grid, block [3]int) *profile.Launch {
	same := func(n int) []byte { return []byte(strings.Repeat("\x01", n)) }
	return &profile.Launch{Process: &profile.Process{PID: 1}, Kernel: kernel, Cubin: cubin,
		Shape: profile.Shape{Grid: grid, Block: block}, Count: 20,
		Attributes: profile.Attributes{Registers: 32, MaxThreads: 1024},
		Device:     &profile.Device{Name: "Simulated H200", Major: 9, Multiprocessors: 132},
		Params: []profile.Param{{Size: 8, Value: make([]byte, 8), Same: same(8), Align: 8},
			{Offset: 8, Size: 4, Value: []byte{7, 0, 0, 0}, Same: same(4)}}}
}

// waitOr waits; true: it was ended.
func waitOr(ctx context.Context, seconds float64) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(time.Duration(seconds * float64(time.Second))):
		return false
	}
}

func wait(seconds float64) { time.Sleep(time.Duration(seconds * float64(time.Second))) }

// session is one with a kernel.
func (s *simulation) session(k *simulated) *profiletest.Session {
	var arms []recipe.Recipe
	arm := func(c profile.Candidate) (r recipe.Recipe) {
		if c != profile.Original {
			r = arms[c-1]
		}
		return r
	}
	i := 0
	x := &profiletest.Session{Wrote: profile.Written{Allocations: 1}}
	x.Loads = func(path, _ string, _ manner.Manner) (profile.Attributes, error) {
		_, text, _ := strings.Cut(path, "|")
		r, err := recipe.Parse(text)
		arms = append(arms, r)
		return profile.Attributes{Registers: 32, MaxThreads: 1024}, err
	}
	x.Runs = func(c profile.Candidate, n int, _ profile.Measurement) {
		synctest.Wait()
		wait(float64(n) * (k.launch*k.takes(arm(c)) + 50e-6))
		i = 0
	}
	x.Time = func(c profile.Candidate, _ profile.Measurement) float64 {
		i++
		return 1e9 * k.launch * k.takes(arm(c)) * (1 + 0.0005*float64(((i-1)*7+int(c)*3)%11))
	}
	x.Leaves = func(c profile.Candidate, _ profile.Schedule) (profile.Difference, error) {
		wait(k.check)
		if k.crashes != "" && lever.Has(arm(c), k.crashes) {
			x.Lost = &profile.Fault{Candidate: c, Code: 700,
				Text: "an illegal memory access was encountered"}
		}
		return profile.Difference{Same: true}, x.Lost
	}
	return x
}

// An outcome is what a simulated run gave.
type simulatedRun struct {
	took    time.Duration
	speedup float64
	results map[string]decide.Result
	pieces  []policy.Piece
	said    []string
}

// tune lets a run search on all of the kernels.
func (s *simulation) tune(budget time.Duration, set func(*policy.Options)) (out simulatedRun) {
	s.t.Helper()
	dir := s.t.TempDir()
	store, err := capture.Open(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var kept []*capture.Manifest
	var more [][]*capture.Manifest
	for _, k := range s.kernels {
		m, err := capturetest.Keep(store, capturetest.Launch{Program: "app", Kernel: k.name,
			Cubin: []byte("a module"), Params: [][2]int{{0, 8}, {8, 4}}, Grid: k.shape.Grid[0],
			Block: k.shape.Block[0], Seconds: k.seconds, Made: time.Now()})
		if err != nil {
			s.t.Fatal(err)
		}
		kept = append(kept, m)
		more = append(more, k.captures(s.t, store, m))
	}
	if u, err := replay.Unpack(store, kept[0], dir); err == nil { // makes decoders outside the bubble
		u.Close()
	}
	synctest.Test(s.t, func(t *testing.T) {
		o := policy.Defaults()
		o.Jobs, o.Crashes, o.Full = 16, MostCrashes, mostFull
		if set != nil {
			set(&o)
		}
		begun := time.Now()
		own := search.NewRun(context.Background(), o, s, nil, nil, nil)
		w := &ReplaySearch{Captures: store, Run: own, Kernel: s.Kernel, Budget: budget, GPU: s,
			Scratch: dir, Limits: capture.Usual, Say: func(format string, args ...any) {
				out.said = append(out.said, fmt.Sprintf("%5.1f s: ", time.Since(begun).Seconds())+
					fmt.Sprintf(format, args...))
			}}
		var made Observed
		for i, k := range s.kernels {
			m := kept[i]
			m.Filled = int64(k.gb * 1e9)
			m.Use.Family, m.Use.Set, m.Use.Count = k.family, k.shape.Set, int(k.seconds/k.launch)
			l := s.launch(k.name, m.Cubin, m.Grid, m.Block)
			l.Count, l.Set = m.Use.Count, k.shape.Set
			seen := capture.Seen{Launch: l, Use: m.Use, Captures: []*capture.Manifest{m}}
			if len(k.work) > 0 {
				seen.Use = k.use(m.Use)
				seen.Captures = more[i]
			}
			for _, m := range seen.Captures {
				m.Use = seen.Use
			}
			if k.begin == 0 { // nobody captured it
				seen.Captures = nil
			}
			made.Seen = append(made.Seen, seen)
		}
		if _, err := w.searchSeen(&run{Request: Request{Signals: noSignals{context.Background()}}},
			made); err != nil {
			t.Fatal(err)
		}
		out.took = time.Since(begun)
		results, err := own.Finish()
		if err != nil {
			t.Fatal(err)
		}
		out.results = map[string]decide.Result{}
		for _, r := range results {
			out.results[r.Kernel.Name] = r
		}
		w.account.settle(results)
		out.pieces = w.account.pieces(results)
	})
	before, after := 0.0, 0.0
	for _, p := range out.pieces {
		before, after = before+p.Seconds, after+p.After
	}
	out.speedup = before / after
	return out
}

// A recordedLaunch is one of Tuned, or of Kernels, of a program in bench/results.
type recordedLaunch struct {
	Kernel, Name string
	Grid, Block  [3]int
	Before       float64 // ns
	Recipe       string
	Best         float64
	Levers       []struct {
		Name  string
		Tried int
		Alone float64
	}
}

// A recordedProgram is what bench/suite wrote of one.
type recordedProgram struct {
	Program        string
	Kernels, Tuned []recordedLaunch
	Observed       struct {
		Rows []struct {
			Kernel                        string
			Seconds, Replaying, Unpacking float64
			Spent                         map[string]float64
		}
	}
}

func readRecorded(t *testing.T, file, program string) (p recordedProgram) {
	t.Helper()
	f, err := os.Open("../../bench/results/2026-11-24-applications-2/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(z); p.Program != program; {
		p = recordedProgram{}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// recordedFT is a run of NPB FT on an H200, as a simulation: the weights, the seconds of replays
// and checks, and what levers took off, of bench/results; which counting builds were not there in
// time when it had 20 seconds. Two kernels and the sets that were not searched there gain nothing.
func recordedFT(t *testing.T) *simulation {
	t.Helper()
	program := readRecorded(t, "default.jsonl.gz", "npb-ft")
	late := map[string]bool{}
	for _, row := range readRecorded(t, "short.jsonl.gz", "npb-ft").Observed.Rows {
		late[row.Kernel] = late[row.Kernel] || row.Spent["search: counting"] > 1.9
	}
	// hints of loads and hints of stores were two levers
	group := func(lever string) string {
		if lever == "ld" || lever == "st" {
			return "hint@" + lever
		}
		return lever
	}
	s := &simulation{t: t, ptxas: 100 * time.Millisecond, cicc: 500 * time.Millisecond}
	for _, row := range program.Observed.Rows {
		i := slices.IndexFunc(program.Kernels, func(l recordedLaunch) bool {
			return l.Name == row.Kernel
		})
		k := simulated{name: row.Kernel, seconds: row.Seconds, alone: map[string]float64{"hint@ld": 1, "shape": 1},
			begin: 2, launch: program.Kernels[i].Before / 1e9, shape: policy.Shape{
				Grid: program.Kernels[i].Grid, Block: program.Kernels[i].Block}}
		k.check, k.vary, k.best, k.late = 1.5*k.launch, 1.2, 1, late[k.name]
		if slices.ContainsFunc(s.kernels, func(o simulated) bool { return o.name == k.name }) {
			k.shape.Set = "other values"
		}
		if row.Replaying > 0 {
			k.vary = row.Spent["vary"] + row.Spent["check"]
			k.begin = row.Replaying - row.Spent["search"] - k.vary
			if s.first == 0 {
				s.first = row.Unpacking
			}
			at := slices.IndexFunc(program.Tuned, func(l recordedLaunch) bool {
				return l.Kernel == row.Kernel
			})
			k.alone = map[string]float64{}
			n := 0
			for _, l := range program.Tuned[at].Levers {
				if n += l.Tried; l.Alone > 0 {
					k.alone[group(l.Name)] = l.Alone
				}
			}
			k.check = row.Spent["search: checking"] / float64(n)
			r, err := recipe.Parse(program.Tuned[at].Recipe)
			if err != nil {
				t.Fatal(err)
			}
			k.best = program.Tuned[at].Best
			for _, term := range r.Terms {
				k.won = append(k.won, group(term.Lever))
			}
		}
		s.kernels = append(s.kernels, k)
	}
	return s
}

// TestRecordedFT: of NPB FT's kernels the heaviest have nothing to gain. A budget that is too small
// for all is not spent on them: the ones behind them are found, which gain most. With one that is
// large enough no less is found than when the heaviest came first, in no more time.
func TestRecordedFT(t *testing.T) {
	for _, c := range []struct {
		budget time.Duration
		before float64 // where the heaviest came first
		least  float64
	}{{20 * time.Second, 1.000, 1.08}, {30 * time.Second, 1.041, 1.12},
		{40 * time.Second, 1.102, 1.16}, {time.Minute, 1.170, 1.1695},
		{10 * time.Minute, 1.170, 1.1695}} {
		s := recordedFT(t)
		got := s.tune(c.budget, nil)
		t.Logf("simulated: %v: %.3f times as fast, %.3f before; %.1f s", c.budget, got.speedup, c.before,
			got.took.Seconds())
		if !(got.speedup >= c.least) || got.took > min(c.budget, 86*time.Second)+3*time.Second {
			t.Errorf("%v: %.3f times as fast, want %.3f, in %v\n%s", c.budget, got.speedup, c.least,
				got.took, strings.Join(got.said, "\n"))
		}
	}
}

// front is a program like NPB LU: two kernels whose grids and blocks grow with a front that moves
// through an array and stay at 160 for a while; few sizes are captured. A third of their time is in
// the largest. What gains there may be slower on the smallest.
func front(t *testing.T, lever string, slower bool) *simulation {
	s := &simulation{t: t, ptxas: 10 * time.Millisecond, cicc: 100 * time.Millisecond}
	for _, name := range []string{"lower", "upper"} {
		for n := 160; n > 0; n-- {
			k := simulated{name: name, shape: policy.Shape{Grid: [3]int{n, 1, 1}, Block: [3]int{n, 1, 1}},
				seconds: 0.0055, family: 1.3, launch: 20e-6, check: 1e-3, vary: 0.2,
				alone: map[string]float64{"hint@ld": 1, lever: 0.8}, best: 0.8}
			if n == 160 {
				k.seconds = 0.43
			}
			if slower && n < 4 {
				k.alone, k.best = map[string]float64{"hint@ld": 1.05}, 1.05
			}
			if slices.Contains([]int{1, 2, 3, 6, 12, 24, 48, 96, 160}, n) {
				k.begin = 0.4
			}
			s.kernels = append(s.kernels, k)
		}
	}
	return s
}

// TestFront: what wins on the largest size is decided for all sizes between those on which it was
// checked, and for none where it was slower on one.
func TestFront(t *testing.T) {
	for _, slower := range []bool{false, true} {
		got := front(t, "hint@ld", slower).tune(20*time.Second, func(o *policy.Options) { o.Levers = []string{"hint"} })
		for _, name := range []string{"lower", "upper"} {
			if d := got.results[name].Decision; d == nil || (d.Recipe != "") == slower {
				t.Errorf("slower %v: %s has the recipe %q: %s", slower, name, d.Recipe, d.Evidence.Note)
			}
		}
		text := strings.Join(strings.Fields(report.Outcome{Parts: got.pieces}.String()), " ")
		if slower != (got.speedup < 1.2) || slower != strings.Contains(text, otherSizes) {
			t.Errorf("slower %v: %.3f times as fast: %s", slower, got.speedup, text)
		}
	}
}

// TestFrontGuarded: what wins on the largest size and is for blocks of that size alone is decided
// for these; of all others it is said that they were not measured.
func TestFrontGuarded(t *testing.T) {
	got := front(t, "throttle", false).tune(20*time.Second, func(o *policy.Options) {
		o.Levers = []string{"throttle"}
	})
	for _, name := range []string{"lower", "upper"} {
		if d := got.results[name].Decision; !strings.Contains(d.Recipe, "host(block)=160x1x1") {
			t.Errorf("%s has the recipe %q: %s", name, d.Recipe, d.Evidence.Note)
		}
	}
	text := strings.Join(strings.Fields(report.Outcome{Parts: got.pieces}.String()), " ")
	if want := 1 / (1 - 0.2*0.43/1.3045); got.speedup > want || got.speedup < 0.995*want ||
		!strings.Contains(text, otherSizes) {
		t.Errorf("%.3f times as fast: %s", got.speedup, text)
	}
}

// TestFrontAsItIs: where nothing is better on the largest size, one in the middle is searched on,
// too: of sizes between both it is said that they were looked at, and of no others.
func TestFrontAsItIs(t *testing.T) {
	s := front(t, "hint@ld", false)
	for i := range s.kernels {
		s.kernels[i].alone, s.kernels[i].best = map[string]float64{"hint@ld": 1}, 1
	}
	got := s.tune(20*time.Second, func(o *policy.Options) { o.Levers = []string{"hint"} })
	all, looked := 0.0, 0.0
	for _, p := range got.pieces {
		if all += p.Seconds; p.Why == "" {
			looked += p.Seconds
		}
	}
	text := strings.Join(strings.Fields(report.Outcome{Parts: got.pieces}.String()), " ")
	// between 12 and 160: the others are 11 of 159 sizes
	if want := 1 - 11*0.0055/1.3045; math.Abs(looked/all-want) > 1e-3 || got.speedup != 1 ||
		!strings.Contains(text, otherSizes) {
		t.Errorf("%.1f %% was searched, want %.1f: %s\n%s", 100*looked/all, 100*want, text,
			strings.Join(got.said, "\n"))
	}
	t.Logf("simulated: %s", text)
}

// TestFrontInside: what gains too little on the largest size and wins on one in the middle is
// compared on the largest one, too, and on the others: it is adopted.
func TestFrontInside(t *testing.T) {
	s := front(t, "hint@ld", false)
	for i := range s.kernels {
		if s.kernels[i].shape.Grid[0] == 160 {
			s.kernels[i].alone, s.kernels[i].best = map[string]float64{"hint@ld": 0.985}, 0.985
		}
	}
	got := s.tune(20*time.Second, func(o *policy.Options) { o.Levers = []string{"hint"} })
	for _, name := range []string{"lower", "upper"} {
		if d := got.results[name].Decision; d.Recipe == "" || d.Evidence.Rest == nil ||
			!(d.Evidence.Rest.After < 0.92*d.Evidence.Rest.Between) {
			t.Errorf("%s has the recipe %q: %s, %+v\n%s", name, d.Recipe, d.Evidence.Note, d.Evidence.Rest,
				strings.Join(got.said, "\n"))
		}
	}
}

// TestLost: a kernel whose search crashes is none that was looked at.
func TestLost(t *testing.T) {
	s := &simulation{t: t, ptxas: 10 * time.Millisecond, cicc: 100 * time.Millisecond}
	s.kernels = []simulated{
		{name: "crashes", shape: policy.Shape{Grid: [3]int{500, 1, 1}, Block: [3]int{256, 1, 1}}, seconds: 3,
			launch: 1e-4, begin: 0.4, alone: map[string]float64{"hint@ld": 0.9}, best: 0.9, crashes: "hint@ld"},
		{name: "fine", shape: policy.Shape{Grid: [3]int{600, 1, 1}, Block: [3]int{256, 1, 1}}, seconds: 1,
			launch: 1e-4, begin: 0.4, alone: map[string]float64{"hint@ld": 0.9}, best: 0.9}}
	got := s.tune(20*time.Second, func(o *policy.Options) {
		o.Levers, o.Crashes = []string{"hint"}, 0
	})
	if text := strings.Join(strings.Fields(report.Outcome{Parts: got.pieces}.String()), " "); got.results["crashes"].Lost == "" ||
		!strings.Contains(text, "25 % was searched") || !strings.Contains(text, "its search failed: ") {
		t.Error(text)
	}
}

// TestMissed: what won is compared on those captures that were replayed before it had won, once.
func TestMissed(t *testing.T) {
	for _, unnamed := range []bool{false, true} {
		s := &simulation{t: t, ptxas: time.Millisecond, cicc: time.Millisecond, unnamed: unnamed}
		s.kernels = []simulated{{name: "a", seconds: 1, launch: 1e-4, begin: 0.4,
			shape: policy.Shape{Grid: [3]int{500, 1, 1}, Block: [3]int{256, 1, 1}},
			alone: map[string]float64{"hint@ld": 0.9}, best: 0.9}}
		said := strings.Join(s.tune(time.Minute, nil).said, "\n")
		if n := strings.Count(said, " again: "); n != map[bool]int{true: 1}[unnamed] {
			t.Errorf("unnamed %v: %d captures were replayed again:\n%s", unnamed, n, said)
		}
	}
}
