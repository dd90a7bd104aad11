package profile

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// each wants every launch once, in a file of its own.
type each struct {
	capturing
	dir   string
	paths []string
}

func (h *each) Launch(l *Launch) Verdict {
	h.capturing.Launch(l)
	h.paths = append(h.paths, filepath.Join(h.dir, fmt.Sprint(len(h.paths))))
	v := h.verdict
	v.Capture = h.paths[len(h.paths)-1]
	return v
}

// counts gives how many data records a file has, and how many MiB it says another one has.
func counts(t *testing.T, path string) (data, known int) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) >= 16 {
		n := binary.LittleEndian.Uint64(b[8:])
		body := b[16 : 16+n]
		switch binary.LittleEndian.Uint32(b) {
		case 4:
			data++
		case 13:
			for i := 0; i < len(body); i += 17 {
				known += int(body[i])
			}
		}
		b = b[16+n:]
	}
	return data, known
}

// TestKnownChunks: of two launches that reach the same arrays the second capture has what has
// changed and what holds an address, and names the rest; the rest counts as memory that it reaches
// all the same. What ends a capture is said.
func TestKnownChunks(t *testing.T) {
	f := newFakeDriver(t)
	for _, c := range []struct {
		v    Verdict
		want [][2]int
		why  string
	}{
		{Verdict{Limit: 1 << 30}, [][2]int{{7, 0}, {2, 6}}, ""},
		{Verdict{Limit: 7 << 20}, [][2]int{{7, 0}}, TooLarge},
		{Verdict{Limit: 1 << 30, Room: 3 << 20}, nil, NoRoom + " " + NoRoom},
		{Verdict{Limit: 1 << 30, Stand: time.Nanosecond}, nil, TooSlow + " " + TooSlow},
	} {
		h := &each{dir: t.TempDir()}
		h.verdict = c.v
		exit, log := f.run(t, h, "arrays", true, "ARRAYS=6,4", "HOLES=2")
		if exit.Code != 7 || strings.Join(h.why, " ") != c.why || len(h.got) != len(c.want) {
			t.Fatalf("%+v: %+v, %s, %+v, %q", c.v, exit, log, h.got, h.why)
		}
		for i, want := range c.want {
			if data, known := counts(t, h.paths[i]); data != want[0] || known != want[1] {
				t.Errorf("capture %d: %d MiB, and %d of another one, want %v", i, data, known, want)
			}
		}
	}
}

// BenchmarkCapture: how long the program stands still, on a driver whose device is memory of the
// host, for 1.25 GiB of numbers and then for the same once more.
func BenchmarkCapture(b *testing.B) {
	f := newFakeDriver(b)
	for b.Loop() {
		h := &each{dir: b.TempDir()}
		h.verdict = Verdict{Limit: 16 << 30, Stand: time.Minute}
		f.run(b, h, "arrays", true, "ARRAYS=512,512,256")
		if len(h.got) != 2 {
			b.Fatal(h.why)
		}
		for i, g := range h.got {
			b.ReportMetric(g.Before.Seconds(), []string{"s-first", "s-second"}[i])
		}
	}
}
