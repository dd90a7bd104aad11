package check

import (
	"slices"
	"testing"

	"gnvcc/cache"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
)

// TestFloating: blocks count that compute or store; none where nothing computes.
func TestFloating(t *testing.T) {
	m, err := ptx.Parse([]byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u32 k_1)
{
	.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .pred %p<3>;
	ld.param.u64 %rd1, [k_0];
	ld.param.u32 %r1, [k_1];
	setp.eq.s32 %p1, %r1, 0;
	@%p1 bra $L1;
	ld.global.f32 %f1, [%rd1];
	fma.rn.f32 %f1, %f1, %f1, %f1;
	st.global.f32 [%rd1], %f1;
	bra $L2;
$L1:
	ld.global.f32 %f2, [%rd1+4];
	st.global.f32 [%rd1], %f2;
$L2:
	setp.gt.f32 %p2, %f1, %f2;
	@%p2 st.global.u32 [%rd1], %r1;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := counters.Of(m, "k")
	if err != nil {
		t.Fatal(err)
	}
	if got := Floating(c); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("blocks %v", got)
	}
}

// TestSentence: a block counts as run if any checked launch ran it.
func TestSentence(t *testing.T) {
	ran := func(checked int, blocks ...uint64) cache.Launch {
		return cache.Launch{Checked: checked, Counts: &cache.Counts{Blocks: blocks,
			Floating: []int{0, 2}}}
	}
	for _, c := range []struct {
		launches []cache.Launch
		varied   int
		want     string
	}{
		{[]cache.Launch{ran(1, 5, 0, 1)}, 3, "used only for launches with n=3"},
		{[]cache.Launch{ran(1, 5, 9, 0), ran(2, 0, 0, 1)}, 3, "used only for launches with n=3"},
		{[]cache.Launch{ran(1, 5, 9, 0), ran(0, 0, 0, 1)}, 3,
			"1 of 2 basic blocks with floating-point arithmetic or stores did not run in the checked launches: " +
				"used only for launches with n=3"},
		{[]cache.Launch{{Checked: 1}}, 3, "code coverage was not measured: used only for launches with n=3"},
		{[]cache.Launch{ran(1, 0, 9, 0)}, 0, "input data could not be varied; " +
			"2 of 2 basic blocks with floating-point arithmetic or stores did not run in the checked launches: " +
			"used only for launches with n=3"},
	} {
		if got := Sentence(c.launches, c.varied, "n=3"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
