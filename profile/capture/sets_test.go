package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gnvcc/profile"
)

// A program plays its launches of k(pointer, n): as an agent does it, it asks at the first launch
// of a set and when a verdict says so.
type program struct {
	t     *testing.T
	c     *Collector
	cubin string
	seen  profile.Seen
	again map[string]int // count of the set at which to ask
	quiet bool
	taken []uint32 // n of what was captured
	nth   []int
}

func newProgram(t *testing.T, known *Profile) *program {
	c, cubin := collector(t)
	c.known = known.weights()
	return &program{t: t, c: c, cubin: cubin, again: map[string]int{}}
}

func valuesOf(n uint32) []byte {
	return append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, binary.LittleEndian.AppendUint32(nil, n)...)
}

// launch plays one that takes so many seconds.
func (p *program) launch(n uint32, seconds float64) {
	s := &p.seen
	if s.Launch == nil {
		s.Launch = launchOf(p.t, p.cubin, 0, 0)
		s.Launch.Params[1].Same = []byte{1, 1, 1, 1}
		s.Sets.Mask = []byte{1, 1, 1, 1, 1, 1, 1, 1, 0xff, 0xff, 0xff, 0xff}
	}
	values := valuesOf(n)
	s.Launch.Count++
	first := s.Sets.Find(values) < 0
	s.Sets.Add(profile.Set{Values: values, Count: 1, Seconds: seconds, Sampled: 1})
	s.Seconds += seconds
	s.Sampled++
	if len(s.Sets.List) > 1 {
		s.Launch.Params[1].Same[0] = 0
		s.Varied++
	}
	x := s.Sets.List[s.Sets.Find(values)]
	if p.quiet || !first && x.Count != p.again[string(x.Values)] {
		return
	}
	l := launchOf(p.t, p.cubin, s.Launch.Count, byte(n))
	l.Values = values
	if s.Launch.Count > 1 {
		so := *s
		l.SoFar = &so
	}
	shape := p.c.shape(l)
	before := len(shape.captures)
	again := p.c.play(p.t, l, raw())
	if len(shape.captures) > before {
		p.taken, p.nth = append(p.taken, n), append(p.nth, l.Count)
	}
	if p.again[string(x.Values)] = x.Count + again; again == 0 {
		p.quiet = true
	}
}

func (p *program) end() Run {
	p.c.end(p.seen.Launch.Process, profile.Summary{Whole: true, Kernels: []profile.Seen{p.seen}})
	return p.c.Finish()
}

// Five sets of values of which the first is the cheapest: each that weighs something is captured,
// early and late, and stands by itself with its own weight and constants.
func TestEachHeavySet(t *testing.T) {
	p := newProgram(t, nil)
	sizes := map[uint32]float64{1: 0.1e-3, 2: 5e-3, 3: 4e-3, 4: 3e-3, 5: 2e-3}
	for range 100 {
		for n := uint32(1); n <= 5; n++ {
			p.launch(n, sizes[n])
		}
	}
	run := p.end()
	early, late := map[uint32]bool{}, map[uint32]bool{}
	for i, n := range p.taken {
		if p.nth[i] > 100 {
			late[n] = true
		} else {
			early[n] = true
		}
	}
	for n := uint32(2); n <= 5; n++ {
		if !early[n] || !late[n] {
			t.Errorf("n = %d: early %v, late %v (%v at %v)", n, early[n], late[n], p.taken, p.nth)
		}
	}
	if len(run.Seen) != 5 {
		t.Fatalf("%d sets stand by themselves, want 4 and the others: %+v", len(run.Seen), run.Seen)
	}
	for i, n := range []uint32{2, 3, 4, 5} {
		x := run.Seen[i]
		l := x.Profile().Launch
		if x.Use.Count != 100 || len(x.Captures) != 2 || x.Use.Set != fmt.Sprintf("#1=%d", n) || l.Set != x.Use.Set ||
			l.Params[1].Value[0] != byte(n) || l.Params[1].Same[0] != 1 {
			t.Errorf("n = %d: %+v, %+v", n, x.Use, l.Params)
		}
		if got := x.Use.Seconds / 100; got < sizes[n]*0.99 || got > sizes[n]*1.01 {
			t.Errorf("n = %d takes %v", n, got)
		}
		for _, m := range x.Captures {
			if m.Use.Set != x.Use.Set || m.Weight() != x.Use.Seconds/2 {
				t.Errorf("n = %d: %+v", n, m.Use)
			}
		}
	}
	if x := run.Seen[4]; x.Use.Set != others || x.Use.Count != 100 ||
		x.Profile().Launch.Params[1].Same[0] != 0 {
		t.Errorf("others: %+v", x.Use)
	}
}

// A step in time is no set: whatever its number of launches, all of them stand together, and the
// step is not constant.
func TestTimeSteps(t *testing.T) {
	for _, steps := range []uint32{4, 10, 31} { // the agent itself joins what is more than 31
		p := newProgram(t, nil)
		for n := range steps {
			p.launch(n, 1e-3)
		}
		run := p.end()
		if len(run.Seen) != 1 || run.Seen[0].Use.Set != "" ||
			run.Seen[0].Profile().Launch.Params[1].Same[0] != 0 {
			t.Errorf("%d steps: %+v", steps, run.Seen)
		}
		if n := len(p.taken); n == 0 || n > early {
			t.Errorf("%d steps: %d captures", steps, n)
		}
	}
}

// What an earlier run has shown to be heavy is captured at its first launch; what it has shown to
// weigh nothing is not, and a set without a capture is said to need a second run.
func TestEarlierRuns(t *testing.T) {
	first := newProgram(t, nil)
	first.c.stood = time.Duration(0.75 * freely * float64(firstStand)) // there is time for the first
	play := func(p *program) {
		for n := uint32(1); n <= 6; n++ {
			p.launch(n, 1e-3*float64(n))
			p.launch(n, 1e-3*float64(n))
		}
	}
	play(first)
	run := first.end()
	if len(first.taken) != 1 {
		t.Fatalf("captured %v", first.taken)
	}
	if x := run.Seen[0]; len(x.Captures) != 0 || !strings.Contains(x.Why, "run gnvcc tune again") {
		t.Errorf("%+v", x)
	}
	p, err := first.c.store.Observed("/bin/app", run)
	if err != nil {
		t.Fatal(err)
	}
	second := newProgram(t, p)
	play(second)
	defer second.c.pack.Wait()
	if len(second.taken) < 5 {
		t.Errorf("captured %v", second.taken)
	}
	light := newProgram(t, &Profile{Seconds: 100, Shapes: []Line{{Kernel: "k",
		Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{128, 1, 1}}, Seconds: 0.1}, {Kernel: "other", Seconds: 99.9}}})
	other := launchOf(t, light.cubin, 1, 1)
	other.Kernel = "other"
	light.c.shape(other).seconds = 10
	play(light)
	if len(light.taken) != 0 {
		t.Errorf("captured %v, which weighs nothing", light.taken)
	}
}

// The grid that weighs most is captured also where the first ones have held the program up for
// long, as the smaller grids of a multigrid do; one that weighs little is not.
func TestDearCaptures(t *testing.T) {
	for _, x := range []struct {
		seconds float64
		stood   time.Duration
		want    bool
	}{{0.5, firstStand * 8 / 10, true}, {0.5, firstStand, false}, {0.01, firstStand * 8 / 10, false}} {
		c, cubin := collector(t)
		now := time.Now()
		c.now = func() time.Time { return now }
		c.begun = now
		for n := range firstSizes {
			small := launchOf(t, cubin, 1, 1)
			small.Grid[0] = 10 + n
			c.play(t, small, []byte("memory"))
		}
		other := launchOf(t, cubin, 1, 1)
		other.Kernel = "other"
		c.play(t, other, []byte("memory"))
		c.shape(other).seconds = 1 - x.seconds
		c.stood = x.stood
		heavy := launchOf(t, cubin, 2, 1)
		heavy.Grid[0] = 12
		heavy.SoFar = &profile.Seen{Seconds: x.seconds, Sets: profile.Sets{
			List: []profile.Set{{Count: 2, Seconds: x.seconds}}}}
		heavy.Block[0] = 256
		if got := c.asks(heavy); got != x.want {
			t.Errorf("%+v: captured %v", x, got)
		}
	}
}

// A kernel with ever new shapes whose captures are refused is not asked for ever new ones, and the
// time that they took counts.
func TestRefusedShapes(t *testing.T) {
	for _, took := range []time.Duration{time.Millisecond, 3 * time.Second} {
		c, cubin := collector(t)
		now := time.Now()
		c.now = func() time.Time { return now }
		c.begun = now
		tries := 0
		for nth := range 200 {
			l := launchOf(t, cubin, 1, 1)
			l.Grid[0] = 500 - nth
			if x, _ := c.begin(l); x != nil {
				tries++
				now = now.Add(took)
				c.taken(l, x, profile.Captured{}, errors.New(profile.TooLarge))
			}
		}
		if tries == 0 || tries > firstSizes || c.stood > c.allowance() {
			t.Errorf("%d captures of %v were tried", tries, took)
		}
		if seen := c.Finish().Seen; !strings.Contains(seen[0].Why, "4096 MiB (--capture-limit, or") {
			t.Errorf("%q", seen[0].Why)
		}
	}
}

// A set is called by its values: no buffer is one, what tells no sets apart is none, and of what is
// too long a hash tells the rest.
func TestNames(t *testing.T) {
	long := make([]byte, 64)
	for i := range long {
		long[i] = 0xff
	}
	word := func(v uint32, rest ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, v), rest...)
	}
	buffer := []byte{1, 1, 1, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		mask, values []byte
		size         int
		want         string
	}{
		{append(buffer, 0xff, 0xff, 0xff, 0xff), append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, word(7)...), 4, "#1=7"},
		{append(buffer, 0xff, 0xff, 0xff, 0xff), make([]byte, 12), 4, "#0=0 #1=0"},
		{append(buffer, 0xff, 0xff, 0xff, 0xff), append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, word(0x3f800000)...), 4, "#1=1.0"},
		{append(buffer, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0),
			append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, word(7, 1, 2, 3, 4)...), 8, "#1=7"},
		{append(buffer, long...), append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, long...), 64,
			"#1=-1 #1+8=-1 #1+16=-1 #1+24=-1 #1+32=-1 #1+40=-1 #1+48=-1 ... "},
	} {
		sets := profile.Sets{Mask: c.mask, List: []profile.Set{{Values: c.values}}}
		got := nameOf([]Span{{0, 8}, {8, c.size}}, &sets, sets.List[0])
		if !strings.HasPrefix(got, c.want) || len(got) != len(c.want) && !strings.HasSuffix(c.want, "... ") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
