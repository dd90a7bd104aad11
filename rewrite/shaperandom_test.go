package rewrite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// TestIndexOnlyRandom: programs put together at random are run, thread by thread, in two shapes of
// as many threads. Whatever IndexOnly lets through stores the same values at the same places in
// both.
func TestIndexOnlyRandom(t *testing.T) {
	const programs = 20000
	free, differing, refused := 0, 0, 0
	for seed := range programs {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		code := randomCode(rng)
		text := ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n" +
			".reg .pred %p<40>; .reg .b32 %r<80>; .reg .b64 %rd<40>;\n" + strings.Join(code, "\n") + "\nret;\n}\n"
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		err = ir.IndexOnly(m, "k")
		// of those that are refused some are run, to see that they had to be
		if err != nil && seed%8 != 0 {
			continue
		}
		stores := func(grid, block [3]int) []string {
			x, bad := newTileMachine(m.Entry("k"), block, 0)
			if bad == nil {
				x.zeros, x.log = true, []string{}
				bad = x.run(grid, func(map[uint64]uint16) {})
			}
			if bad != nil {
				t.Fatalf("%v\n%s", bad, text)
			}
			slices.Sort(x.log)
			return x.log
		}
		a := stores([3]int{2, 2, 1}, [3]int{4, 1, 1})
		b := stores([3]int{4, 1, 1}, [3]int{2, 2, 1})
		same := slices.Equal(a, b)
		switch {
		case err == nil && !same:
			t.Fatalf("seed %d is let through, and sees its blocks:\n%s", seed, strings.Join(code, "\n"))
		case err == nil:
			free++
		case same:
			refused++
		default:
			differing++
		}
	}
	t.Logf("%d let through, %d rightly refused, %d that store the same refused", free, differing,
		refused)
	if free < programs/100 || differing < programs/100 {
		t.Errorf("only %d are let through, and %d are rightly refused: this shows nothing", free,
			differing)
	}
}

// randomCode is a program of a dozen lines: as often as not the index over the grid in one of its
// forms, and anything at all. Mostly each result has a register of its own, as in what cicc writes.
func randomCode(rng *rand.Rand) []string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	count := map[string]int{"%r": 2, "%rd": 1, "%p": 1}
	used := func(kind string) string { return fmt.Sprint(kind, rng.IntN(count[kind])) }
	fresh := func(kind string) string {
		if rng.IntN(12) == 0 {
			return used(kind)
		}
		count[kind]++
		return fmt.Sprint(kind, count[kind]-1)
	}
	special := func() string {
		return pick("%tid", "%ctaid", "%ntid", "%nctaid") + pick(".x", ".x", ".x", ".y", ".z")
	}
	operand := func() string {
		if rng.IntN(3) == 0 {
			return fmt.Sprint(rng.IntN(5))
		}
		return used("%r")
	}
	out := []string{"mov.u32 %r0, 3;", "mov.u32 %r1, 5;", "mov.u64 %rd0, 8;", "setp.eq.u32 %p0, 1, 1;"}
	for range 2 + rng.IntN(7) {
		guard := ""
		if rng.IntN(6) == 0 {
			guard = "@" + pick("", "!") + used("%p") + " "
		}
		var lines []string
		switch a, b, c := operand(), operand(), used("%r"); rng.IntN(15) {
		case 0, 1, 2, 3: // the index, from the numbers themselves
			d := pick("x", "x", "y")
			a, b, c := fresh("%r"), fresh("%r"), fresh("%r")
			lines = append(lines, "mov.u32 "+a+", %ctaid."+d+";", "mov.u32 "+b+", "+pick("%ntid.", "%ntid.",
				"%ntid.", "%nctaid.")+pick(d, d, d, "x")+";",
				"mov.u32 "+c+", "+pick("%tid.", "%tid.", "%tid.", "%ctaid.")+pick(d, d, d, "y")+";")
			if rng.IntN(3) == 0 { // with a neighbour's number
				plus := fresh("%r")
				lines = append(lines, "add.s32 "+plus+", "+c+", "+operand()+";")
				c = plus
			}
			lines = append(lines, "mad.lo.s32 "+fresh("%r")+", "+pick(a+", "+b, b+", "+a, b+", 4")+", "+c+
				";")
		case 4:
			lines = append(lines, "mov.u32 "+fresh("%r")+", "+special()+";")
		case 5:
			lines = append(lines, "add.s32 "+fresh("%r")+", "+a+", "+b+";")
		case 6:
			lines = append(lines, "mul.lo.s32 "+fresh("%r")+", "+a+", "+b+";")
		case 7:
			lines = append(lines, "mul.wide.u32 "+fresh("%rd")+", "+c+", "+used("%r")+";")
		case 8:
			lines = append(lines, pick("cvt.u64.u32 ", "cvt.s64.s32 ")+fresh("%rd")+", "+c+";")
		case 9:
			lines = append(lines, pick("cvt.u32.u64 "+fresh("%r")+", "+used("%rd")+";",
				"add.s64 "+fresh("%rd")+", "+used("%rd")+", "+used("%rd")+";"))
		case 10:
			lines = append(lines, pick("sub.s32 ", "xor.b32 ", "and.b32 ", "shl.b32 ")+fresh("%r")+", "+c+
				", "+b+";")
		case 11:
			lines = append(lines, "setp."+pick("eq", "lt")+".u32 "+fresh("%p")+", "+c+", "+b+";")
		case 12:
			lines = append(lines, "selp.b32 "+fresh("%r")+", "+a+", "+b+", "+used("%p")+";")
		case 13:
			lines, guard = append(lines, "add.cc.u32 "+fresh("%r")+", "+c+", "+pick(b, "4294967295")+";",
				"addc.u32 "+fresh("%r")+", "+a+", "+b+";"), ""
		case 14: // the step of a loop over the grid
			a, b := fresh("%r"), fresh("%r")
			lines = append(lines, "mov.u32 "+a+", %ntid."+pick("x", "y")+";", "mov.u32 "+b+", %nctaid."+
				pick("x", "y")+";", "mul.lo.s32 "+fresh("%r")+", "+a+", "+b+";")
		}
		for _, l := range lines {
			out = append(out, guard+l)
		}
	}
	last := fmt.Sprint("%r", count["%r"]-1)
	return append(out, pick("", "@"+used("%p")+" ")+"st.global.u32 ["+used("%rd")+"], "+used("%r")+";",
		"st.global.u32 [%rd0+4], "+last+";")
}
