package tunertest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"

	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/profile/profiletest"
	"gnvcc/profile/replay"
	"gnvcc/rewrite/manner"
	"gnvcc/sim/cubin"
)

// A GPU does launches again as package tuner asks.
type GPU struct {
	Captures func() (*capture.Store, error)
	Measured func(kernel, code string) // called for each measured candidate, by its code's hash
	// Takes says how long code takes by its hash, 1: as an original; false: it is not known. nil: none
	// is.
	Takes func(code string) (times float64, known bool)
	// Leaves says of code whether it leaves other bits than the original; nil: none does. It is asked
	// of "HASH.overwritten" as well, where a variation overwrites ranges that are not read.
	Leaves func(code string) bool
}

func (GPU) Prepare(context.Context, replay.Options, string) *replay.Standby { return nil }

// Replay is replay.Run.
func (g GPU) Replay(ctx context.Context, _ replay.Options, u *replay.Unpacked,
	visit replay.Visit) (replay.Outcome, error) {
	m := u.Manifest()
	s, err := g.Captures()
	if err != nil {
		return replay.Outcome{}, err
	}
	if _, err := s.Bytes(m); err != nil {
		return replay.Outcome{}, err
	}
	code, err := s.Code(m)
	if err != nil {
		return replay.Outcome{}, err
	}
	f, err := cubin.Read(code)
	if err != nil {
		return replay.Outcome{}, err
	}
	k, ok := f.Kernel(m.Kernel)
	if !ok {
		return replay.Outcome{Reason: "no such kernel"}, replay.ErrRefused
	}
	l := &profile.Launch{Process: &profile.Process{PID: 1}, Kernel: m.Kernel, Cubin: m.Cubin, Shape: m.Shape, Count: 1,
		Device:     &profile.Device{Name: m.Device, Major: m.Major, Minor: m.Minor, Multiprocessors: 132},
		Attributes: profile.Attributes{Registers: k.Registers, MaxThreads: 1024}}
	for _, param := range k.Params {
		v := make([]byte, param.Size)
		v[0] = 8
		same := make([]byte, param.Size)
		l.Params = append(l.Params, profile.Param{Offset: param.Offset, Size: param.Size, Value: v,
			Same: same})
	}
	m.Use.Apply(l)
	x := &launched{gpu: g, kernel: m.Kernel, code: []string{codeOf(code, m.Kernel)}, asked: []string{""}}
	on := x.session()
	variations := visit.Variations
	if visit.Search != nil && !visit.Search(ctx, l, on) {
		variations = nil
	}
	for _, v := range variations {
		if slices.ContainsFunc(m.Ranges, func(r capture.Range) bool { return r.Numbers == "bytes" }) {
			x.asked = []string{"", ".overwritten"}
		}
		if !visit.Vary(ctx, v, l, on) {
			break
		}
	}
	return replay.Outcome{Same: true, Whole: true, Varied: variations}, nil
}

func codeOf(b []byte, kernel string) string {
	code, err := policy.CodeHash(b, kernel)
	if err != nil {
		return err.Error()
	}
	return code
}

// A launched is one in a session: with the code of what is loaded, the original the first.
type launched struct {
	gpu    GPU
	kernel string
	code   []string
	asked  []string // what Leaves is asked of, behind a hash
}

func (x *launched) session() *profiletest.Session {
	return &profiletest.Session{Wrote: profile.Written{Allocations: 1, Bytes: 1 << 20},
		Loads: x.load, Time: x.time, Leaves: x.leaves}
}

func (x *launched) load(path, entry string, _ manner.Manner) (at profile.Attributes,
	err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return at, err
	}
	f, err := cubin.Read(b)
	if err != nil {
		return at, err
	}
	entry = cmp.Or(entry, x.kernel)
	k, ok := f.Kernel(entry)
	if !ok {
		return at, fmt.Errorf("%s has no %s", path, entry)
	}
	x.code = append(x.code, codeOf(b, entry))
	return profile.Attributes{Registers: k.Registers, MaxThreads: 1024}, nil
}

// time: other code than the original's takes between 0.7 and 1.0 of its time, the same code always
// the same.
func (x *launched) time(c profile.Candidate, _ profile.Measurement) float64 {
	t, known := 1e6*(1+0.002*rand.Float64()), false
	code := x.code[c]
	if x.gpu.Takes != nil {
		var times float64
		if times, known = x.gpu.Takes(code); known {
			t *= times
		}
	}
	if code != x.code[0] && !known {
		h := fnv.New32a()
		h.Write([]byte(code))
		t *= 0.7 + 0.3*float64(h.Sum32()%1000)/1000
		x.gpu.Measured(x.kernel, code)
	}
	return t
}

func (x *launched) leaves(c profile.Candidate, _ profile.Schedule) (profile.Difference,
	error) {
	if x.gpu.Leaves != nil && x.code[c] != x.code[0] && slices.ContainsFunc(x.asked,
		func(more string) bool { return x.gpu.Leaves(x.code[c] + more) }) {
		return profile.Difference{Words: 2, Where: "allocation 1 (simulated)", Size: 4096, Offset: 8,
			Want: 0x3f800000, Got: 0x3f800001, Relative32: 1e-7, Mean32: 1e-8}, nil
	}
	return profile.Difference{Same: true}, nil
}
