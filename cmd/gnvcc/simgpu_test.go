package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
	"gnvcc/rewrite/manner"
	"gnvcc/sim/cubin"
)

// A SIMULATED GPU behind gnvcc tune's replays: what it is given are real cubins, made by the real
// compiler, and how long they take is a formula of their machine code. It says nothing about real
// kernels; it says which kernels were measured.

// asIfGPU is a variable that puts the simulated GPU behind the command under test. Its value is a
// file, to which each candidate that is measured is written: the kernel, and a hash of the
// candidate's code.
const asIfGPU = "TEST_SIMULATED_GPU"

// simulateGPU does so.
func simulateGPU(file string) {
	driverHere = func() bool { return os.Getenv("TEST_NO_GPU") == "" }
	watchMachine.HasDriver = driverHere
	watchMachine.Load = func() (int, bool) { return 0, true }
	watchTools = func() (string, string, error) { return "", "", nil }
	gpu = simGPU{file}
	if levers := os.Getenv("TEST_LEVERS"); levers != "" {
		watchSearch = func(o *policy.Options) { o.Levers = strings.Split(levers, ",") }
	}
	if dir := os.Getenv("TEST_POWER_SUPPLY"); dir != "" {
		watchMachine.PowerSupply = dir
	}
	if file := os.Getenv("TEST_GPU_LOAD"); file != "" {
		watchMachine.Load = func() (n int, known bool) {
			text, _ := os.ReadFile(file)
			fmt.Sscan(string(text), &n)
			return n, true
		}
	}
}

// A simGPU is the simulated GPU; what is measured is noted in the file.
type simGPU struct{ file string }

func (simGPU) Prepare(context.Context, replay.Options, string) *replay.Standby { return nil }

func (g simGPU) Replay(ctx context.Context, o replay.Options, u *replay.Unpacked,
	h profile.Decider, launches int, variations []int) (replay.Outcome, error) {
	return simulated(ctx, g.file, o, u.Manifest(), h, launches, variations)
}

// simulated is replay.Run.
func simulated(ctx context.Context, file string, o replay.Options, m *capture.Manifest,
	h profile.Decider, launches int, variations []int) (replay.Outcome, error) {
	s, err := capture.Open(filepath.Join(os.Getenv("GNVCC_STORE"), "captures"))
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
	p := &profile.Process{PID: 1}
	l := &profile.Launch{Process: p, Kernel: m.Kernel, Cubin: m.Cubin, Grid: m.Grid, Block: m.Block,
		Dynamic: m.Dynamic, Count: 1,
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
	session := &simSession{kernel: m.Kernel, file: file, code: []string{codeOf(code, m.Kernel)}}
	h.Start(p)
	for range launches {
		if v := h.Launch(l); v.Tune {
			h.Tune(ctx, l, session)
		}
	}
	for _, v := range variations {
		if !o.Vary(ctx, v, l, session) {
			break
		}
	}
	sum := profile.Summary{Whole: true}
	if o.Count {
		sum.Kernels = []profile.Seen{{Launch: l}}
	}
	h.End(p, sum)
	return replay.Outcome{Same: true, Whole: true, Varied: variations}, nil
}

func codeOf(b []byte, kernel string) string {
	code, err := policy.CodeHash(b, kernel)
	if err != nil {
		return err.Error()
	}
	return code
}

// A simSession has the code of what is loaded; the original is the first.
type simSession struct {
	kernel, file string
	code         []string
}

func (s *simSession) Golden() (profile.Written, error) {
	return profile.Written{Allocations: 1}, nil
}

func (s *simSession) Load(path, entry string) (profile.Candidate, profile.Attributes, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, profile.Attributes{}, err
	}
	f, err := cubin.Read(b)
	if err != nil {
		return 0, profile.Attributes{}, err
	}
	if entry == "" {
		entry = s.kernel
	}
	k, ok := f.Kernel(entry)
	if !ok {
		return 0, profile.Attributes{}, fmt.Errorf("%s has no %s", path, entry)
	}
	s.code = append(s.code, codeOf(b, entry))
	return profile.Candidate(len(s.code) - 1), profile.Attributes{Registers: k.Registers,
		MaxThreads: 1024}, nil
}

func (s *simSession) LoadAs(path, entry string,
	m manner.Manner) (profile.Candidate, profile.Attributes, error) {
	return s.Load(path, entry)
}

func (s *simSession) Unload(profile.Candidate) error { return nil }

// Measure: other code than the original's takes between 0.7 and 1.0 of its time, the same code
// always the same.
func (s *simSession) Measure(c profile.Candidate, n int, o profile.Measurement) ([]float64, error) {
	t := 1e6
	if code := s.code[c]; code != s.code[0] {
		h := fnv.New32a()
		h.Write([]byte(code))
		t *= 0.7 + 0.3*float64(h.Sum32()%1000)/1000
		s.note(code)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = t * (1 + 0.002*rand.Float64())
	}
	return out, nil
}

func (s *simSession) note(code string) {
	f, err := os.OpenFile(s.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, s.kernel, code)
		f.Close()
	}
}

func (s *simSession) Read(c profile.Candidate, variable string, size int) ([]byte, error) {
	return nil, fmt.Errorf("it has no variable %s", variable)
}

func (s *simSession) Check(profile.Candidate) (profile.Difference, error) {
	return profile.Difference{Same: true}, nil
}

func (s *simSession) CheckUnder(c profile.Candidate,
	_ profile.Schedule) (profile.Difference, error) {
	return s.Check(c)
}

var _ profile.Session = (*simSession)(nil)

// simLog are the candidates that were measured, by kernel: of each code once.
func simLog(dir string) map[string]int {
	text, _ := os.ReadFile(filepath.Join(dir, "measured"))
	seen, out := map[string]bool{}, map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if kernel, _, ok := strings.Cut(line, " "); ok && !seen[line] {
			seen[line] = true
			out[kernel]++
		}
	}
	return out
}
