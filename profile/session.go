package profile

// A session, seen from our end: a command, an answer.

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"gnvcc/rewrite/manner"
)

type session struct {
	p      *process
	l      *Launch // that is repeated
	golden bool
	limit  time.Duration // for one run of the kernel
}

// command sends one command and waits for its answer. What ends the session ends it for good.
func (p *process) command(t frameType, body []byte, limit time.Duration) (*Reader, error) {
	if p.dead != nil {
		return nil, p.dead
	}
	if err := writeFrame(p.conn, t, body); err != nil {
		p.dead = ErrGone
		return nil, p.dead
	}
	answer, in, err := p.answer(limit)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		answer = fHung
	case err != nil:
		p.dead = ErrGone
		return nil, p.dead
	}
	switch answer {
	case fOK:
		return in, nil
	case fHung:
		p.dead = ErrHung
		p.run.kill(p.pid, ErrHung.Error())
		return nil, p.dead
	case fError, fFault:
		code, doing, text := in.int(), in.Str(), in.Str()
		if err := in.End(); err != nil {
			p.dead = err
			return nil, err
		}
		if answer == fFault {
			p.dead = &Fault{Code: code, Text: text}
			return nil, p.dead
		}
		return nil, &CandidateError{Doing: doing, Code: code, Text: text}
	}
	p.dead = fmt.Errorf("the agent answered with a frame of type %d", answer)
	return nil, p.dead
}

// done checks that an answer was read to its end.
func (s *session) done(in *Reader) error {
	if err := in.End(); err != nil {
		s.p.dead = err
		return err
	}
	return nil
}

// fault enters which candidate it was.
func (s *session) fault(err error, c Candidate) error {
	var f *Fault
	if errors.As(err, &f) {
		f.Candidate = c
	}
	return err
}

func milliseconds(d time.Duration) uint32 { return uint32(min(d.Milliseconds(), 1<<31)) }

func (s *session) Golden() (Written, error) {
	w := writer{}
	w.u32(milliseconds(s.limit))
	in, err := s.p.command(fGolden, w.b, s.limit+answerLimit)
	if err != nil {
		return Written{}, s.fault(err, Original)
	}
	out := Written{Allocations: in.int(), Bytes: int64(in.U64()), Time: in.f64()}
	n := in.int()
	if n < 0 || n > len(in.b)/16 {
		s.p.dead = errShort
		return Written{}, s.p.dead
	}
	for range n {
		out.Where = append(out.Where, Stretch{in.U64(), int64(in.U64())})
	}
	s.golden = true
	return out, s.done(in)
}

// known sees to it that the agent knows what the kernel writes: only that is put back before a run,
// so that a kernel that goes on from what it left (a counter, a step in time) would otherwise not
// repeat itself.
func (s *session) known() error {
	if s.golden {
		return nil
	}
	_, err := s.Golden()
	return err
}

func (s *session) Load(path, entry string) (Candidate, Attributes, error) {
	return s.LoadAs(path, entry, manner.Manner{})
}

func (s *session) LoadAs(path, entry string, m manner.Manner) (Candidate, Attributes, error) {
	grid, block, ok := m.Launch(s.l.Grid, s.l.Block)
	if !ok {
		return 0, Attributes{}, fmt.Errorf(
			"load a candidate that is launched otherwise (%+v): the launch of %v blocks of %v can't be done so",
			m, s.l.Grid, s.l.Block)
	}
	if m.Own() {
		grid, block = [3]int{}, [3]int{} // as seen
	}
	w := writer{}
	w.str(path)
	w.str(entry)
	if r := m.Reserve; r.On {
		w.u32(uint32(r.Dynamic))
		w.u32(uint32(r.Carveout) + 1)
	} else {
		w.u64(0)
	}
	for _, n := range append(grid[:], block[:]...) {
		w.u32(uint32(n))
	}
	in, err := s.p.command(fLoad, w.b, answerLimit)
	if err != nil {
		return 0, Attributes{}, err
	}
	c, a := Candidate(in.U32()), attributes(in)
	return c, a, s.done(in)
}

func (s *session) Unload(c Candidate) error {
	w := writer{}
	w.u32(uint32(c))
	in, err := s.p.command(fUnload, w.b, answerLimit)
	if err != nil {
		return err
	}
	return s.done(in)
}

func (s *session) Measure(c Candidate, n int, o Measurement) ([]float64, error) {
	if n <= 0 || n > 1<<20 {
		return nil, fmt.Errorf("measuring a candidate %d times: 1 to %d can be asked for", n, 1<<20)
	}
	if err := s.known(); err != nil {
		return nil, err
	}
	w := writer{}
	w.u32(uint32(c))
	w.u32(uint32(n))
	w.u8(o.before())
	w.u32(milliseconds(s.limit))
	w.bytes(o.Prior)
	w.u32(uint32(max(o.Row, 1)))
	in, err := s.p.command(fRun, w.b, time.Duration(n+1)*s.limit+answerLimit)
	if err != nil {
		return nil, s.fault(err, c)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = in.f64()
	}
	return out, s.done(in)
}

func (s *session) Read(c Candidate, variable string, size int) ([]byte, error) {
	w := writer{}
	w.u32(uint32(c))
	w.str(variable)
	w.u64(uint64(size))
	in, err := s.p.command(fRead, w.b, answerLimit)
	if err != nil {
		return nil, err
	}
	b := slices.Clone(in.Bytes())
	if err := s.done(in); err != nil {
		return nil, err
	}
	if len(b) != size {
		s.p.dead = fmt.Errorf("the agent gave %d bytes of %s, not %d", len(b), variable, size)
		return nil, s.p.dead
	}
	return b, nil
}

func (s *session) Check(c Candidate) (Difference, error) { return s.CheckUnder(c, Schedule{}) }

func (s *session) CheckUnder(c Candidate, o Schedule) (Difference, error) {
	if err := s.known(); err != nil {
		return Difference{}, err
	}
	w := writer{}
	w.u32(uint32(c))
	w.u32(milliseconds(s.limit))
	w.bool(o.Cold)
	w.u32(uint32(o.Dynamic))
	in, err := s.p.command(fCheck, w.b, s.limit+answerLimit)
	if err != nil {
		return Difference{}, s.fault(err, c)
	}
	d := Difference{Same: in.U8() != 0, Words: int64(in.U64()), Where: in.Str(), Address: in.U64(),
		Size:   int64(in.U64()),
		Offset: int64(in.U64()), Want: in.U64(), Got: in.U64(), Relative32: in.f64(),
		Relative64: in.f64(),
		Mean32:     in.f64(), Mean64: in.f64(), Time: in.f64()}
	return d, s.done(in)
}
