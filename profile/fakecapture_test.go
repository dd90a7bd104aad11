package profile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// capturing is a host that wants each launch once.
type capturing struct {
	scripted
	verdict Verdict
	mu      sync.Mutex
	got     []Captured
	why     []string
}

func (h *capturing) Launch(l *Launch) Verdict {
	h.scripted.Launch(l)
	return h.verdict
}

func (h *capturing) Captured(l *Launch, c Captured) Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, c)
	return Verdict{}
}

func (h *capturing) LeftAlone(l *Launch, reason string) Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.why = append(h.why, reason)
	return Verdict{}
}

// TestBesideOthers: what a kernel takes is not what it waits for the blocks of other streams; a
// launch is captured though the device has work for a second yet.
func TestBesideOthers(t *testing.T) {
	f := newFakeDriver(t)
	for what, want := range map[string]float64{"streams": 0.5e-3, "times": 8e-3} {
		h := &capturing{}
		h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
		exit, log := f.run(t, h, what, true, "BESIDE=1", "BUSY=1000")
		if exit.Code != 7 || len(h.got) != 1 || len(h.sums) == 0 {
			t.Fatalf("%s: %+v, %s, %q, %+v", what, exit, log, h.why, h.sums)
		}
		k := h.sums[len(h.sums)-1].Kernels[0]
		if each := k.Seconds / float64(k.Launch.Count); k.Sampled < 3 || math.Abs(each-want) > want/10 {
			t.Errorf("%s: %d launches of %g s, want %g", what, k.Sampled, each, want)
		}
	}
}

// TestLargeCapture: what is written while the next piece is read is what the memory held, in order,
// without what is zero; what an address in it points to is there, too. A limit ends it with the
// reason, and no file is left.
func TestLargeCapture(t *testing.T) {
	f := newFakeDriver(t)
	h := &capturing{}
	h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
	exit, log := f.run(t, h, "large", true)
	if exit.Code != 7 || len(h.got) != 1 || h.got[0].Why != "" {
		t.Fatalf("%+v, %s, %+v, %q, %q", exit, log, h.got, h.why, h.events)
	}
	file, err := os.Open(h.verdict.Capture)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const size = 50<<20 + 12345
	var base, length, end uint64
	var last uint32
	ranges, chunks := 0, 0
	for r := bufio.NewReaderSize(file, 1<<20); last != 7; {
		var head [16]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			t.Fatal(err)
		}
		last = binary.LittleEndian.Uint32(head[:])
		body := make([]byte, binary.LittleEndian.Uint64(head[8:]))
		if _, err := io.ReadFull(r, body); err != nil {
			t.Fatal(err)
		}
		switch last {
		case 3:
			base, length = binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint64(body[8:])
			ranges, end = ranges+1, base
		case 4:
			at := binary.LittleEndian.Uint64(body)
			if at < end || at+uint64(len(body))-8 > base+length {
				t.Fatalf("data at %#x behind %#x, of %d bytes at %#x", at, end, length, base)
			}
			end = at + uint64(len(body)) - 8
			if length != size {
				continue
			}
			chunks++
			for i, b := range body[8:] {
				o := at - base + uint64(i)
				if want := byte(o*31 + o>>20*7); b != want && (o < 40<<20 || o >= 40<<20+8) || o>>20%3 == 2 {
					t.Fatalf("%d at %#x, want %d", b, o, want)
				}
			}
		}
	}
	if ranges != 2 || chunks != 51-17 {
		t.Errorf("%d ranges, %d pieces of the large one", ranges, chunks)
	}
	info, _ := file.Stat()
	if h.got[0].Bytes != info.Size() || h.got[0].Before <= 0 || h.got[0].Before > time.Minute {
		t.Errorf("%+v of %d bytes", h.got[0], info.Size())
	}

	h = &capturing{}
	h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 20<<20
	exit, _ = f.run(t, h, "large", true)
	if exit.Code != 7 || len(h.why) != 1 || h.why[0] != TooLarge {
		t.Errorf("%+v, %+v, %q", exit, h.got, h.why)
	}
	if _, err := os.Stat(h.verdict.Capture); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part of a capture is left: %v", err)
	}
}

// TestOtherModule: a variable of another module that an argument points to is captured as memory
// like any other, all of it, with hashes of what the launch left in it. Where the driver says
// anything else of it than of a variable of this context, it is not, and the reason is said.
func TestOtherModule(t *testing.T) {
	f := newFakeDriver(t)
	for bad, want := range map[string]string{"": "", "host": "not on the device",
		"managed": "managed memory", "device": "another context or device",
		"context": "another context or device", "odd": "does not report the extent",
		"short": "does not report the extent", "shared": "known only in part"} {
		h := &capturing{}
		h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
		what := "theirs"
		if bad == "shared" {
			what = "part of theirs"
		}
		exit, log := f.run(t, h, what, true, "BAD_VARIABLE="+bad)
		why := strings.Join(h.why, "\n")
		if exit.Code != 7 || (want == "") != (why == "") || !strings.Contains(why, want) {
			t.Errorf("%q: %+v, %s, %q, %q", bad, exit, log, why, h.events)
		}
		if want != "" {
			continue
		}
		if len(h.got) != 1 || h.got[0].Why != "" {
			t.Fatalf("%+v", h.got)
		}
		b, err := os.ReadFile(h.verdict.Capture)
		if err != nil {
			t.Fatal(err)
		}
		var base uint64
		data, hashed := 0, 0
		for len(b) >= 16 {
			n := binary.LittleEndian.Uint64(b[8:])
			body := b[16 : 16+n]
			switch binary.LittleEndian.Uint32(b) {
			case 3:
				base = binary.LittleEndian.Uint64(body)
				if size := binary.LittleEndian.Uint64(body[8:]); size != 2<<20 {
					t.Errorf("a range of %d bytes", size)
				}
			case 4:
				at := binary.LittleEndian.Uint64(body) - base
				for i, v := range body[8:] {
					if v != byte((int(at)+i)*3+2) {
						t.Fatalf("%d at %d", v, int(at)+i)
					}
				}
				data += len(body) - 8
			case 6:
				hashed++
			}
			b = b[16+n:]
		}
		if data != 2<<20 || hashed != 1 {
			t.Errorf("%d bytes, %d ranges with hashes", data, hashed)
		}
	}
}

// TestOddVariable: one in constant memory, which kernels can't write, may stand anywhere; one that
// is hashed may not.
func TestOddVariable(t *testing.T) {
	f := newFakeDriver(t)
	for name, want := range map[string]string{"c": "", "v": "not aligned"} {
		h := &capturing{}
		h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
		exit, log := f.run(t, h, "theirs", true, "ODD_VARIABLE="+name)
		why := strings.Join(h.why, "\n")
		if exit.Code != 7 || (want == "") != (why == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %+v, %s, %q", name, exit, log, why)
		}
		if want == "" && (len(h.got) != 1 || h.got[0].Why != "") {
			t.Errorf("%s: %+v", name, h.got)
		}
	}
}

// TestBusyHost: host memory that a thread of the program's writes all the time is not captured, and
// the reason is said; the same memory, left in peace, is, as memory of the host.
func TestBusyHost(t *testing.T) {
	f := newFakeDriver(t)
	for what, want := range map[string]string{"quiet host": "", "pinned host": "",
		"busy host": "CPU threads write to memory that the launch reaches, also while no kernel runs"} {
		for tries := 1; ; tries++ { // on a busy machine the thread may not have run meanwhile
			h := &capturing{}
			h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
			exit, log := f.run(t, h, what, true)
			if exit.Code == 7 && len(h.got) == 1 && h.got[0].Why == want {
				if b, _ := os.ReadFile(h.verdict.Capture); want == "" && !hostRange(b) {
					t.Errorf("%s: no memory of the host in it", what)
				}
				break
			}
			if want == "" || tries == 10 {
				t.Fatalf("%s: %+v, %s, %+v, %q", what, exit, log, h.got, h.why)
			}
		}
	}
}

// TestLate: behind the launch, too, a capture ends when its time is over.
func TestLate(t *testing.T) {
	f := newFakeDriver(t)
	h := &capturing{}
	h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
	h.verdict.Stand = 2 * time.Second
	exit, log := f.run(t, h, "pinned host", true, "SLOW=2500")
	if exit.Code != 7 || len(h.got) != 1 || h.got[0].Why != TooSlow {
		t.Fatalf("%+v, %s, %+v, %q", exit, log, h.got, h.why)
	}
	if _, err := os.Stat(h.verdict.Capture); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its file is left: %v", err)
	}
}

// TestForkedBeside: a child that another thread forks in the midst of a capture has no part in it.
func TestForkedBeside(t *testing.T) {
	h := &capturing{}
	h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
	exit, log := newFakeDriver(t).run(t, h, "forks", true, "SLOW=1500", "CAPTURE="+h.verdict.Capture)
	if exit.Code != 7 || len(h.got) != 1 || h.got[0].Why != "" {
		t.Fatalf("%+v, %s, %+v, %q", exit, log, h.got, h.why)
	}
}

// TestKilledHost: where gnvcc is killed in the midst of a capture, the program goes on, and its
// agent removes the file, which nobody else would do.
func TestKilledHost(t *testing.T) {
	if dir := os.Getenv("GNVCC_TEST_KILLED_HOST"); dir != "" {
		h := &capturing{}
		h.verdict.Capture, h.verdict.Limit = filepath.Join(dir, "capture"), 1<<30
		newFakeDriver(t).run(t, h, "large", true, "SLOW=3000")
		t.Fatal("it was not killed")
	}
	toolkit(t)
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledHost$")
	cmd.Env = append(os.Environ(), "GNVCC_TEST_KILLED_HOST="+dir, "TMPDIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		_, err := os.Stat(filepath.Join(dir, "capture"))
		return err == nil
	}
	for end := time.Now().Add(time.Minute); !there(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			cmd.Process.Kill()
			t.Fatal("no capture was begun")
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	for end := time.Now().Add(time.Minute); there(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the file is left")
		}
	}
}

// hostRange tells whether the agent's file has two MiB of the host's memory.
func hostRange(b []byte) bool {
	for len(b) >= 16 {
		n := binary.LittleEndian.Uint64(b[8:])
		if body := b[16 : 16+n]; binary.LittleEndian.Uint32(b) == 3 &&
			binary.LittleEndian.Uint64(body[8:]) == 2<<20 && body[16] == 1 {
			return true
		}
		b = b[16+n:]
	}
	return false
}

// TestTooLarge: the agent says it in these words.
func TestTooLarge(t *testing.T) {
	text, err := os.ReadFile("agent/source/capture.c")
	if err != nil || !strings.Contains(string(text), `"`+TooLarge+`"`) {
		t.Errorf("agent/source/capture.c does not have %q: %v", TooLarge, err)
	}
}
