package profile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gnvcc/install/kits"
)

// Captures, on the fake driver.

// TestLargeCapture: what is written while the next piece is read is what the memory held, in order,
// without what is zero; what an address in it points to is there, too. A limit ends it with the
// reason, and no file is left.
func TestLargeCapture(t *testing.T) {
	kits.Long(t, "TestMixedMemory captures, too")
	f := newFakeDriver(t)
	h := f.captured(t, Order{}, "large")
	h.whole(t)
	const size = 50<<20 + 12345
	var base, length uint64
	ranges, chunks := 0, map[uint64]bool{}
	for _, r := range records(t, h.paths[0]) {
		switch r.kind {
		case recRange:
			if ranges++; r.u64(8) == size {
				base, length = r.u64(0), r.u64(8)
			}
		case recData:
			at := r.u64(0)
			if at-base >= length {
				continue
			}
			if chunks[at] || at+uint64(len(r.body))-8 > base+length {
				t.Fatalf("data at %#x, of %d bytes at %#x", at, length, base)
			}
			chunks[at] = true
			for i, b := range r.body[8:] {
				o := at - base + uint64(i)
				if want := byte(o*31 + o>>20*7); b != want && (o < 40<<20 || o >= 40<<20+8) || o>>20%3 == 2 {
					t.Fatalf("%d at %#x, want %d", b, o, want)
				}
			}
		}
	}
	if ranges != 2 || len(chunks) != 51-17 {
		t.Errorf("%d ranges, %d pieces of the large one", ranges, len(chunks))
	}
	info, err := os.Stat(h.paths[0])
	if err != nil || h.written[h.paths[0]] != info.Size() || h.got[0].Before <= 0 || h.got[0].Before > time.Minute {
		t.Errorf("%+v of %+v, %v", h.got[0], info, err)
	}
}

// TestRefused: what can't be captured is not, the reason is said, and no file is left; what stands
// beside it can.
func TestRefused(t *testing.T) {
	f := newFakeDriver(t)
	const busy = "CPU threads write to memory that the launch reaches, also while no kernel runs"
	for _, c := range []struct {
		what, env string
		order     Order
		why       string // before the launch; or behind it
	}{
		{"large", "", Order{Limit: 20 << 20}, TooLarge},
		{"managed", "", Order{}, ""},
		{"managed", "", Order{Limit: 1 << 18}, TooLarge}, // whatever is in it
		// a variable of another module, of which the driver says something else than of one of this context
		{"theirs", "BAD_VARIABLE=host", Order{}, "not on the device"},
		{"theirs", "BAD_VARIABLE=managed", Order{}, "managed memory"},
		{"theirs", "BAD_VARIABLE=device", Order{}, "another context or device"},
		{"theirs", "BAD_VARIABLE=context", Order{}, "another context or device"},
		{"theirs", "BAD_VARIABLE=odd", Order{}, "does not report the extent"},
		{"theirs", "BAD_VARIABLE=short", Order{}, "does not report the extent"},
		{"part of theirs", "", Order{}, "known only in part"},
		// one in constant memory, which kernels can't write, may stand anywhere; one that is hashed may not
		{"theirs", "ODD_VARIABLE=c", Order{}, ""},
		{"theirs", "ODD_VARIABLE=v", Order{}, "not aligned"},
		{"pinned host", "", Order{Stand: 2 * time.Millisecond}, TooSlow}, // behind the launch, too: a rest is that long
		{"quiet host", "", Order{}, ""},
		{"pinned host", "", Order{}, ""},
		{"pinned host", "COMBINED=1", Order{}, "write-combined memory, which is very slow to read"},
		{"busy host", "", Order{}, busy},
	} {
		for tries := 1; ; tries++ {
			h := f.captured(t, c.order, c.what, c.env)
			why := strings.Join(h.why, "\n")
			if len(h.got) > 0 {
				why += h.got[0].Why
			}
			if c.why == busy && why == "" && tries < 10 {
				continue // on a busy machine the thread may not have run meanwhile
			}
			if (c.why == "") != (why == "") || !strings.Contains(why, c.why) || len(h.got)+len(h.why) != 1 {
				t.Errorf("%s %s: %q, %q", c.what, c.env, why, h.events)
			} else if why != "" {
				left(t, h.dir)
			} else if strings.HasSuffix(c.what, "host") && !slices.ContainsFunc(records(t, h.paths[0]),
				func(r record) bool { return r.kind == recRange && r.u64(8) == 2<<20 && r.body[16] == 1 }) {
				t.Errorf("%s: no memory of the host in it", c.what)
			}
			break
		}
	}
	text, err := os.ReadFile("agent/source/capture.c")
	more, _ := os.ReadFile("agent/source/out.c")
	text = append(text, more...)
	for _, words := range []string{TooLarge, TooSlow, NoRoom} {
		if err != nil || !strings.Contains(string(text), `"`+words+`"`) {
			t.Errorf("agent/source/capture.c does not have %q: %v", words, err)
		}
	}
}

// TestBusy: captures do not wait again and again for work that waits itself.
func TestBusy(t *testing.T) {
	f := newFakeDriver(t)
	begun := time.Now()
	h := f.captured(t, Order{}, "grids", "BUSY=60000")
	if took := time.Since(begun); len(h.why) != 12 || took < 4*time.Second || took > 20*time.Second {
		t.Errorf("%q after %v", h.why, took)
	}
	for _, why := range h.why {
		if why != "the device is busy" {
			t.Error(why)
		}
	}
}

// TestOtherModule: a variable of another module that an argument points to is captured as memory
// like any other, all of it, with hashes of what the launch left in it.
func TestOtherModule(t *testing.T) {
	h := newFakeDriver(t).captured(t, Order{}, "theirs")
	h.whole(t)
	var base uint64
	data, hashed := 0, 0
	for _, r := range records(t, h.paths[0]) {
		switch r.kind {
		case recRange:
			if base = r.u64(0); r.u64(8) != 2<<20 {
				t.Errorf("a range of %d bytes", r.u64(8))
			}
		case recData:
			for i, v := range r.body[8:] {
				if at := int(r.u64(0)-base) + i; v != byte(at*3+2) {
					t.Fatalf("%d at %d", v, at)
				}
			}
			data += len(r.body) - 8
		case recAfter:
			hashed++
		}
	}
	if data != 2<<20 || hashed != 1 {
		t.Errorf("%d bytes, %d ranges with hashes", data, hashed)
	}
}

// TestForkedBeside: a child that another thread forks in the midst of a capture has no part in it.
func TestForkedBeside(t *testing.T) {
	h := &host{dir: t.TempDir()}
	newFakeDriver(t).run(t, h, "forks", true, "SLOW=1500", "CAPTURE="+filepath.Join(h.dir, "0"))
	h.whole(t)
}

// TestKilledHost: where gnvcc is killed in the midst of a capture, the program goes on, and its
// agent removes the file, which nobody else would do.
func TestKilledHost(t *testing.T) {
	if dir := os.Getenv("GNVCC_TEST_KILLED_HOST"); dir != "" {
		newFakeDriver(t).run(t, &host{dir: dir}, "large", true, "SLOW=3000")
		t.Fatal("it was not killed")
	}
	f, dir, tmp := newFakeDriver(t), t.TempDir(), t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledHost$")
	cmd.Env = append(os.Environ(), "GNVCC_TEST_KILLED_HOST="+dir, "TMPDIR="+tmp,
		fakeEnv+"="+f.dir+" "+f.agent)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await := func(there bool) bool {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, "0")); (err == nil) == there {
				return true
			}
		}
		return false
	}
	begun := await(true)
	cmd.Process.Kill()
	cmd.Wait()
	if !begun || !await(false) {
		t.Fatalf("a capture was begun: %v; its file is left", begun)
	}
}

// TestTakesNumbers: a program that closes the descriptor of a capture, and gets its number for a
// file of its own, does not find the capture in that.
func TestTakesNumbers(t *testing.T) {
	h, dir := &host{dir: t.TempDir()}, t.TempDir()
	exit, log := newFakeDriver(t).try(t, h, "takes numbers", true, "CAPTURE="+filepath.Join(h.dir, "0"),
		"KEPT="+filepath.Join(dir, "kept"))
	if exit.Code != 7 {
		t.Errorf("%+v, %s", exit, log)
	}
	var all int64
	for n := range 20 {
		info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("kept.%d", n)))
		if err != nil {
			t.Fatal(err)
		}
		all += info.Size()
	}
	// Of 200 MB: one write may have been about to begin when the program took its number.
	if all > 20<<20 {
		t.Errorf("the program's files have %d bytes", all)
	}
}

// TestTextures: of the objects that there are a capture has those whose handles the launch is given
// or finds in memory, with what they are over: an array with what it holds, which is hashed behind
// the launch where a surface may write it; or memory. What can't be had is said, and no array is
// touched of a kernel that reads no texture.
func TestTextures(t *testing.T) {
	f := newFakeDriver(t)
	cubin := filepath.Join(t.TempDir(), "cubin") // its kernel k reads a texture: TEX
	if err := os.WriteFile(cubin, smallELF(append([]byte{0x60, 0x7f}, make([]byte, 14)...)...), 0o600); err != nil {
		t.Fatal(err)
	}
	type counts struct{ arrays, objects, ranges, hashed int }
	for what, want := range map[string]struct {
		counts
		why string
	}{
		"textures":                          {counts{1, 1, 0, 0}, ""},
		"textures in memory":                {counts{1, 1, 1, 1}, ""},
		"textures linear":                   {counts{0, 1, 1, 1}, ""},
		"textures surface":                  {counts{1, 1, 0, 1}, ""},
		"textures both":                     {counts{1, 2, 0, 1}, ""},
		"textures linear nowhere":           {why: "over memory that is not known"},
		"textures linear nowhere in memory": {why: "no handle of one is among its arguments"},
		"textures mipmapped":                {why: "over a mipmapped array"},
		"textures gone":                     {why: "no handle of one is among its arguments"},
		"textures sparse":                   {why: "over an array that can't be copied"},
		"textures destroyed":                {why: "no handle of one is among its arguments"},
		"textures not read":                 {},
		"textures unread":                   {why: "array that the launch reaches can't be read"},
	} {
		var env []string
		if what != "textures not read" {
			env = append(env, "CUBIN="+cubin)
		}
		if what == "textures unread" {
			env = append(env, "FAIL=cuMemcpy3DAsync_v2")
		}
		h := f.captured(t, Order{}, what, env...)
		if why := strings.Join(h.why, "\n"); (want.why == "") != (why == "") || !strings.Contains(why, want.why) {
			t.Errorf("%s: %q, %q", what, why, h.events)
		}
		if want.why != "" {
			left(t, h.dir)
			continue
		}
		h.whole(t)
		var got counts
		in := false // data is an array's
		for _, r := range records(t, h.paths[0]) {
			switch r.kind {
			case recRange:
				got.ranges, in = got.ranges+1, false
			case recData:
				for i, v := range r.body[8:] {
					if in && (v != byte(i*5+1) || len(r.body) != 8+600) {
						t.Fatalf("%s: %d at %d of %d", what, v, i, len(r.body)-8)
					}
				}
			case recAfter:
				if got.hashed++; got.ranges == 0 && r.u64(4) != 1 {
					t.Errorf("%s: hashes of %#x", what, r.u64(4))
				}
			case recArray:
				got.arrays, in = got.arrays+1, true
				if r.u64(0) != 1 || r.u64(8) != 600 || len(r.body) != 16+40 {
					t.Errorf("%s: an array %v", what, r.body)
				}
			case recObject:
				got.objects++
				if r.u64(0) != 5 || len(r.body) != 24+4+144+4+104+112 || (r.u64(16) == 1) != (want.arrays == 1) {
					t.Errorf("%s: an object %v", what, r.body)
				}
			}
		}
		if got != want.counts {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
}

// TestKnownChunks: of two launches that reach the same arrays the second capture has what has
// changed and what holds an address, and names the rest; the rest counts as memory that it reaches
// all the same. What ends a capture is said.
func TestKnownChunks(t *testing.T) {
	f := newFakeDriver(t)
	for _, c := range []struct {
		order Order
		want  [][2]int // data records, MiB that an earlier capture has
		why   string
	}{
		{Order{}, [][2]int{{7, 0}, {2, 6}}, ""},
		{Order{Limit: 7 << 20}, [][2]int{{7, 0}}, TooLarge},
		{Order{Room: 3 << 20}, nil, NoRoom + " " + NoRoom},
		{Order{Stand: time.Nanosecond}, nil, TooSlow + " " + TooSlow},
	} {
		h := f.captured(t, c.order, "arrays", "ARRAYS=6,4", "HOLES=2")
		if strings.Join(h.why, " ") != c.why || len(h.got) != len(c.want) {
			t.Fatalf("%+v: %+v, %q", c, h.got, h.why)
		}
		for i, want := range c.want {
			var got [2]int
			for _, r := range records(t, h.paths[i]) {
				if r.kind == recData {
					got[0]++
				}
				for k := 0; r.kind == recBefore && k < len(r.body); k += 17 {
					got[1] += int(r.body[k])
				}
			}
			if got != want {
				t.Errorf("capture %d: %d MiB, and of another one, want %d", i, got, want)
			}
		}
	}
}

// A mixture is what the application says of a launch's memory, before it and after it: of each array
// its size and the hash of each MiB.
type mixture struct{ before, after map[uint64][]uint64 }

func told(t *testing.T, path string) (launches []mixture) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for line := range strings.Lines(string(text)) {
		w := strings.Fields(line)
		if w[0] == "before" && last != "before" {
			launches = append(launches, mixture{map[uint64][]uint64{}, map[uint64][]uint64{}})
		}
		last = w[0]
		var n []uint64
		for _, word := range w[1:] {
			v, _ := strconv.ParseUint(word, 10, 64)
			n = append(n, v)
		}
		l := launches[len(launches)-1]
		map[string]map[uint64][]uint64{"before": l.before, "after": l.after}[last][n[0]] = n[1:]
	}
	return launches
}

// content is a capture's: ranges by their base, with what earlier ones have by their hashes, and
// hashes of what the launch left. It adds to what is known. False: it is not what was hashed.
func content(t *testing.T, path string, have map[string][]byte) (ranges, after map[uint64][]byte,
	sound bool) {
	ranges, after, sound = map[uint64][]byte{}, map[uint64][]byte{}, true
	var base uint64
	sums := map[uint64][]byte{}
	for _, r := range records(t, path) {
		switch r.kind {
		case recRange:
			base = r.u64(0)
			ranges[base] = make([]byte, r.u64(8))
		case recData:
			base := base
			for b, is := range ranges {
				if r.u64(0)-b < uint64(len(is)) {
					base = b
				}
			}
			at, sums := r.u64(0)-base, sums[base]
			copy(ranges[base][at:], r.body[8:])
			if i := at >> 20 * 17; len(r.body) == 8+1<<20 && i < uint64(len(sums)) {
				have[string(sums[i+1:i+17])] = r.body[8:]
				sound = sound && string(chunkSum(r.body[8:])) == string(sums[i+1:i+17])
			}
		case recAfter:
			after[r.u64(4)] = r.body[12:]
		case recBefore:
			sums[base] = r.body
			sums := r.body
			for i := 0; i < len(sums); i += 17 {
				if old := have[string(sums[i+1:i+17])]; sums[i] == 1 && old != nil {
					copy(ranges[base][i/17<<20:], old)
				} else if sums[i] == 1 {
					t.Errorf("%s names what no capture has", path)
				}
			}
		}
	}
	return ranges, after, sound
}

// chunkSum is as the agent has it (capture.Sum, which can't be imported here).
func chunkSum(b []byte) []byte {
	mix := func(v uint64) uint64 {
		v = (v ^ v>>32) * 0xd6e8feb86659fd93
		v = (v ^ v>>29) * 0x9fb21c651e98df25
		return v ^ v>>32
	}
	var x, y uint64
	if n := len(b) % 8; n > 0 {
		b = append(slices.Clip(b), make([]byte, 8-n)...)
	}
	for i := uint64(1); len(b) > 0; b, i = b[8:], i+1 {
		v := binary.LittleEndian.Uint64(b)
		x, y = x+mix(v+i*0x9e3779b97f4a7c15), y+mix(v^i*0xc2b2ae3d27d4eb4f)
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, x), y)
}

// TestMixedMemory: whatever memory a program has, and whatever fails, a capture has every byte as
// it was before the launch, of all that can be reached, and hashes of all that it left; or there is
// none, and the reason is said. The program computes what it computes by itself. What something
// else changes meanwhile is not what was hashed.
func TestMixedMemory(t *testing.T) {
	f := newFakeDriver(t)
	seeds, whole, changed := 1, 0, 0
	if kits.Every() {
		seeds = 4
	}
	faults := []string{"", "FAIL=cuMemAlloc_v2", "FAIL=cuMemAlloc_v2 EACH=1", "FAIL=cuLaunchKernel",
		"FAIL=cuLaunchKernel EACH=2", "FAIL=cuModuleLoadData", "FAIL=cuMemcpyDtoH_v2 EACH=3",
		"FAIL=cuStreamSynchronize EACH=1", "FAIL=cuMemHostRegister_v2", "FAIL=cuMemGetInfo_v2", "FULL=1",
		"CHANGES=1", "CHANGES=3", "CHANGES=9", "FAIL=cuStreamQuery EACH=7",
		"FAIL=cuMemcpyDtoHAsync_v2 EACH=5", "FAIL=cuStreamCreate", "FAIL=cuMemcpyDtoDAsync_v2 EACH=4", "LEFT=200"}
	for seed := range seeds * len(faults) {
		fault := faults[seed%len(faults)]
		path := filepath.Join(t.TempDir(), "told")
		h := f.captured(t, Order{}, "mix", append(strings.Fields(fault), "TOLD="+path, "SEED="+fmt.Sprint(seed))...)
		if len(h.got)+len(h.why) != 6 {
			t.Fatalf("%d, %s: %+v, %q", seed, fault, h.got, h.why)
		}
		what, have := fmt.Sprintf("SEED=%d %s", seed, fault), map[string][]byte{}
		for i, l := range told(t, path) {
			if _, err := os.Stat(h.paths[i]); err != nil {
				continue // with its reason: they are counted
			}
			if ranges, after, sound := content(t, h.paths[i], have); sound {
				whole++
				l.check(t, fmt.Sprintf("%s: launch %d", what, i), ranges, after, !strings.HasPrefix(fault, "CHANGES"))
			} else {
				changed++
			}
		}
	}
	if whole < seeds*len(faults) || changed == 0 {
		t.Errorf("%d captures are whole, and %d were seen to be changed", whole, changed)
	}
}

// check compares a capture with what the application says. exact: nothing else changes memory, nor our
// own hashes on their way.
func (l mixture) check(t *testing.T, what string, ranges, after map[uint64][]byte, exact bool) {
	reached := 0
	for base, b := range ranges {
		before := l.before[base]
		if before == nil {
			if len(b) != 1<<20 { // the application's first array
				t.Errorf("%s: nobody has memory at %#x", what, base)
			}
			continue
		}
		reached++
		if len(after[base]) != (len(b)+1<<20-1)>>20*16 {
			t.Errorf("%s: %d bytes of hashes for %d", what, len(after[base]), len(b))
			continue
		}
		for k := 0; exact && k<<20 < len(b); k++ {
			sum := func(told []uint64) []byte {
				return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, told[1+2*k]), told[2+2*k])
			}
			if !bytes.Equal(chunkSum(b[k<<20:min(len(b), (k+1)<<20)]), sum(before)) {
				t.Errorf("%s: MiB %d at %#x is not what it was", what, k, base)
			}
			if !bytes.Equal(after[base][16*k:16*k+16], sum(l.after[base])) {
				t.Errorf("%s: MiB %d at %#x is not what the launch left", what, k, base)
			}
		}
		for other, is := range l.before {
			for at := 0; ranges[other] == nil && at+8 <= len(b); at += 8 {
				if binary.LittleEndian.Uint64(b[at:])-other < is[0] {
					t.Errorf("%s: what %#x points to is not captured", what, base+uint64(at))
				}
			}
		}
	}
	if reached == 0 {
		t.Errorf("%s: nothing is captured", what)
	}
}

// BenchmarkCapture: how long the program stands still, on a driver whose device is memory of the
// host, for 1.25 GiB of numbers and then for the same once more.
func BenchmarkCapture(b *testing.B) {
	f := newFakeDriver(b)
	for b.Loop() {
		h := f.captured(b, Order{Limit: 16 << 30, Stand: time.Minute}, "arrays", "ARRAYS=512,512,256")
		if len(h.got) != 2 {
			b.Fatal(h.why)
		}
		for i, g := range h.got {
			b.ReportMetric(g.Before.Seconds(), []string{"s-first", "s-second"}[i])
		}
	}
}
