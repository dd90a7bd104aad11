package xmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"gnvcc/bench/predict/rebuilt"
	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/driver/record"
	"gnvcc/policy/predicted"
	"gnvcc/profile/units"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
	"gnvcc/sim/predict"
	"gnvcc/sim/sass"
	"gnvcc/sim/xmodel"
)

// A row is one kernel: the model's parameters, and instructions of warps per cycle and SM.
type row struct {
	Program, Kernel, Device string
	Grid, Block             [3]int
	Dynamic                 int
	Microseconds            float64
	// n, Z, E, M, L and R of the model; how many warps wait
	Warps, Z, E, M, L, R, Waiting float64
	Insts                         float64 // of one warp
	Sectors, L2, Memory           float64 // of one warp
	Covered                       float64 // of the counted accesses, what the code's blocks give
	Predicted, Measured           float64
	Classes                       map[string]float64 // instructions of one warp by class
	Issue, Waits                  float64            // cycles of one warp alone
	Busy                          map[string]float64 // cycles of an SM's parts, for one warp
	Longest, Share                float64            // of threads' work, of the busiest SM
	Bound                         string
	Fit                           *fitted `json:",omitempty"`
}

// A fitted is how near the model comes to the times of bypass=K and throttle=N: the typical error of
// log time if nothing mattered, and with the locality that counted hits give.
type fitted struct {
	Points        int
	Flat, Counted float64
}

func (r row) accuracy() float64 { return max(0, 1-math.Abs(r.Predicted-r.Measured)/r.Measured) }

// around is what the events around a launch take themselves, nanoseconds (profile.Session.Measure).
const around = 1000

// A builder builds kernels that were counted once more.
type builder struct {
	machine *units.Machine
	least   float64 // nanoseconds
}

// program reads one report.
func (b *builder) program(ctx context.Context, program, report, dir string,
	say io.Writer) ([]row, error) {
	all, err := rebuilt.Report(report)
	if err != nil {
		return nil, err
	}
	c, built, remove, err := rebuilt.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer remove()
	var out []row
	for _, d := range all {
		was, ok := built[d.Identity]
		r, err := row{}, rebuilt.ErrAbsent
		if ok {
			r, err = b.kernel(ctx, c, was, d)
		}
		if err != nil {
			fmt.Fprintf(say, "left out: %s, %s: %v\n", program, ptx.ShortName(d.Kernel), err)
			continue
		}
		r.Program = program
		out = append(out, r)
	}
	return out, nil
}

// kernel predicts one: its heaviest launch.
func (b *builder) kernel(ctx context.Context, c *compile.Compiler, was record.BuiltKernel,
	d cache.Decision) (row, error) {
	out := row{Kernel: ptx.ShortName(d.Kernel), Device: d.Evidence.Device}
	l, err := rebuilt.Heaviest(d, b.least)
	if err == nil && l.Counts == nil {
		err = errors.New("nothing was counted")
	}
	if err != nil {
		return out, err
	}
	run, err := b.build(ctx, c, was, &l)
	if err != nil {
		return out, err
	}
	t, err := run.Throughput()
	if err != nil {
		return out, err
	}
	e, err := run.Estimate()
	if err != nil {
		return out, err
	}
	warps := float64(run.Shape.Blocks * run.Shape.WarpsPerBlock())
	cycles := (l.Before.Median - around) * 1e-9 * b.machine.Clock * 1e6
	out.Grid, out.Block, out.Dynamic = l.Grid, l.Block, l.Dynamic
	out.Microseconds = l.Before.Median / 1e3
	m := t.Model
	out.Warps, out.Z, out.E, out.M, out.L, out.R = m.Warps, m.Intensity, m.Pace, m.Issue, m.Latency,
		m.Rate
	out.Waiting, out.Insts = t.Point.Waiting, t.Insts
	out.Sectors, out.L2, out.Memory = e.Sectors, e.L2, e.Memory
	out.Covered = run.Covered()
	out.Issue, out.Waits, out.Busy = t.Issue, t.Waits, t.Busy
	out.Classes = map[string]float64{}
	for c, n := range e.Classes {
		if n > 0 {
			out.Classes[sass.Class(c).String()] = n
		}
	}
	out.Predicted, out.Measured = t.Rate, warps*t.Insts/cycles/float64(b.machine.SMs)
	if c := run.Recorded; c != nil {
		out.Share = c.Share
	}
	out.Bound = t.Point.Bound.String() + ", " + t.Pipe
	if m, ok := run.Cached(t); ok {
		out.Fit = fit(m, d.Evidence.Tried, run.Shape.WarpsPerBlock())
	}
	return out, nil
}

// fit holds the times of bypassed and throttled candidates against what the model says with the
// locality by counts.
func fit(m xmodel.Model, tried []cache.Trial, warps int) *fitted {
	points, flat, counted := 0, 0.0, 0.0
	for _, x := range tried {
		r, err := recipe.Parse(x.Recipe)
		if err != nil || x.Ratio <= 0 {
			continue
		}
		r = r.Without(recipe.Second)
		if len(r.Terms) != 1 {
			continue
		}
		n, err := strconv.Atoi(r.Terms[0].Value)
		c := xmodel.Change{}
		switch {
		case err != nil:
			continue
		case r.Terms[0].Lever == "bypass":
			c.Bypass = 1 - float64(n)/float64(warps)
		case r.Terms[0].Lever == "throttle":
			c.Warps = float64(n * warps)
		default:
			continue
		}
		points++
		e, ok := m.What(c)
		if !ok {
			e.Time = 1
		}
		flat += math.Pow(math.Log(x.Ratio), 2)
		counted += math.Pow(math.Log(e.Time/x.Ratio), 2)
	}
	n := float64(max(1, points))
	return &fitted{Points: points, Flat: math.Sqrt(flat / n), Counted: math.Sqrt(counted / n)}
}

func (b *builder) build(ctx context.Context, c *compile.Compiler, was record.BuiltKernel,
	l *cache.Launch) (run predict.Run, err error) {
	made, err := b.lines(ctx, c, was)
	if err != nil {
		return run, err
	}
	cc := ptx.Capability(made.Target)
	device, ok := sim.Lookup(cc)
	if !ok || cc != b.machine.CC {
		return run, fmt.Errorf("it is for %s, the machine's table for sm_%d", made.Target, b.machine.CC)
	}
	u, err := predict.ForArchitecture(cc)
	if err != nil {
		return run, err
	}
	u = u.Measured(b.machine.Device, b.machine.Latency, b.machine.Rate, b.machine.Occupancy)
	device.SMs = b.machine.SMs
	shape := sim.Shape{Threads: l.Block[0] * l.Block[1] * l.Block[2], Shared: l.Dynamic,
		Blocks: l.Grid[0] * l.Grid[1] * l.Grid[2]}
	if run, err = predict.NewRun(made.Code, made.Kernel, device, shape, u); err != nil {
		return run, err
	}
	run.Recorded, err = predicted.Recorded(made.Code, made.Text, made.Kernel, l.Counts,
		run.Shape)
	return run, err
}

// A made is nvcc's own build of a kernel with the lines of the PTX in it, and the PTX.
type made struct {
	Code, Text     []byte
	Kernel, Target string
}

func (b *builder) lines(ctx context.Context, c *compile.Compiler, was record.BuiltKernel) (m made,
	err error) {
	source, err := c.Kernel(was.Assembly.Cubin, was.Name)
	if err != nil {
		return m, err
	}
	m.Kernel, m.Target = source.Kernel, source.Target
	m.Code, m.Text, err = c.Lines(ctx, source, recipe.Recipe{})
	return m, err
}
