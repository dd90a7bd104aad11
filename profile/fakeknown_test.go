package profile

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// A mixture is what the application tells of its launches: when, the argument, and each array.
type mixture map[string]map[uint64][]string

func (m mixture) size(when string, base uint64) uint64 {
	n, _ := strconv.ParseUint(m[when][base][0], 10, 64)
	return n
}

func told(t *testing.T, path string) (launches []mixture) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for line := range strings.Lines(string(text)) {
		w := strings.Fields(line)
		if w[0] == "before" && last != "before" {
			launches = append(launches, mixture{"before": {}, "after": {}})
		}
		last = w[0]
		base, _ := strconv.ParseUint(w[2], 10, 64)
		launches[len(launches)-1][w[0]][base] = w[3:]
	}
	return launches
}

// content is a capture's: ranges by their base, with what earlier ones have by their hashes, and
// hashes of what the launch left. It adds to what is known. False: it is not what was hashed.
func content(t *testing.T, path string, have map[string][]byte) (ranges, after map[uint64][]byte,
	sound bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ranges, after, sound = map[uint64][]byte{}, map[uint64][]byte{}, true
	var base uint64
	var sums []byte
	for len(b) >= 16 {
		n := binary.LittleEndian.Uint64(b[8:])
		body := b[16 : 16+n]
		switch binary.LittleEndian.Uint32(b) {
		case 3:
			base, sums = binary.LittleEndian.Uint64(body), nil
			ranges[base] = make([]byte, binary.LittleEndian.Uint64(body[8:]))
		case 4:
			at := binary.LittleEndian.Uint64(body) - base
			copy(ranges[base][at:], body[8:])
			if i := at >> 20 * 17; len(body) == 8+1<<20 && i < uint64(len(sums)) {
				have[string(sums[i+1:i+17])] = body[8:]
				sound = sound && chunkSum(body[8:]) == string(sums[i+1:i+17])
			}
		case 6:
			after[binary.LittleEndian.Uint64(body[4:])] = body[12:]
		case 13:
			sums = body
			for i := 0; i < len(body); i += 17 {
				if old := have[string(body[i+1:i+17])]; body[i] == 1 && old != nil {
					copy(ranges[base][i/17<<20:], old)
				} else if body[i] == 1 {
					t.Errorf("%s names what no capture has", path)
				}
			}
		}
		b = b[16+n:]
	}
	return ranges, after, sound
}

// chunkSum is as the agent has it (capture.Sum, which can't be imported here).
func chunkSum(b []byte) string {
	mix := func(v uint64) uint64 {
		v = (v ^ v>>32) * 0xd6e8feb86659fd93
		v = (v ^ v>>29) * 0x9fb21c651e98df25
		return v ^ v>>32
	}
	var x, y uint64
	for i := uint64(1); len(b) >= 8; b, i = b[8:], i+1 {
		v := binary.LittleEndian.Uint64(b)
		x, y = x+mix(v+i*0x9e3779b97f4a7c15), y+mix(v^i*0xc2b2ae3d27d4eb4f)
	}
	return string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, x), y))
}

// TestMixedMemory: whatever memory a program has, and whatever fails, a capture has every byte as
// it was before the launch, of all that can be reached, and hashes of all that it left; or there is
// none, and the reason is said. The program computes what it computes by itself. What something
// else changes meanwhile is not what was hashed.
func TestMixedMemory(t *testing.T) {
	f := newFakeDriver(t)
	seeds, whole, changed := 1, 0, 0
	if os.Getenv("GNVCC_TESTS") != "" {
		seeds = 10
	}
	faults := []string{"", "FAIL=cuMemAlloc_v2", "FAIL=cuMemAlloc_v2 EACH=1", "FAIL=cuLaunchKernel",
		"FAIL=cuLaunchKernel EACH=2", "FAIL=cuModuleLoadData", "FAIL=cuMemcpyDtoH_v2 EACH=3",
		"FAIL=cuStreamSynchronize EACH=1", "FAIL=cuMemHostRegister_v2", "FAIL=cuMemGetInfo_v2", "FULL=1",
		"CHANGES=1", "CHANGES=3", "CHANGES=9", "FAIL=cuStreamQuery EACH=7"}
	for seed := range seeds * len(faults) {
		fault := faults[seed%len(faults)]
		told := filepath.Join(t.TempDir(), "told")
		h := &each{dir: t.TempDir()}
		h.verdict = Verdict{Limit: 1 << 30}
		exit, log := f.run(t, h, "mix", true, append(strings.Fields(fault), "TOLD="+told,
			"SEED="+fmt.Sprint(seed))...)
		if exit.Code != 7 || len(h.got)+len(h.why) != 6 {
			t.Fatalf("%d, %s: %+v, %s, %+v, %q", seed, fault, exit, log, h.got, h.why)
		}
		whole += h.check(t, fmt.Sprintf("SEED=%d %s", seed, fault), told, &changed)
	}
	if whole < seeds*len(faults) || changed == 0 {
		t.Errorf("%d captures are whole, and %d were seen to be changed", whole, changed)
	}
}

func (h *each) check(t *testing.T, what, path string, changed *int) (whole int) {
	have := map[string][]byte{}
	next := 0 // of those that were not refused at once
	for i, l := range told(t, path) {
		if _, err := os.Stat(h.paths[i]); err != nil {
			continue // with its reason, or the caller's count is wrong
		}
		for h.got[next].Why != "" {
			next++
		}
		next++
		ranges, after, sound := content(t, h.paths[i], have)
		if !sound {
			*changed++
			continue
		}
		whole++
		reached := 0
		for base, b := range ranges {
			if l["before"][base] == nil {
				if len(b) != 1<<20 { // the application's first array
					t.Errorf("%s: launch %d: nobody has memory at %#x", what, i, base)
				}
				continue
			}
			if len(after[base]) != (len(b)+1<<20-1)>>20*16 {
				t.Errorf("%s: launch %d: %d bytes of hashes for %d", what, i, len(after[base]), len(b))
				continue
			}
			for k, want := range l["before"][base][1:] {
				part := b[k<<20 : min(len(b), (k+1)<<20)]
				hash := uint64(1)
				for _, c := range part {
					hash = hash*31 + uint64(c)
				}
				if got, _, _ := strings.Cut(want, ":"); got != fmt.Sprint(hash) && !strings.Contains(what, "CHANGES") {
					t.Errorf("%s: launch %d: MiB %d at %#x is not what it was", what, i, k, base)
				}
				sums := after[base][16*k:]
				// CHANGES may have hit our own sums on their way.
				if _, got, _ := strings.Cut(l["after"][base][1+k], ":"); got != fmt.Sprintf("%d:%d",
					binary.LittleEndian.Uint64(sums), binary.LittleEndian.Uint64(sums[8:])) &&
					!strings.Contains(what, "CHANGES") {
					t.Errorf("%s: launch %d: MiB %d at %#x is not what the launch left", what, i, k, base)
				}
			}
			reached++
			for other := range l["before"] {
				size := l.size("before", other)
				for at := 0; ranges[other] == nil && at+8 <= len(b); at += 8 {
					if binary.LittleEndian.Uint64(b[at:])-other < size {
						t.Errorf("%s: launch %d: what %#x points to is not captured", what, i, base+uint64(at))
					}
				}
			}
		}
		if reached == 0 {
			t.Errorf("%s: launch %d: nothing is captured", what, i)
		}
	}
	return whole
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
