package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gnvcc/install/kits"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// TestTiledComputeTheSame runs random kernels before and after, in the interpreter: they store the
// same, and read nothing that they did not read before. What the kernels do: read boxes, with
// addresses computed in 32 and 64 bits; return early; go round as often as a parameter, memory or
// the thread's place says, up or down; store to what they read; have shared memory and barriers of
// their own, loops around loops, branches around loads, values that wrap.
//
// GNVCC_TILE_SECONDS is how long it goes on, with a seed from the clock; GNVCC_TILE_SEED the seed
// of one kernel that failed.
func TestTiledComputeTheSame(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	seconds, _ := strconv.Atoi(os.Getenv("GNVCC_TILE_SECONDS"))
	if seconds > 0 {
		rng = rand.New(rand.NewSource(time.Now().UnixNano()))
	}
	one, _ := strconv.ParseInt(os.Getenv("GNVCC_TILE_SEED"), 10, 64)
	c := tileCounts{why: map[string]int{}}
	begun, rounds := time.Now(), kits.Rounds(440)
	for n := 0; ; n++ {
		if seconds == 0 && n == rounds || seconds > 0 && time.Since(begun) > time.Duration(seconds)*
			time.Second {
			break
		}
		seed := rng.Int63()
		if one != 0 {
			seed = one
		}
		if err := c.one(seed); err != nil {
			t.Fatalf("GNVCC_TILE_SEED=%d: %v", seed, err)
		}
		if one != 0 {
			break
		}
	}
	t.Logf("%d kernels are tiled, %d of them read a tile, %d only the loop as it was; %d refused:",
		c.tiled, c.read, c.tiled-c.read, c.refused)
	for _, why := range slices.SortedFunc(maps.Keys(c.why), func(a, b string) int {
		return c.why[b] - c.why[a]
	}) {
		t.Logf("%6d %s", c.why[why], why)
	}
	if one == 0 && (c.read < rounds*5/11 || c.tiled-c.read < rounds/11 || c.refused < rounds/11) {
		t.Error("the kernels show too little")
	}
}

type tileCounts struct {
	tiled, read, refused int
	why                  map[string]int
}

// one makes a kernel, tiles it, and runs both.
func (c *tileCounts) one(seed int64) error {
	k := newTileKernel(rand.New(rand.NewSource(seed)))
	text := bytes.Clone(k.text.Bytes())
	r, err := recipe.Parse(k.recipe)
	if err != nil {
		return err
	}
	options := Options{Dynamic: map[string]int{"k": k.dynamic}, Blocks: map[string][3]int{"k": k.block}}
	out, refused, err := options.apply(text, map[string]recipe.Recipe{"k": r})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	if why := refused["k"]; why != nil {
		if strings.Contains(why.Error(), "not sound") {
			return fmt.Errorf("%w\n%s", why, text)
		}
		c.refused++
		_, said, _ := strings.Cut(why.Error(), ": ")
		c.why[said]++
		return nil
	}
	c.tiled++
	read := false
	for range 3 {
		params := k.values()
		was, err := k.run(text, params)
		if errors.Is(err, errMisaligned) || err != nil && strings.Contains(err.Error(), "does not end") {
			continue
		}
		if err != nil {
			return fmt.Errorf("the kernel itself: %w\n%s", err, text)
		}
		now, err := k.run(out, params)
		if err == nil && !maps.Equal(was.stored, now.stored) {
			err = errors.New("it stores other things")
		}
		if err == nil {
			err = k.sameReads(was, now)
		}
		if err != nil {
			return fmt.Errorf("%s, block %v, grid %v, %v: %w\n%s\nwas\n%s", k.recipe, k.block, k.grid, params,
				err, out, text)
		}
		read = read || now.fromTile > was.fromTile
	}
	if read {
		c.read++
	}
	return nil
}

// A tileRun is what a kernel did.
type tileRun struct {
	stored   map[uint64]byte
	read     []map[uint64]uint16 // by block
	fromTile int
}

func (k *tileKernel) run(text []byte, params map[string]uint64) (tileRun, error) {
	m, err := ptx.Parse(text)
	if err != nil {
		return tileRun{}, err
	}
	x, err := newTileMachine(m.Entry("k"), k.block, k.dynamic)
	if err != nil {
		return tileRun{}, err
	}
	x.params = params
	var out tileRun
	err = x.run(k.grid, func(read map[uint64]uint16) { out.read = append(out.read, maps.Clone(read)) })
	out.stored, out.fromTile = x.global, x.fromTile
	return out, err
}

// sameReads checks that what is read was read before, or lies in a gap of a row.
func (k *tileKernel) sameReads(was, now tileRun) error {
	for b := range now.read {
		had := func(at uint64) bool { return was.read[b][at>>4]>>(at&15)&1 != 0 }
		for line, set := range now.read[b] {
			for bit := uint64(0); bit < 16; bit++ {
				at := line<<4 + bit
				if set>>bit&1 == 0 || had(at) {
					continue
				}
				below, above := false, false
				for d := uint64(1); d < 32; d++ {
					below, above = below || had(at-d), above || had(at+d)
				}
				if !below || !above {
					return fmt.Errorf("block %d reads %#x, which it did not read", b, at)
				}
			}
		}
	}
	return nil
}

// A tileKernel is a random kernel.
type tileKernel struct {
	rng         *rand.Rand
	text        bytes.Buffer
	block, grid [3]int
	recipe      string
	dynamic     int
	regs, wides int
	preds       int
	labels      int
	wild        bool   // values that may wrap
	carried     string // a pointer that an outer loop hands on
}

func (k *tileKernel) line(format string, args ...any) { fmt.Fprintf(&k.text, format+"\n", args...) }
func (k *tileKernel) r() string                       { k.regs++; return fmt.Sprintf("%%r%d", k.regs) }
func (k *tileKernel) w() string                       { k.wides++; return fmt.Sprintf("%%rd%d", k.wides) }
func (k *tileKernel) p() string                       { k.preds++; return fmt.Sprintf("%%p%d", k.preds) }
func (k *tileKernel) label() string                   { k.labels++; return fmt.Sprintf("$L%d", k.labels) }

// one in n.
func (k *tileKernel) chance(n int) bool { return k.rng.Intn(n) == 0 }

func anyOf[T any](rng *rand.Rand, list ...T) T { return list[rng.Intn(len(list))] }

func newTileKernel(rng *rand.Rand) *tileKernel {
	k := &tileKernel{rng: rng}
	k.block = anyOf(rng, [3]int{8, 4, 1}, [3]int{4, 2, 2}, [3]int{16, 1, 1}, [3]int{7, 3, 1},
		[3]int{5, 1, 1},
		[3]int{32, 2, 1}, [3]int{1, 9, 1})
	k.grid = anyOf(rng, [3]int{2, 2, 1}, [3]int{3, 1, 1}, [3]int{1, 2, 2})
	k.recipe = fmt.Sprintf("tile=%d", anyOf(rng, 2, 3, 4, 5, 8, 21))
	k.wild = k.chance(5)
	k.dynamic = anyOf(rng, 0, 0, 0, 64, 40000)
	k.body()
	body := k.text.String()
	k.text.Reset()
	k.line(".version 7.8\n.target sm_90\n.address_size 64")
	k.line(".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .u32 m, .param .u32 pitch, .param .u64 far)\n{")
	k.line(".reg .pred %%p<%d>;\n.reg .b32 %%r<%d>;\n.reg .b64 %%rd<%d>;\n.reg .f32 %%f<40>;", k.preds+1,
		k.regs+1, k.wides+1)
	k.text.WriteString(body)
	k.line("}")
	return k
}

// values are parameters of a launch.
func (k *tileKernel) values() map[string]uint64 {
	small := func(n int) uint64 { return uint64(k.rng.Intn(n)) }
	base := func() uint64 { return 1<<40 + small(1<<20)<<4 }
	v := map[string]uint64{"a": base(), "b": base(), "c": base(), "n": 1 + small(30), "m": 1 + small(20),
		"pitch": 8 + small(40), "far": small(100)}
	if k.chance(3) {
		v["n"] = small(200)
	}
	if k.chance(4) {
		v["b"] = v["a"]
	}
	if k.chance(3) {
		v["pitch"] = uint64(uint32(-int32(small(30))))
	}
	if k.wild {
		v[anyOf(k.rng, "pitch", "pitch", "far")] = anyOf(k.rng, uint64(1)<<28, 1<<31-5, 1<<31, 1<<32-3,
			1<<27+small(100))
		if k.chance(2) {
			v["far"] = uint64(k.rng.Int63()) &^ 15
		}
		if k.chance(6) { // a counter at the edge
			v["m"] = 1<<31 - 1 - small(4)
		}
	}
	return v
}

// body writes the kernel.
func (k *tileKernel) body() {
	for _, name := range []string{"a", "b", "c"} { // rd1 rd2 rd3
		k.line("ld.param.u64 %s, [%s];", k.w(), name)
	}
	far := k.w() // rd4
	k.line("ld.param.u64 %s, [far];", far)
	for _, name := range []string{"n", "m", "pitch"} { // r1 r2 r3
		k.line("ld.param.u32 %s, [%s];", k.r(), name)
	}
	if k.chance(3) {
		k.line("cvta.to.global.u64 %%rd1, %%rd1;")
	}
	gx, gy, t := k.r(), k.r(), k.r()
	a, b, ntid := k.r(), k.r(), k.r()
	k.line("mov.u32 %s, %%ctaid.x;\nmov.u32 %s, %%tid.x;\nmad.lo.s32 %s, %s, %d, %s;", a, t, gx, a,
		k.block[0], t)
	a = k.r()
	k.line("mov.u32 %s, %%ctaid.y;\nmov.u32 %s, %%tid.y;\nmov.u32 %s, %%ntid.y;\nmad.lo.s32 %s, %s, %s, %s;", a,
		b, ntid, gy, a, ntid, b)
	tz := k.r()
	k.line("mov.u32 %s, %%tid.z;", tz)
	sum := k.r()
	k.line("mov.u32 %s, 0;\nmov.f32 %%f1, 0f3F800000;", sum)
	end := k.label()
	place := []string{gx, gy, b, t, tz}
	if k.chance(2) {
		k.guard(place, end)
	} else if k.chance(4) {
		k.ownShared(place, sum)
	}
	switch outer := k.rng.Intn(6); {
	case outer < 4:
		k.loop(place, sum)
		if k.chance(4) {
			k.loop(place, sum)
		}
	default:
		k.around(place, sum)
	}
	// where it goes to: a place of the thread's own
	at, w := k.r(), k.w()
	k.line("mad.lo.s32 %s, %s, 997, %s;\nmad.lo.s32 %s, %s, 331, %s;", at, gy, gx, at, tz, at)
	k.line("mad.wide.s32 %s, %s, 8, %%rd3;", w, at)
	if k.chance(3) {
		k.line("add.s64 %s, %s, %d;", w, w, 1<<30)
	}
	k.line("st.global.u32 [%s], %s;\nst.global.f32 [%s+4], %%f1;", w, sum, w)
	k.line("%s:\nret;", end)
}

// guard leaves some threads with nothing to do.
func (k *tileKernel) guard(place []string, end string) {
	p := k.p()
	bound := anyOf(k.rng, "%r1", "%r1", "%r2", "6")
	k.line("setp.ge.s32 %s, %s, %s;", p, anyOf(k.rng, place...), bound)
	if k.chance(3) {
		q, both := k.p(), k.p()
		k.line("setp.ge.s32 %s, %s, %s;\nor.pred %s, %s, %s;", q, place[1], "%r2", both, p, q)
		p = both
	}
	if k.chance(4) {
		k.line("@%s ret;", p)
	} else {
		k.line("@%s bra %s;", p, end)
	}
}

// ownShared uses shared memory, with a barrier of its own.
func (k *tileKernel) ownShared(place []string, sum string) {
	gx, b, t, tz := place[0], place[2], place[3], place[4]
	n, base, mine, next, v := pass.Threads(k.block), k.r(), k.r(), k.r(), k.r()
	k.line(".shared .align 4 .b8 mine[%d];", 4*n)
	lane, wraps := k.r(), k.p()
	k.line("mad.lo.s32 %s, %s, %d, %s;\nmad.lo.s32 %s, %s, %d, %s;", lane, b, k.block[0], t, lane, tz,
		k.block[0]*k.block[1], lane)
	k.line("mov.u32 %s, mine;\nmad.lo.s32 %s, %s, 4, %s;\nst.shared.u32 [%s], %s;\nbar.sync 0;", base,
		mine, lane, base, mine, gx)
	k.line("setp.eq.s32 %s, %s, %d;\nadd.s32 %s, %s, 4;\nselp.b32 %s, %s, %s, %s;", wraps, lane, n-1,
		next, mine, v, base, next, wraps)
	k.line("ld.shared.u32 %s, [%s];\nbar.sync 0;", sum, v)
}

// around writes a loop around one with loads, which goes round as often for all threads, or not.
func (k *tileKernel) around(place []string, sum string) {
	b, t := place[2], place[3]
	i, p, again := k.r(), k.p(), k.label()
	if k.chance(2) {
		off := k.scaled(k.index(place), 4)
		k.carried = k.w()
		k.line("add.s64 %s, %%rd1, %s;", k.carried, off)
	}
	k.line("mov.u32 %s, 0;\n%s:", i, again)
	k.loop(append(place, i, i), sum)
	if k.chance(4) {
		q, skip := k.p(), k.label()
		k.line("setp.lt.s32 %s, %s, 3;\n@%s bra %s;\nadd.s32 %s, %s, 1;\n%s:", q, anyOf(k.rng, t, i), q,
			skip, sum, sum, skip)
	}
	bound := "2"
	if k.chance(4) {
		bound = b
	}
	k.line("add.s32 %s, %s, 1;\nsetp.lt.s32 %s, %s, %s;\n@%s bra %s;", i, i, p, i, bound, p, again)
}

// scaled writes a 64-bit byte offset of a 32-bit index.
func (k *tileKernel) scaled(index string, width int) string {
	w := k.w()
	switch k.rng.Intn(5) {
	case 0, 1:
		k.line("mul.wide.s32 %s, %s, %d;", w, index, width)
	case 2:
		k.line("mul.wide.u32 %s, %s, %d;", w, index, width)
	case 3:
		k.line("cvt.s64.s32 %s, %s;", w, index)
		v := k.w()
		k.line("mul.lo.s64 %s, %s, %d;", v, w, width)
		w = v
	default:
		k.line("cvt.u64.u32 %s, %s;", w, index)
		v, log := k.w(), 0
		for 1<<log < width {
			log++
		}
		k.line("shl.b64 %s, %s, %d;", v, w, log)
		w = v
	}
	return w
}

// index writes a 32-bit index of the thread's place.
func (k *tileKernel) index(place []string) string {
	v := k.r()
	first := anyOf(k.rng, place...)
	switch k.rng.Intn(9) {
	case 8: // rows that are a product apart
		u := k.r()
		k.line("mul.lo.s32 %s, %%r3, %s;", u, anyOf(k.rng, "%r3", "%r2"))
		k.line("mad.lo.s32 %s, %s, %s, %s;", v, anyOf(k.rng, place...), u, first)
	case 0, 1, 2:
		k.line("mad.lo.s32 %s, %s, %%r3, %s;", v, anyOf(k.rng, place...), first)
	case 3:
		k.line("mad.lo.s32 %s, %s, %d, %s;", v, anyOf(k.rng, place...), anyOf(k.rng, 1, 16, 40, -20, 2), first)
	case 4:
		k.line("sub.s32 %s, %%r2, %s;", v, first)
	case 5:
		u := k.r()
		k.line("shl.b32 %s, %s, %d;", u, first, k.rng.Intn(4))
		k.line("or.b32 %s, %s, %d;", v, u, k.rng.Intn(2))
	case 6:
		k.line("mov.u32 %s, %d;", v, k.rng.Intn(9))
	default:
		k.line("add.s32 %s, %s, %s;", v, first, "%r2")
	}
	return v
}

// A tileSource is a pointer that moves along.
type tileSource struct{ pointer, by string }

// sources are what a loop loads from.
func (k *tileKernel) sources(place []string, width int) []tileSource {
	var sources []tileSource
	for range 1 + k.rng.Intn(2) {
		base := anyOf(k.rng, "%rd1", "%rd1", "%rd2")
		if k.wild && k.chance(3) {
			k.line("add.s64 %s, %s, %s;", base, base, "%rd4")
		}
		w := k.w()
		k.line("add.s64 %s, %s, %s;", w, base, k.scaled(k.index(place), width))
		s := tileSource{k.w(), fmt.Sprint(anyOf(k.rng, width, 2*width, -width, 16*width, 0))}
		k.line("mov.u64 %s, %s;", s.pointer, w)
		if k.chance(3) {
			s.by = k.w()
			k.line("mul.wide.s32 %s, %%r3, %d;", s.by, width)
		}
		sources = append(sources, s)
	}
	if k.carried != "" && width == 4 {
		sources = append(sources, tileSource{k.carried, anyOf(k.rng, "4", "-8")})
	}
	return sources
}

// loads writes the loads of one turn of a loop, some of them from places that are a register away.
func (k *tileKernel) loads(sources []tileSource, width int, sum string) {
	for _, s := range sources {
		for range 1 + k.rng.Intn(3) {
			k.load(s.pointer, width, sum)
		}
		if k.chance(4) && s.by[0] == '%' {
			next := k.w()
			k.line("add.s64 %s, %s, %s;", next, s.pointer, s.by)
			k.load(next, width, sum)
		}
		k.line("add.s64 %s, %s, %s;", s.pointer, s.pointer, s.by)
	}
}

// loop writes a loop with loads.
func (k *tileKernel) loop(place []string, sum string) {
	width := anyOf(k.rng, 4, 4, 4, 4, 8, 16, 1, 2)
	step := anyOf(k.rng, 1, 1, 1, 2, 4, -1, -2)
	i, first := k.r(), "0"
	bound := anyOf(k.rng, "%r1", "%r1", "%r1", "%r1", "12", "7")
	how := anyOf(k.rng, "lt", "lt", "le", "ne")
	if k.chance(20) {
		bound = anyOf(k.rng, place...)
	}
	if k.chance(20) { // as often as memory says
		v, masked := k.r(), k.r()
		k.line("ld.global.u32 %s, [%%rd2];\nand.b32 %s, %s, 7;", v, masked, v)
		bound = masked
	}
	if step < 0 {
		first, bound = bound, "0"
		how = map[string]string{"lt": "gt", "le": "ge", "ne": "ne"}[how]
	}
	if how == "ne" && step*step > 1 {
		how = map[bool]string{true: "gt", false: "lt"}[step < 0]
	}
	if k.chance(8) && step > 0 {
		first = "%r2"
	}
	k.line("mov.u32 %s, %s;", i, first)
	sources := k.sources(place, width)
	again, over := k.label(), k.label()
	enter := k.p()
	if !k.chance(5) || how == "ne" {
		k.line("setp.%s.s32 %s, %s, %s;\n@!%s bra %s;", map[string]string{"ne": map[bool]string{true: "gt",
			false: "lt"}[step < 0]}[how]+strings.TrimPrefix(how, "ne"), enter, first, bound, enter, over)
	}
	k.line("%s:", again)
	if k.chance(4) {
		k.line(".pragma \"nounroll\";")
	}
	k.loads(sources, width, sum)
	if k.chance(15) { // a store in the loop
		at, w := k.r(), k.w()
		k.line("mad.lo.s32 %s, %s, 997, %s;\nmad.lo.s32 %s, %s, 331, %s;", at, place[1], place[0], at,
			place[4], at)
		k.line("mad.wide.s32 %s, %s, 8, %%rd3;\nst.global.u32 [%s+536870912], %s;", w, at, w, sum)
	}
	k.test(i, step, how, bound, again)
	k.line("%s:", over)
}

// load writes a load and what becomes of it.
func (k *tileKernel) load(at string, width int, sum string) {
	offset := k.rng.Intn(6)*width - 2*width
	nc := anyOf(k.rng, ".nc", ".nc", ".nc", "")
	v := k.r()
	switch width {
	case 1, 2:
		k.line("ld.global%s.u%d %s, [%s+%d];", nc, 8*width, v, at, offset)
	case 4:
		if k.chance(2) {
			k.line("ld.global%s.u32 %s, [%s+%d];", nc, v, at, offset)
			k.line("and.b32 %s, %s, 1073741823;\nfma.rn.f32 %%f1, %%f1, 0f3F000000, %s;", v, v, v)
			return
		}
		k.line("ld.global%s.u32 %s, [%s+%d];", nc, v, at, offset)
	case 8:
		w := k.w()
		k.line("ld.global%s.u64 %s, [%s+%d];\ncvt.u32.u64 %s, %s;", nc, w, at, offset, v, w)
	default:
		o, p, q := k.r(), k.r(), k.r()
		k.line("ld.global%s.v4.u32 {%s, %s, %s, %s}, [%s+%d];", nc, v, o, p, q, at, offset)
		k.line("xor.b32 %s, %s, %s;\nadd.s32 %s, %s, %s;", sum, sum, o, sum, sum, q)
	}
	k.line("mad.lo.s32 %s, %s, 31, %s;", sum, sum, v)
}

// test writes what a loop ends with.
func (k *tileKernel) test(i string, step int, how, bound, again string) {
	p := k.p()
	if k.chance(3) { // the next value first, then moved
		next := k.r()
		k.line("add.s32 %s, %s, %d;\nmov.u32 %s, %s;", next, i, step, i, next)
		if k.chance(2) {
			i = next
		}
	} else {
		k.line("add.s32 %s, %s, %d;", i, i, step)
	}
	k.line("setp.%s.s32 %s, %s, %s;\n@%s bra %s;", how, p, i, bound, p, again)
}
