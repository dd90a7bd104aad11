package profile

// One connection: a process of the application, what it sends, and what the host answers.

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// helloLimit is how long a process may take from connecting to its first frame.
const helloLimit = 10 * time.Second

// usualStand is how long a program stands still while memory is read for a capture, at the most.
const usualStand = 10 * time.Second

// mostWants is how many of Order.Want the agent takes.
const mostWants = 8

// noDevice is why a launch is left alone of whose GPU nothing is known.
const noDevice = "it runs on a GPU that the agent does not describe"

// answerLimit is what the agent may take for what needs no run of a kernel: copies of all memory,
// comparisons, loading.
var answerLimit = 2 * time.Minute

type process struct {
	run     *run
	conn    *net.UnixConn
	in      *bufio.Reader
	pid     int // as the kernel has it, not the process
	info    *Process
	devices map[int]*Device
	modules map[uint32]*module
	shapes  map[uint32]*Seen
	order   []*Seen
	summary Summary
	places  places
	asked   int   // launches
	dead    error // the session's end, once nothing more can be done
}

type module struct {
	hash, path string
	contents   *contents
	trouble    string // why contents is nil
}

func (r *run) serve(ctx context.Context, c *net.UnixConn) {
	log := r.options.Log
	pid, err := peer(c)
	if err != nil {
		log("%v; turned away", err)
		return
	}
	p := &process{run: r, conn: c, in: bufio.NewReaderSize(c, 1<<16), pid: pid,
		devices: map[int]*Device{}, modules: map[uint32]*module{}, shapes: map[uint32]*Seen{}}
	c.SetReadDeadline(time.Now().Add(helloLimit))
	t, body, err := readFrame(p.in)
	if err != nil || t != fHello {
		log("process %d: no greeting from the agent: %v", pid, err)
		return
	}
	c.SetReadDeadline(time.Time{})
	in := Reader{b: body}
	version := in.U32()
	if version != protocol {
		log("process %d: the agent speaks protocol %d, not %d: another gnvcc built it", pid, version,
			protocol)
		return
	}
	in.U32() // its own idea of its pid: another one in a container
	p.info = &Process{PID: pid, Driver: in.int(), CUPTI: in.int()}
	trouble := in.Str()
	if err := in.End(); err != nil {
		log("process %d: %v", pid, err)
		return
	}
	p.info.Program, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	p.info.Trouble = trouble
	if r.host.Start != nil {
		r.host.Start(p.info)
	}
	if trouble == "" {
		err = p.events(ctx)
		gone := r.isGone()
		p.summary.Whole = p.summary.Whole || gone // up to then
		if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil && p.dead == nil && !gone {
			log("process %d: %v", pid, err)
		}
	}
	for _, s := range p.order {
		p.summary.Kernels = append(p.summary.Kernels, *s)
	}
	if r.host.End != nil {
		r.host.End(p.info, p.summary)
	}
}

// events serves what the agent sends until the process ends.
func (p *process) events(ctx context.Context) error {
	for {
		t, body, err := readFrame(p.in)
		if err != nil {
			return err
		}
		in := &Reader{b: body}
		switch t {
		case fDevice:
			err = p.device(in)
		case fModule:
			err = p.module(in)
		case fSummary:
			err = p.counts(in)
		case fNote:
			p.note(in.Str())
		case fWritten:
			err = p.written(in)
		case fBye:
			return nil
		case fLaunch:
			var l *Launch
			if l, err = p.launch(in); err == nil {
				err = p.decide(ctx, l)
			}
		default:
			err = fmt.Errorf("the agent sent a frame of type %d, which was not asked for", t)
		}
		if err != nil {
			return err
		}
	}
}

// written reports to the host what became of a capture's file.
func (p *process) written(in *Reader) error {
	path, why, bytes := in.Str(), in.Str(), int64(in.U64())
	if err := in.End(); err != nil {
		return err
	}
	if p.run.host.Written != nil {
		p.run.host.Written(p.info, path, bytes, why)
	}
	return nil
}

func (p *process) note(text string) {
	p.summary.Notes = append(p.summary.Notes, text)
	p.run.options.Log("process %d: %s", p.pid, text)
}

func (p *process) device(in *Reader) error {
	d := &Device{Ordinal: in.int(), Name: in.Str(), UUID: hex.EncodeToString(in.Bytes()),
		Memory: int64(in.U64())}
	for _, v := range []*int{&d.Major, &d.Minor, &d.Multiprocessors, &d.L2, &d.RegistersPerSM,
		&d.SharedPerSM, &d.SharedPerBlock,
		&d.ThreadsPerSM, &d.ClockKHz, &d.MemoryKHz} {
		*v = in.int()
	}
	p.devices[d.Ordinal] = d
	return in.End()
}

func (p *process) module(in *Reader) error {
	id, cubin := in.U32(), in.Bytes()
	if err := in.End(); err != nil {
		return err
	}
	sum := sha256.Sum256(cubin)
	m := &module{hash: hex.EncodeToString(sum[:])}
	m.path = filepath.Join(p.run.dir, m.hash+".cubin")
	// By a name of its own: two processes may bring the same module at once.
	tmp := fmt.Sprintf("%s.%d", m.path, p.pid)
	if err := os.WriteFile(tmp, cubin, 0o600); err != nil {
		m.trouble = fmt.Sprintf("its cubin can't be kept: %v", err)
	} else if err := os.Rename(tmp, m.path); err != nil {
		m.trouble = fmt.Sprintf("its cubin can't be kept: %v", err)
	} else if m.contents, err = readCubin(cubin); err != nil {
		m.trouble = err.Error()
	}
	p.modules[id] = m
	return nil
}

func (p *process) launch(in *Reader) (*Launch, error) {
	if p.asked++; p.asked&(p.asked-1) == 0 { // now and then: libraries may have been loaded
		p.places.look(p.pid)
	}
	l := &Launch{Process: p.info, id: in.U32()}
	l.Device = p.devices[in.int()]
	m := p.modules[in.U32()]
	l.Kernel = in.Str()
	for i := range l.Grid {
		l.Grid[i] = in.int()
	}
	for i := range l.Block {
		l.Block[i] = in.int()
	}
	l.Dynamic = in.int()
	l.Attributes = attributes(in)
	l.MaxDynamic = in.int()
	l.Count = int(in.U64())
	n := in.U32()
	if int(n) > len(in.b)/8 {
		return nil, errShort
	}
	l.Params = make([]Param, n)
	for i := range l.Params {
		l.Params[i].Offset, l.Params[i].Size = in.int(), in.int()
	}
	values, same, align := in.Bytes(), in.Bytes(), in.Take(int(n))
	l.Values = slices.Clone(in.Bytes())
	attributes := in.U32()
	for ; attributes > 0 && in.err == nil; attributes-- {
		l.LaunchAttributes = append(l.LaunchAttributes, attributeName(in.U32()))
	}
	l.LeaveAlone = in.Str()
	l.Bytes = int64(in.U64())
	if prior := in.Bytes(); len(prior) > 0 {
		l.Prior = slices.Clone(prior)
	}
	l.Past = in.U8() != 0
	if err := in.End(); err != nil {
		return nil, err
	}
	for i := range l.Params {
		q := &l.Params[i]
		if q.Offset < 0 || q.Size < 0 || q.Offset+q.Size > len(values) || len(same) != len(values) {
			return nil, fmt.Errorf("the agent reports a parameter outside of the %d bytes that there are",
				len(values))
		}
		q.Value = slices.Clone(values[q.Offset : q.Offset+q.Size])
		q.Same = slices.Clone(same[q.Offset : q.Offset+q.Size])
		q.Align = int(align[i])
	}
	if m != nil {
		l.Cubin, l.CubinPath = m.hash, m.path
		l.module = m
	}
	p.repeatable(l, m)
	if s, ok := p.shapes[l.id]; ok {
		now := *s // the process goes on to count
		now.Sets = s.Sets.clone()
		l.SoFar = &now
	} else {
		s := &Seen{Launch: l}
		p.shapes[l.id] = s
		p.order = append(p.order, s)
	}
	return l, nil
}

// repeatable adds why a launch can't be repeated to the agent's reasons.
func (p *process) repeatable(l *Launch, m *module) {
	why := "its cubin is not known"
	switch {
	case l.Device == nil: // the agent describes the first 32
		why = noDevice
	case m == nil:
	case m.contents == nil:
		why = m.trouble
	default:
		why = m.contents.unrepeatable(l.Kernel)
	}
	l.LeaveAlone = cmp.Or(l.LeaveAlone, why)
}

func attributes(in *Reader) (a Attributes) {
	for _, v := range []*int{&a.Registers, &a.Shared, &a.Local, &a.Const, &a.MaxThreads, &a.Binary,
		&a.PTX} {
		*v = in.int()
	}
	return a
}

// attributeName gives a launch attribute's name in cuda.h, without its prefix, in lower case.
func attributeName(id uint32) string {
	names := []string{"ignore", "access policy window", "cooperative", "synchronization policy",
		"cluster dimension",
		"cluster scheduling policy preference", "programmatic stream serialization", "programmatic event",
		"priority", "mem sync domain map",
		"mem sync domain", "preferred cluster dimension", "launch completion event",
		"device updatable kernel node",
		"preferred shared memory carveout", "attribute 15", "nvlink util centric scheduling"}
	if int(id) < len(names) {
		return names[id]
	}
	return fmt.Sprintf("attribute %d", id)
}

// ComesPast reports whether a configuration is taken for one that comes past the host stub, of whose
// launches so many do: what a second entry gains is claimed for all of them.
func ComesPast(past, all int) bool { return 20*past > all }

// counts brings the counts of the configurations up to date.
func (p *process) counts(in *Reader) error {
	p.summary.Whole = in.U8() != 0
	p.summary.Graphs = int(in.U64())
	p.summary.Unseen = nil // each summary has all of it
	for n := in.U32(); n > 0 && in.err == nil; n-- {
		p.summary.Unseen = append(p.summary.Unseen, Unseen{Why: in.Str(), Launches: int(in.U64()),
			Seconds: in.f64()})
	}
	p.summary.Peak = int64(in.U64())
	for n := in.U32(); n > 0 && in.err == nil; n-- {
		s := p.shapes[in.U32()]
		count, varied := int(in.U64()), int(in.U64())
		watched, beside, same := in.f64(), in.f64(), in.Bytes()
		if s == nil { // launched and not yet asked about
			return fmt.Errorf("the agent counts a launch that it did not report")
		}
		s.Launch.Count, s.Varied, s.Watched, s.Beside = count, varied, watched, beside
		for i := range s.Launch.Params {
			q := &s.Launch.Params[i]
			if q.Offset+q.Size <= len(same) {
				q.Same = slices.Clone(same[q.Offset : q.Offset+q.Size])
			}
			q.Align = int(in.U8())
		}
		if err := s.sets(in); err != nil {
			return err
		}
		s.Launch.Asked = in.U8() != 0
		s.Rows = int(in.U64())
		s.Launch.Past = ComesPast(int(in.U64()), count)
	}
	return cmp.Or(p.between(in), in.End())
}

// sets reads those of a configuration. One without a time takes what the others take.
func (s *Seen) sets(in *Reader) error {
	s.Sets = Sets{Mask: slices.Clone(in.Bytes())}
	n := in.U32()
	if int(n) > len(in.b)/20 { // three numbers each, and more
		return errShort
	}
	var seconds float64
	var launches int
	s.Sampled = 0
	for ; n > 0 && in.err == nil; n-- {
		x := Set{Values: slices.Clone(in.Bytes()), Count: int(in.U64())}
		each, sampled := in.f64(), int(in.U64())
		for n := in.U32(); n > 0 && in.err == nil; n-- {
			launches, seconds := in.f64(), in.f64()
			x.Classes = JoinClasses(x.Classes, classOf(launches, seconds))
		}
		if len(x.Values) != len(s.Sets.Mask) {
			return errors.New("the agent reports values that are not a launch's")
		}
		if x.Sampled = sampled; sampled > 0 {
			x.Seconds = each * float64(x.Count)
			seconds, launches = seconds+x.Seconds, launches+x.Count
		}
		s.Sampled += sampled
		s.Sets.List = append(s.Sets.List, x)
	}
	s.Seconds, s.Classes = 0, s.Sets.Classes()
	for i := range s.Sets.List {
		x := &s.Sets.List[i]
		if x.Sampled == 0 && launches > 0 {
			x.Seconds = seconds / float64(launches) * float64(x.Count)
		}
		s.Seconds += x.Seconds
	}
	return nil
}

// held is a launch that waits for the host's decision.
type held struct {
	p    *process
	l    *Launch
	lost error // the connection's, or of what the agent says
	goes bool  // the agent waits for nothing any more
}

// decide has the host decide about a launch.
func (p *process) decide(ctx context.Context, l *Launch) error {
	h := &held{p: p, l: l}
	again := p.run.host.Launch(ctx, l, Held{h.capture, h.session})
	if h.lost != nil || h.goes {
		return h.lost
	}
	w := writer{}
	w.u64(uint64(max(again, 0)))
	return writeFrame(p.conn, fGo, w.b)
}

// order sends the agent what to do with the launch, and gives its answer.
func (h *held) order(t, want frameType, more writer) (*Reader, error) {
	if h.lost != nil {
		return nil, ErrGone
	}
	if h.l.LeaveAlone != "" {
		return nil, errors.New(h.l.LeaveAlone)
	}
	w := writer{}
	w.u32(uint32(len(h.l.module.contents.variables)))
	for _, x := range h.l.module.contents.variables {
		w.str(x.name)
		w.bool(x.constant)
	}
	w.bool(h.l.module.contents.usesTextures(h.l.Kernel))
	var got frameType
	var in *Reader
	err := writeFrame(h.p.conn, t, append(w.b, more.b...))
	if err == nil {
		got, in, err = h.p.answer(answerLimit)
	}
	switch {
	case err != nil:
	case got == want:
		return in, nil
	case got == fRefused:
		why := in.Str()
		if err = in.End(); err == nil {
			return nil, errors.New(why)
		}
	default:
		err = fmt.Errorf("the agent answered an order with a frame of type %d", got)
	}
	h.lost = err
	return nil, ErrGone
}

func (h *held) capture(o Order) (c Captured, err error) {
	defer func() {
		if err != nil || c.Why != "" {
			os.Remove(o.Path) // the agent does, unless its process ends before
		}
	}()
	w := writer{}
	w.str(o.Path)
	w.u64(uint64(max(o.Limit, 0)))
	w.u64(uint64(cmp.Or(max(o.Room, 0), math.MaxInt64)))
	w.u64(math.Float64bits(cmp.Or(o.Stand, usualStand).Seconds()))
	w.u64(math.Float64bits(o.Patience.Seconds()))
	w.u32(uint32(min(len(o.Want), mostWants)))
	for _, s := range o.Want[:min(len(o.Want), mostWants)] {
		w.u64(math.Float64bits(s.Least))
		w.u64(math.Float64bits(s.Most))
	}
	in, err := h.order(fCapture, fCaptured, w)
	if err != nil {
		return c, err
	}
	c = Captured{Why: in.Str(), Bytes: int64(in.U64()), Before: seconds(in.f64()),
		After: seconds(in.f64()), Took: seconds(in.f64())}
	if h.lost = in.End(); h.lost != nil {
		return c, ErrGone
	}
	return c, nil
}

func (h *held) session(long time.Duration, use func(Session)) error {
	p := h.p
	if !p.run.options.Replay {
		return errors.New("sessions are for replays alone")
	}
	in, err := h.order(fSession, fReady, writer{})
	if err != nil {
		return err
	}
	onHost := in.U64()
	h.l.Saving = seconds(in.f64())
	if h.lost = in.End(); h.lost != nil {
		return ErrGone
	}
	if onHost > 0 {
		p.note(fmt.Sprintf("%s: no device memory for a copy of %d MB: kept on the host, which is slow",
			h.l.Kernel, onHost>>20))
	}
	use(&session{p: p, l: h.l, limit: cmp.Or(long, p.run.options.Limit)})
	var fault *Fault
	if h.goes = errors.As(p.dead, &fault); h.goes { // the process goes on, to its own error
		p.dead = nil
	}
	h.lost = p.dead
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// answer reads the next frame that is no note, within a time.
func (p *process) answer(limit time.Duration) (frameType, *Reader, error) {
	p.conn.SetReadDeadline(time.Now().Add(limit))
	defer p.conn.SetReadDeadline(time.Time{})
	for {
		t, body, err := readFrame(p.in)
		if err != nil {
			return 0, nil, err
		}
		in := &Reader{b: body}
		if t == fNote {
			p.note(in.Str())
			continue
		}
		return t, in, nil
	}
}
