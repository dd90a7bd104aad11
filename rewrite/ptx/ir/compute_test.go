package ir

import (
	"strings"
	"testing"
)

func TestCompute(t *testing.T) {
	for _, c := range []struct {
		op   string
		in   []int64
		want int64
		ok   bool
	}{
		{"add.s32", []int64{1<<31 - 1, 1}, -1 << 31, true},
		{"add.sat.s32", []int64{1<<31 - 1, 1}, 0, false},
		{"max.relu.s32", []int64{-1, -2}, 0, false},
		{"mul.lo.u32", []int64{1 << 20, 1 << 12}, 0, true},
		{"mul.wide.u32", []int64{2, 3}, 0, false},
		{"div.u32", []int64{-1, 2}, 1<<31 - 1, true},
		{"div.s32", []int64{-7, 2}, -3, true},
		{"rem.s32", []int64{5, 0}, 0, false},
		{"shr.u32", []int64{-1, 31}, 1, true},
		{"shr.s32", []int64{-8, 40}, -1, true},
		{"shr.u32", []int64{-1, 40}, 0, true},
		{"shl.b32", []int64{1, 32}, 0, true},
		{"cvt.u8.u32", []int64{-1}, 255, true},
		{"cvt.u64.u32", []int64{-1}, 1<<32 - 1, true},
		{"cvt.s64.s32", []int64{1 << 31}, -1 << 31, true},
		{"cvt.rzi.s32.f32", []int64{1}, 0, false},
		{"setp.lt.u32", []int64{-1, 1}, 0, true},
		{"setp.lt.s32", []int64{-1, 1}, 1, true},
		{"setp.eq.and.s32", []int64{1, 1, 0}, 0, false},
		{"setp.eq.f32", []int64{1, 1}, 0, false},
		{"mov.pred", []int64{-1}, 1, true},
		{"not.pred", []int64{1}, 0, true},
		{"selp.b32", []int64{5, 6, 0}, 6, true},
		{"min.u32", []int64{-1, 3}, 3, true},
		{"abs.s32", []int64{-3}, 3, true},
		{"clz.b32", []int64{1}, 31, true},
		{"popc.b64", []int64{-1}, 64, true},
		{"add.f32", []int64{1, 2}, 0, false},
		{"min.s16x2", []int64{1, 2}, 0, false},
	} {
		words := strings.Split(c.op, ".")
		x := &Inst{Op: words[0], Words: words[1:]}
		if got, ok := x.Compute(c.in...); ok != c.ok || ok && got != c.want {
			t.Errorf("%s %v: %d %v, want %d %v", c.op, c.in, got, ok, c.want, c.ok)
		}
	}
}
