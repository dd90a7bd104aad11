package profile

// The Go side against a scripted agent: the test binary runs itself as the application, and a
// script speaks the agent's part over the real socket. The frames are put together here by hand,
// field by field, as the C side does.

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gnvcc/rewrite/manner"
)

const scriptEnv = "GNVCC_TEST_AGENT_SCRIPT"

func TestMain(m *testing.M) {
	if name := os.Getenv(scriptEnv); name != "" {
		scripts[name]()
		os.Exit(0)
	}
	status := m.Run()
	if dir := fakes.driver.dir; dir != "" && os.Getenv(fakeEnv) == "" {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// smallELF is the least that passes for a cubin: a symbol table with a kernel, a variable and a
// constant.
func smallELF(code ...byte) []byte {
	names := "\x00k\x00v\x00c\x00"
	shnames := "\x00.text.k\x00.nv.global\x00.nv.constant3\x00.symtab\x00.strtab\x00.shstrtab\x00"
	at := func(s string) uint32 { return uint32(strings.Index(shnames, s+"\x00")) }
	symbols := []elf.Sym64{{}, {Name: 1, Info: uint8(elf.STB_GLOBAL)<<4 | uint8(elf.STT_FUNC),
		Shndx: 1},
		{Name: 3, Info: uint8(elf.STT_OBJECT), Shndx: 2, Size: 40}, {Name: 5, Info: uint8(elf.STT_OBJECT),
			Shndx: 3, Size: 16}}
	var sym bytes.Buffer
	binary.Write(&sym, binary.LittleEndian, symbols)
	data := [][]byte{nil, append(code, 0), nil, make([]byte, 16), sym.Bytes(), []byte(names),
		[]byte(shnames)}
	headers := []elf.Section64{{}, {Name: at(".text.k"), Type: uint32(elf.SHT_PROGBITS)},
		{Name: at(".nv.global"), Type: uint32(elf.SHT_NOBITS), Size: 40},
		{Name: at(".nv.constant3"), Type: uint32(elf.SHT_PROGBITS)},
		{Name: at(".symtab"), Type: uint32(elf.SHT_SYMTAB), Link: 5, Info: 1, Entsize: 24},
		{Name: at(".strtab"), Type: uint32(elf.SHT_STRTAB)}, {Name: at(".shstrtab"),
			Type: uint32(elf.SHT_STRTAB)}}
	var body bytes.Buffer
	for i := range headers {
		headers[i].Off = uint64(64 + body.Len())
		if headers[i].Type != uint32(elf.SHT_NOBITS) {
			headers[i].Size = uint64(len(data[i]))
		}
		body.Write(data[i])
	}
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: 190, Version: 1, Ehsize: 64, Shentsize: 64,
		Shnum: uint16(len(headers)), Shstrndx: 6, Shoff: uint64(64 + body.Len())}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	var out bytes.Buffer
	binary.Write(&out, binary.LittleEndian, h)
	out.Write(body.Bytes())
	binary.Write(&out, binary.LittleEndian, headers)
	return out.Bytes()
}

// fake is the agent's end.
type fake struct{ c net.Conn }

func dial() fake {
	c, err := net.Dial("unix", os.Getenv(socketEnv))
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake agent:", err)
		os.Exit(90)
	}
	return fake{c}
}

func (f fake) send(t frameType, fields ...any) {
	var w writer
	for _, v := range fields {
		switch v := v.(type) {
		case int: // the C side's u32
			w.u32(uint32(v))
		case uint64:
			w.u64(v)
		case uint8:
			w.u8(v)
		case float64:
			w.u64(math.Float64bits(v))
		case string:
			w.str(v)
		case []byte:
			w.bytes(v)
		case uint8AndMore:
			w.b = append(w.b, v...)
		default:
			panic(v)
		}
	}
	if err := writeFrame(f.c, t, w.b); err != nil {
		os.Exit(91)
	}
}

// expect reads a frame and exits where it is another one.
func (f fake) expect(t frameType) *Reader {
	got, body, err := readFrame(f.c)
	if err != nil || got != t {
		fmt.Fprintf(os.Stderr, "fake agent: frame %d, %v; want %d\n", got, err, t)
		os.Exit(92)
	}
	return &Reader{b: body}
}

func (f fake) hello() { f.send(fHello, protocol, os.Getpid(), 13000, 130000, "") }

func (f fake) device() {
	f.send(fDevice, 0, "NVIDIA Test", []byte{1, 2}, uint64(80<<30), 9, 0, 132, 50<<20, 65536, 233472,
		232448, 2048, 1980000, 3201000)
}

// launch tells of a launch of k<<<8,128,64>>>(pointer, 5).
func (f fake) launch(id int, count uint64, why string) {
	args := binary.LittleEndian.AppendUint64(nil, 0x7f0000001000)
	args = binary.LittleEndian.AppendUint32(args, 5)
	same := bytes.Repeat([]byte{1}, 12)
	same[8] = 0
	f.send(fLaunch, id, 0, 1, "k", 8, 1, 1, 128, 1, 1, 64, 32, 1024, 0, 16, 1024, 90, 90, 49152, count,
		2, 0, 8, 8, 4, args, same, uint8AndMore{12, 64}, []byte{}, 1, 8, why, uint64(4096), []byte{},
		uint8(id-1))
}

type uint8AndMore []uint8

func check(ok bool, what string) {
	if !ok {
		fmt.Fprintln(os.Stderr, "fake agent:", what)
		os.Exit(93)
	}
}

var scripts = map[string]func(){
	"whole": func() {
		f := dial()
		f.hello()
		f.device()
		f.send(fModule, 1, smallELF())
		f.launch(1, 1, "")
		v := f.expect(fSession)
		check(v.U32() == 2 && v.Str() == "v" && v.U8() == 0 && v.Str() == "c" && v.U8() == 1 &&
			v.U8() == 0 && v.End() == nil, "variables")
		f.send(fReady, uint64(8192), 0.5)
		f.expect(fGolden)
		f.send(fNote, "in between")
		f.send(fOK, 2, uint64(1<<20), 12345.0, 2, uint64(0x1000), uint64(4096), uint64(0x9000),
			uint64(1<<20))
		load := f.expect(fLoad)
		check(load.Str() == "/a/candidate" && load.Str() == "" && load.U32() == 0 && load.U32() == 0 &&
			load.U32() == 0, "path")
		f.send(fOK, 1, 40, 1024, 8, 16, 512, 90, 90)
		r := f.expect(fRun)
		check(r.U32() == 1 && r.U32() == 3 && r.U8() == 1 && r.U32() == 5000, "run")
		f.send(fOK, 1.5, 2.5, 3.5)
		c := f.expect(fCheck)
		check(c.U32() == 1 && c.U32() == 5000 && c.U8() == 0 && c.U32() == 0, "check")
		f.send(fOK, uint8(0), uint64(7), "allocation 1 (device memory)", uint64(0x1000), uint64(4096),
			uint64(12), uint64(1), uint64(2), 0.25, 0.5, 0.125, 0.0625, 99.0)
		read := f.expect(fRead)
		check(read.U32() == 1 && read.Str() == "counts" && read.U64() == 3, "read")
		f.send(fOK, []byte{1, 2, 3})
		load = f.expect(fLoad)
		check(load.Str() == "/another" && load.Str() == "k" && load.U32() == 1664 && load.U32() == 4 &&
			load.U32() == 16 && load.U32() == 1 && load.U32() == 1 &&
			load.U32() == 64 && load.U32() == 1 && load.U32() == 1, "manner")
		f.send(fError, 209, "loading a candidate", "no binary for gpu")
		check(f.expect(fUnload).U32() == 1, "unload")
		f.send(fOK)
		check(f.expect(fGo).U64() == 5, "again")
		f.launch(1, 6, "")
		f.expect(fSession)
		f.send(fRefused, "the device is busy")
		check(f.expect(fGo).U64() == 5, "again")
		f.send(fSummary, uint8(1), uint64(2), 1, "wide", uint64(2), 0.25, uint64(4096), 1, 1, uint64(10),
			uint64(4), 2.0, 0.5, bytes.Repeat([]byte{1}, 12), uint8AndMore{9, 2},
			[]byte{}, 1, []byte{}, uint64(10), 0.5, uint64(2), uint8(1), uint64(9), uint64(3))
		f.send(fBye)
		fmt.Println("the application's own words")
		os.Exit(3)
	},
	"alone": func() {
		f := dial()
		f.hello()
		f.launch(4, 1, "") // on a device that was not reported, such as the 33rd
		f.expect(fGo)
		f.device()
		f.launch(1, 1, "") // of a module that was not reported
		f.expect(fGo)
		f.send(fModule, 1, []byte("no ELF"))
		f.launch(2, 1, "")
		f.expect(fGo)
		f.launch(3, 1, "managed memory")
		f.expect(fGo)
	},
	"nothing": func() { fmt.Println("no GPU in it") },

	"nothing after hello": func() { dial().hello() },
	"killed":              func() { f := dial(); f.hello(); syscall.Kill(os.Getpid(), syscall.SIGKILL); time.Sleep(time.Hour) },
	"protocol":            func() { f := dial(); f.send(fHello, protocol+1, 1, 2, 3, ""); f.gone() },
	"trouble":             func() { f := dial(); f.send(fHello, protocol, 1, 12000, 2, "no CUPTI here"); f.gone() },
	"garbage":             func() { f := dial(); f.c.Write(bytes.Repeat([]byte{0xff}, 100)); f.gone() },
	"garbage later": func() {
		f := dial()
		f.hello()
		f.c.Write(bytes.Repeat([]byte{0xff}, 100))
		f.gone()
	},
	"short":   func() { f := dial(); f.hello(); f.send(fDevice, 1); f.gone() },
	"long":    func() { f := dial(); f.hello(); f.send(fModule, 1, []byte("x"), 5); f.gone() },
	"unasked": func() { f := dial(); f.hello(); f.send(fOK); f.gone() },
	"unknown count": func() {
		f := dial()
		f.hello()
		f.send(fSummary, uint8(0), uint64(0), 0, uint64(0), 1, 77, uint64(1), uint64(0), 0.0, 0.0,
			[]byte{},
			uint8(0), []byte{}, 0)
		f.gone()
	},
	"outside": func() { // a parameter outside of the arguments
		f := dial()
		f.hello()
		f.send(fLaunch, 1, 0, 0, "k", 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, uint64(1), 1, 100, 8,
			[]byte{1}, []byte{1}, uint8(0), []byte{}, 0, "", uint64(0), []byte{}, uint8(0))
		f.gone()
	},
	"leaves": func() { f := tuned(); f.expect(fGolden); f.c.Close() },
	"fault": func() {
		f := tuned()
		f.expect(fGolden)
		f.send(fOK, 1, uint64(1), 1.0, 0)
		f.expect(fCheck)
		f.send(fFault, 700, "launching", "an illegal memory access was encountered")
		f.launch(2, 1, "the launch failed") // the application goes on
		f.expect(fGo)
		f.send(fBye)
	},
	"hung":   func() { f := tuned(); f.expect(fGolden); f.send(fHung); time.Sleep(time.Hour) },
	"silent": func() { f := tuned(); f.expect(fGolden); time.Sleep(time.Hour) },
	"two": func() {
		if os.Getenv("CHILD") == "" {
			os.Setenv("CHILD", "1")
			p, err := os.StartProcess(os.Args[0], os.Args,
				&os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
			check(err == nil, "child")
			defer p.Wait()
		}
		f := tuned()
		f.expect(fGo)
		f.send(fBye)
	},
	"sleeps": func() {
		f := dial()
		f.hello()
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		<-c
		os.Exit(4)
	},
}

// gone waits until the other end has hung up.
func (f fake) gone() {
	f.c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, _, err := readFrame(f.c); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		check(false, "the connection was not closed")
	}
}

// tuned goes as far as a session.
func tuned() fake {
	f := dial()
	f.hello()
	f.device()
	f.send(fModule, 1, smallELF())
	f.launch(1, 1, "")
	f.expect(fSession)
	f.send(fReady, uint64(0), 0.5)
	return f
}

type result struct {
	exit Exit
	err  error
	log  string
	out  string
}

func play(t *testing.T, script string, h *host, o Options) result {
	t.Helper()
	agent := filepath.Join(t.TempDir(), "agent.so")
	if err := os.WriteFile(agent, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o.Argv == nil {
		o.Argv = []string{os.Args[0]}
	}
	if o.Agent == "" {
		o.Agent = agent
	}
	o.Env = append(os.Environ(), append(o.Env, scriptEnv+"="+script)...)
	var mu sync.Mutex
	var log strings.Builder
	o.Log = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&log, format+"\n", args...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = out
	o.Replay = h.tune != nil
	exit, err := Run(ctx, o, h.host())
	os.Stdout = stdout
	text, _ := os.ReadFile(out.Name())
	return result{exit, err, log.String(), string(text)}
}

func TestWhole(t *testing.T) {
	var cubin string
	h := &host{again: func(*Launch) int { return 5 }}
	h.tune = func(l *Launch, s Session) {
		cubin = l.CubinPath
		if data, err := os.ReadFile(cubin); err != nil || !bytes.Equal(data, smallELF()) {
			t.Errorf("the cubin's file: %v", err)
		}
		w, err := s.Golden()
		if err != nil || !reflect.DeepEqual(w, Written{2, 1 << 20, 12345, []Stretch{{0x1000, 4096},
			{0x9000, 1 << 20}}}) {
			t.Errorf("golden: %+v, %v", w, err)
		}
		c, a, err := s.Load("/a/candidate", "")
		if err != nil || c != 1 || a != (Attributes{40, 1024, 8, 16, 512, 90, 90}) {
			t.Errorf("load: %v, %+v, %v", c, a, err)
		}
		if _, err := s.Measure(c, 0, Measurement{}); err == nil {
			t.Error("zero repetitions were measured")
		}
		ns, err := s.Measure(c, 3, Measurement{Cold: true})
		if err != nil || !reflect.DeepEqual(ns, []float64{1.5, 2.5, 3.5}) {
			t.Errorf("measure: %v, %v", ns, err)
		}
		d, err := s.Check(c)
		if err != nil || d != (Difference{false, 7, "allocation 1 (device memory)", 0x1000, 4096, 12, 1,
			2, 0.25, 0.5, 0.125, 0.0625, 99}) {
			t.Errorf("check: %+v, %v", d, err)
		}
		b, err := s.Read(c, "counts", 3)
		if err != nil || !bytes.Equal(b, []byte{1, 2, 3}) {
			t.Errorf("read: %v, %v", b, err)
		}
		if _, _, err := s.LoadAs("/another", "k", manner.Manner{Coarse: [3]int{3, 1, 1}}); err == nil {
			t.Error("a third of 8 blocks")
		}
		_, _, err = s.LoadAs("/another", "k", manner.Manner{Block: [3]int{64, 1, 1},
			Reserve: manner.Reserve{On: true, Dynamic: 1664, Carveout: 3}})
		var refused *CandidateError
		if !errors.As(err, &refused) || refused.Code != 209 || refused.Text != "no binary for gpu" {
			t.Errorf("a refusal: %v", err)
		}
		if err := s.Unload(c); err != nil {
			t.Error(err)
		}
	}
	r := play(t, "whole", h, Options{Limit: 5 * time.Second})
	if r.err != nil || r.exit.Code != 3 || r.exit.Signal != 0 || r.exit.Killed != "" ||
		r.out != "the application's own words\n" {
		t.Fatalf("%+v", r)
	}
	want := []string{"start", "launch 1 ", "tune", "launch 6 ", "left alone: the device is busy",
		"end"}
	if !reflect.DeepEqual(h.events, want) {
		t.Errorf("events %q, want %q", h.events, want)
	}
	l := h.launch[0]
	if l.Kernel != "k" || l.Grid != [3]int{8, 1, 1} || l.Block != [3]int{128, 1, 1} ||
		l.Dynamic != 64 || l.Registers != 32 || l.Shared != 1024 ||
		l.MaxThreads != 1024 || l.MaxDynamic != 49152 || l.Bytes != 4096 ||
		!reflect.DeepEqual(l.LaunchAttributes, []string{"priority"}) {
		t.Errorf("%+v", l)
	}
	if d := l.Device; d.Name != "NVIDIA Test" || d.Major != 9 || d.Multiprocessors != 132 ||
		d.L2 != 50<<20 || d.ClockKHz != 1980000 || d.UUID != "0102" {
		t.Errorf("%+v", d)
	}
	if p := h.starts[0]; p.Driver != 13000 || p.CUPTI != 130000 || p.Program == "" || p.PID == 0 {
		t.Errorf("%+v", p)
	}
	s := h.sums[0]
	if !s.Whole || s.Graphs != 2 || len(s.Kernels) != 1 || s.Kernels[0].Varied != 4 ||
		s.Kernels[0].Launch.Count != 10 {
		t.Errorf("%+v", s)
	}
	if want := []Unseen{{Why: "wide", Launches: 2, Seconds: 0.25}}; !reflect.DeepEqual(s.Unseen, want) {
		t.Errorf("%+v, want %+v", s.Unseen, want)
	}
	if p := s.Kernels[0].Launch.Params; p[0].Align != 9 || p[1].Align != 2 || p[1].Size != 4 ||
		p[1].Value[0] != 5 || p[1].Same[0] != 1 {
		t.Errorf("%+v", p)
	}
	if len(s.Notes) != 2 || !strings.Contains(s.Notes[0], "on the host") ||
		s.Notes[1] != "in between" {
		t.Errorf("notes %q", s.Notes)
	}
	if _, err := os.Stat(filepath.Dir(cubin)); err == nil {
		t.Errorf("%s was left behind", filepath.Dir(cubin))
	}
}

func TestLeftAlone(t *testing.T) {
	h := &host{tune: func(*Launch, Session) { t.Error("a session of a launch that can't be repeated") }}
	r := play(t, "alone", h, Options{})
	want := []string{"start", "launch 1 " + noDevice, "left alone: " + noDevice, "launch 1 its cubin is not known", "left alone: its cubin", "launch 1 reading a cubin: ",
		"left alone: reading", "launch 1 managed memory", "left alone: managed", "end"}
	if r.err != nil || r.exit.Code != 0 || len(h.events) != len(want) {
		t.Fatalf("%+v, %q", r, h.events)
	}
	for i := range want {
		if !strings.HasPrefix(h.events[i], want[i]) {
			t.Errorf("%q, want %q", h.events[i], want[i])
		}
	}
}

// Whatever an agent says, the application runs to its own end and the log says what was wrong.
func TestBadAgents(t *testing.T) {
	for script, want := range map[string]string{
		"nothing":       "",
		"protocol":      fmt.Sprintf("the agent speaks protocol %d, not %d", protocol+1, protocol),
		"garbage":       "no greeting",
		"garbage later": "no frame",
		"short":         "shorter than its fields",
		"long":          "too many",
		"unasked":       "not asked for",
		"unknown count": "did not report",
		"outside":       "outside of the 1 bytes",
	} {
		t.Run(script, func(t *testing.T) {
			r := play(t, script, &host{}, Options{})
			if r.err != nil || r.exit.Code != 0 || !strings.Contains(r.log, want) ||
				(want == "" && r.log != "") {
				t.Errorf("%+v", r)
			}
		})
	}
	t.Run("trouble", func(t *testing.T) {
		h := &host{}
		r := play(t, "trouble", h, Options{})
		if r.exit.Code != 0 || !reflect.DeepEqual(h.events, []string{"start", "end"}) ||
			h.starts[0].Trouble != "no CUPTI here" || h.sums[0].Whole {
			t.Errorf("%+v %q %+v", r, h.events, h.sums)
		}
	})
}

func TestEndsOfSessions(t *testing.T) {
	old := answerLimit
	defer func() { answerLimit = old }()
	answerLimit = 300 * time.Millisecond
	for script, want := range map[string]struct {
		err    error
		code   int
		killed bool
	}{
		"leaves": {ErrGone, 0, false},
		"hung":   {ErrHung, 137, true},
		"silent": {ErrHung, 137, true},
		"fault": {&Fault{Candidate: 0, Code: 700, Text: "an illegal memory access was encountered"}, 0,
			false},
	} {
		t.Run(script, func(t *testing.T) {
			var got error
			h := &host{tune: func(l *Launch, s Session) {
				_, got = s.Check(Original)
				if _, err := s.Measure(Original, 1, Measurement{}); !reflect.DeepEqual(err, got) {
					t.Errorf("afterwards: %v", err)
				}
			}}
			r := play(t, script, h, Options{Limit: 200 * time.Millisecond})
			if !reflect.DeepEqual(got, want.err) || r.exit.Code != want.code ||
				(r.exit.Killed != "") != want.killed || r.err != nil {
				t.Errorf("%v, %+v", got, r)
			}
			if h.events[len(h.events)-1] != "end" {
				t.Errorf("%q", h.events)
			}
		})
	}
}

func TestTwoProcesses(t *testing.T) {
	h := &host{tune: func(*Launch, Session) {}}
	r := play(t, "two", h, Options{})
	n := strings.Count(strings.Join(h.events, " "), "tune")
	if r.err != nil || r.exit.Code != 0 || n != 2 || len(h.sums) != 2 ||
		h.starts[0].PID == h.starts[1].PID {
		t.Errorf("%+v %q", r, h.events)
	}
}

func TestSignals(t *testing.T) {
	r := play(t, "killed", &host{}, Options{})
	if r.exit.Signal != syscall.SIGKILL || r.exit.Code != 137 || r.exit.Killed != "" {
		t.Errorf("%+v", r)
	}
	// An ended context is a SIGTERM to the application, and its exit code counts.
	ctx, cancel := context.WithCancel(context.Background())
	agent := filepath.Join(t.TempDir(), "agent.so")
	os.WriteFile(agent, nil, 0o600)
	time.AfterFunc(500*time.Millisecond, cancel)
	exit, err := Run(ctx, Options{Argv: []string{os.Args[0]}, Agent: agent, Env: append(os.Environ(),
		scriptEnv+"=sleeps")}, Host{})
	if err != nil || exit.Code != 4 {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Argv: []string{"/nonexistent/app"}}, "start the program"},
		{Options{Argv: []string{os.Args[0]}, Agent: "/nonexistent/agent.so"}, "finding the agent"},
		{Options{Env: []string{injection + "=/opt/nsys.so"}}, "another tool"},
	} {
		if r := play(t, "nothing", &host{}, c.o); r.err == nil || !strings.Contains(r.err.Error(),
			c.want) {
			t.Errorf("%+v", r)
		}
	}
	if _, err := Run(context.Background(), Options{}, Host{}); err == nil {
		t.Error("nothing was run")
	}
}

// TestPeer has another user connect to a socket that he can reach. He is turned away before a byte
// of his is read.
func TestPeer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("LOUD SKIP: takes root, to be two users")
	}
	// A folder below the test's own would not let another user in, nor would one in a home folder.
	dir, err := os.MkdirTemp("/tmp", "gnvcc-peer-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	agent, path := filepath.Join(dir, "agent.test"), filepath.Join(dir, "socket")
	if err := os.WriteFile(agent, self, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, open := range []string{dir, path} {
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for uid, welcome := range map[uint32]bool{12345: false, 0: true} {
		cmd := exec.Command(agent)
		cmd.Env = []string{scriptEnv + "=nothing after hello", socketEnv + "=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		l.SetDeadline(time.Now().Add(20 * time.Second))
		c, err := l.AcceptUnix()
		if err != nil {
			t.Fatalf("user %d did not connect: %v: %s", uid, err, said.String())
		}
		h := &host{}
		var log bytes.Buffer
		r := &run{host: h.host(), dir: dir, conns: map[*net.UnixConn]bool{},
			options: Options{Log: func(format string, args ...any) {
				fmt.Fprintf(&log, format+"\n", args...)
			}}}
		r.serve(t.Context(), c)
		c.Close()
		cmd.Wait()
		if got := len(h.starts) > 0; got != welcome || strings.Contains(log.String(),
			"turned away") == welcome {
			t.Errorf("user %d: taken %v, log %q", uid, got, log.String())
		}
	}
}

func TestDifferenceText(t *testing.T) {
	d := Difference{Words: 1, Where: "allocation 1", Offset: 128, Size: 4096, Got: 2, Want: 1}
	const first = " first in allocation 1 at byte 128 of 4096 (word 32): 0x2 instead of 0x1"
	if got, want := d.String(), "1 word differs,"+first; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.Words = 3
	if got, want := d.String(), "3 words differ,"+first; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
