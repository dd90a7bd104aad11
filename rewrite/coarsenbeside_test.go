package rewrite

import (
	"maps"
	"math/rand"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
)

// besideOf applies coarsen=NxMxKb to the kernel k of a text.
func besideOf(t *testing.T, text []byte, value string, block, grid [3]int) ([]byte, error) {
	t.Helper()
	r := mustRecipe(t, "coarsen="+value)
	by := coarsen.Of(r)
	block[2] = by[0] * by[1] * by[2]
	o := Options{Coarse: map[string][3]int{"k": by}, Blocks: map[string][3]int{"k": block},
		Grids: map[string][3]int{"k": grid}, Dynamic: map[string]int{"k": 0}}
	out, refused, err := o.apply(text, map[string]recipe.Recipe{"k": r})
	if err != nil {
		t.Fatal(err)
	}
	return out, refused["k"]
}

// besideRun gives what a kernel stores. part: so many threads are one of the kernel's blocks.
func besideRun(t *testing.T, text []byte, grid, block [3]int, part int) (map[uint64]byte, error) {
	t.Helper()
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	machine, err := newTileMachine(m.Entry("k"), block, 0)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	machine.part, machine.ended = part, true
	machine.params = map[string]uint64{"a": 1 << 20, "b": 1 << 24, "c": 1 << 28, "n": 5}
	err = machine.run(grid, func(map[uint64]uint16) {})
	return machine.global, err
}

// TestBesideRuns: random kernels, with barriers and threads that end before them, over a grid and
// as blocks beside each other: memory comes out the same, each block waits for its own lanes, and
// none touches another's shared memory.
func TestBesideRuns(t *testing.T) {
	ran := map[string]int{}
	rounds := kits.Rounds(300)
	for seed := range int64(rounds) {
		rng := rand.New(rand.NewSource(seed))
		text := newCoarseProgram(rng, seed%3 > 0, false)
		size := []int{2, 4, 8, 16, 32}[seed%5]
		text = strings.Replace(text, "near[40]", "near[140]", 1)
		if seed%3 == 2 { // pairs end early: each reads its neighbour's words
			text = strings.Replace(text, "mov.u32 %r14, near;", "or.b32 %r16, %r6, 1;\n"+
				"\tsetp.ge.s32 %p199, %r16, 17;\n\t@%p199 bra END;\n\tmov.u32 %r14, near;", 1)
		}
		// what a block sees of itself
		text = strings.Replace(text, "END:", "mov.u32 %r16, %tid.z;\n\tmov.u32 %r17, %ntid.z;\n"+
			"\tmad.lo.s32 %r16, %r17, 77, %r16;\n\tst.global.u32 [%rd2+60], %r16;\n"+
			"\tmov.u32 %r16, %nctaid.x;\n\tst.global.u32 [%rd2+56], %r16;\nEND:", 1)
		block := [3]int{size, 1, 1}
		if size > 4 && seed%2 == 0 { // a row each of which does the same
			block = [3]int{size / 2, 1, 1}
		}
		grid := [3]int{3 + rng.Intn(6), 1 + rng.Intn(3), 1}
		want, err := besideRun(t, []byte(text), grid, block, 0)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		for _, value := range []string{"2x1x1b", "3x1x1b", "8x1x1b", "1x2x1b"} {
			by := coarsen.Of(mustRecipe(t, "coarsen="+value))
			if pass.Threads(block)*by[0]*by[1] > coarsen.MostBeside {
				continue
			}
			out, err := besideOf(t, []byte(text), value, block, grid)
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, value, err, text)
			}
			small, deep := grid, block
			deep[2] = by[0] * by[1]
			for d := range 2 {
				if small[d]%by[d] != 0 {
					ran["a rest"]++
				}
				small[d] = (small[d] + by[d] - 1) / by[d]
			}
			got, err := besideRun(t, out, small, deep, pass.Threads(block))
			if err != nil || !maps.Equal(got, want) {
				t.Fatalf("seed %d, %s, %v blocks of %v: %v\n%s\n%s", seed, value, grid, block, err, text, out)
			}
			ran[value]++
			if strings.Contains(string(out), "bar.warp.sync") {
				ran["barriers"]++
			}
		}
	}
	t.Log(ran)
	for _, what := range []string{"2x1x1b", "3x1x1b", "8x1x1b", "1x2x1b", "barriers", "a rest"} {
		if ran[what] < rounds/3 {
			t.Errorf("%s: only %d kernels", what, ran[what])
		}
	}
}

const besideHead = `.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
%DIRECTIVES%{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	.shared .align 8 .b8 near[128];
	ld.param.u64 %rd1, [a];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %tid.x;
	mov.u64 %rd2, near;
	mad.wide.u32 %rd3, %r2, 4, %rd2;
	st.shared.u32 [%rd3], %r1;
`

// TestBesideable: what may stand beside each other, and what assembles.
func TestBesideable(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	ok := [3]int{8, 1, 1}
	for _, c := range []struct {
		block            [3]int
		directives, body string
		why              string
	}{
		{ok, "", "bar.sync 0;\nld.shared.u32 %r3, [near+4];\nst.global.u32 [%rd1], %r3;\n", ""},
		{[3]int{4, 4, 1}, "", "barrier.sync.aligned 0;\n", ""},
		{[3]int{32, 1, 1}, "", "bar.sync 0;\n", ""},
		{ok, "", "atom.shared.add.u32 %r3, [near], 1;\n@%p1 ret;\nbar.sync 0;\n", ""},
		{ok, "", "cvta.shared.u64 %rd4, %rd2;\nst.u32 [%rd4], 1;\nmembar.cta;\n", ""},
		{[3]int{24, 1, 1}, "", "bar.sync 0;\n", "equal parts"},
		{[3]int{64, 1, 1}, "", "bar.sync 0;\n", "equal parts"},
		{ok, "", "bar.sync 1;\n", "barrier"},
		{ok, "", "bar.sync 0, 32;\n", "barrier"},
		{ok, "", "@%p1 bar.sync 0;\n", "barrier"},
		{ok, "", "barrier.sync 0;\n", "barrier"},
		{ok, "", "bar.arrive 0, 32;\n", "barrier"},
		{ok, "", "bar.red.popc.u32 %r3, 0, %p1;\n", "barrier"},
		{ok, "", "bar.warp.sync -1;\n", "barrier"},
		{ok, "", "shfl.sync.down.b32 %r3, %r2, 1, 31, -1;\n", "the warp"},
		{ok, "", "vote.sync.ballot.b32 %r3, %p1, -1;\n", "the warp"},
		{ok, "", "activemask.b32 %r3;\n", "the warp"},
		{ok, "", "mov.u32 %r3, %laneid;\n", "%laneid"},
		{ok, "", "mov.u32 %r3, %warpid;\n", "%warpid"},
		{ok, "", "mov.u32 %r3, %lanemask_lt;\n", "%lanemask_lt"},
		{ok, "", "mov.u32 %r3, %total_smem_size;\n", "%total_smem_size"},
		{ok, "", "mov.u64 %rd4, %clock64;\n", "%clock64"},
		{ok, "", "cp.async.ca.shared.global [%r3], [%rd1], 4;\n", "async"},
		{ok, "", "add.u32 %r3, near, 4;\n", "address of a shared array"},
		{ok, ".maxntid 8, 1, 1\n", "bar.sync 0;\n", ".maxntid"},
		{ok, ".reqntid 8, 1, 1\n", "bar.sync 0;\n", ".reqntid"},
		{ok, "", "L:\nld.volatile.global.u32 %r3, [%rd1];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra L;\n", "wait"},
	} {
		text := []byte(strings.Replace(besideHead, "%DIRECTIVES%", c.directives, 1) + c.body +
			"ret;\n}\n")
		out, err := besideOf(t, text, "4x1x1b", c.block, [3]int{9, 1, 1})
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%v %s%s: %v, want %q", c.block, c.directives, c.body, err, c.why)
		}
		for _, kit := range kits {
			if _, bad := kit.Assemble(t, out, "-arch=sm_80"); err == nil && bad != nil {
				t.Errorf("%s: %v\n%s", kit.Version, bad, out)
			}
		}
	}
	text := strings.Replace(besideHead, "%DIRECTIVES%", "", 1) + "bar.sync 0;\nret;\n}\n"
	if _, err := besideOf(t, []byte(strings.Replace(text, "sm_80", "sm_60", 1)), "4x1x1b", ok,
		[3]int{8, 1, 1}); err == nil {
		t.Error("sm_60 is taken, whose lanes go on together")
	}
	if _, err := besideOf(t, []byte(text), "64x1x1b", ok, [3]int{64, 1, 1}); err == nil {
		t.Error("512 threads are taken")
	}
	big := strings.Replace(text, "near[128]", "near[16384]", 1)
	if _, err := besideOf(t, []byte(big), "4x1x1b", ok, [3]int{8, 1, 1}); err == nil {
		t.Error("64 KiB of shared memory are taken")
	}
	extern := strings.Replace(text, ".visible", ".extern .shared .align 16 .b8 more[];\n.visible", 1)
	extern = strings.Replace(extern, "mov.u64 %rd2, near", "mov.u64 %rd2, more", 1)
	if _, err := besideOf(t, []byte(extern), "4x1x1b", ok, [3]int{8, 1, 1}); err == nil {
		t.Error("dynamic shared memory is taken")
	}
}

// What a recipe has to say.
func TestBesideRecipes(t *testing.T) {
	for text, good := range map[string]bool{
		"coarsen=32x1x1b spec{host(block)=8x1x1,host(dynamic)=0}":                       true,
		"coarsen=32x1x1b spec{host(block)=8x1x1,host(dynamic)=0,host(grid)=845601x1x1}": true,
		"coarsen=32x1x1b spec{host(block)=8x1x1,host(dynamic)=0,host(grid)=31x1x1}":     false, // has no such block
		"coarsen=3x1x1b spec{host(block)=8x1x1,host(dynamic)=0,host(grid)=4x70000x1}":   false,
		"coarsen=1x8x1b spec{host(block)=8x4x1,host(dynamic)=0}":                        true,
		"coarsen=64x1x1b spec{host(block)=8x1x1,host(dynamic)=0}":                       false,
		"coarsen=8x1x1b spec{host(block)=12x1x1,host(dynamic)=0}":                       false,
		"coarsen=2x1x1b spec{host(block)=64x1x1,host(dynamic)=0}":                       false,
		"coarsen=4x1x1b spec{host(block)=4x1x2,host(dynamic)=0}":                        false,
		"coarsen=4x1x1b spec{host(block)=8x1x1}":                                        false,
		"coarsen=4x1x1b spec{host(block)=8x1x1,host(dynamic)=64}":                       false,
		"coarsen=4x1x1b spec{host(dynamic)=0}":                                          false,
		"coarsen=128x1x1b spec{host(block)=1x1x1,host(dynamic)=0}":                      false,
	} {
		if err := Check(mustRecipe(t, text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
	r := mustRecipe(t, "coarsen=32x1x1b spec{host(block)=8x1x1,host(dynamic)=0,host(grid)=845601x1x1}")
	grid, block, ok := MannerOf(r).Launch([3]int{845601, 1, 1}, [3]int{8, 1, 1})
	if grid != [3]int{26426, 1, 1} || block != [3]int{8, 1, 32} || !ok {
		t.Error(grid, block, ok)
	}
	if _, _, ok := MannerOf(r).Launch([3]int{845600, 1, 1}, [3]int{8, 1, 1}); ok {
		t.Error("another grid is taken")
	}
}
