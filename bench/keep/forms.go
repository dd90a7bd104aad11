package main

import (
	"fmt"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
)

// The examples' kernels, with launches that an emulator can do: FILE, then a line as the
// generators write it.
const forms = `
unroll/unroll.cu lookup 128x1x1 0 32x1x1,20x1x1 n=4096,4000,100 count=4,1,2,3,5 @macroscopic.1,@macroscopic.2
periodogram/periodogram.cu scan 256x1x1 0 16x1x1,8x1x1 samples=6,1,2,3,4 n=4096,4000,100 @power.1
periodogram/periodogram.cu relax 8x32x1 0 8x2x1,7x2x1 width=64,60,33 height=64,60,33
stars/stars.cu light 256x1x1 0 16x1x1,8x1x1 m=6,1,2,3,4,8 n=4096,4000 @1
stencil/stencil.cu wave 32x8x1 0 2x8x1 nx=72,40 ny=72,40 nz=10,9,11 @1,@2
potential/potential.cu potential 256x1x1 0 16x1x1,8x1x1 n=8,1,2,3,5,7 points=4096,4000 @1
series/series.cu series 256x1x1 0 16x1x1,8x1x1 count=4096,4000 length=8,2,3,7,12 @moments.1
cancel/cancel.cu zeros 256x1x1 0 16x1x1,8x1x1 n=4096,4000 turns=8,1,2,3,7 @1
gather/gather.cu flux 256x1x1 0 16x1x1 n=4096,4000 @residual.1
longthreads/longthreads.cu column_norm 64x1x1 0 64x1x1,32x1x1 width=4096,4000 height=8,1,2,5,13 @column.1,@column.2
longthreads/longthreads.cu column_bound 64x1x1 0 64x1x1,32x1x1 width=4096,4000 height=8,1,2,5,13 @column.1,@column.2
plaincopy/plaincopy.cu paths 128x1x1 0 32x1x1,16x1x1 count=4096,4000 n=5,1,2,3,8 delta=0.25,0.1 start=0.05,1.5 @discounted.1,@discounted.2,@discounted.3,@discounted.4
phases/phases.cu mix 256x1x1 0 16x1x1,8x1x1 channels=5,1,2,3,8 samples=4096,4000 begin=0.5,100.25 @1
alignment/alignment.cu rotate 128x1x1 0 32x1x1 n=4096,4000 c=0.8,0.3 s=0.6,-1.7 shift=0.125,3
hotregisters/hotregisters.cu products 32x1x1 0 4x32x1 n=128,100 depth=4,1,2,3,8 @1
membrane/membrane.cu swing 16x16x1 0 4x4x1,3x4x1 nx=64,60 ny=64,60
blocksize/blocksize.cu product 8x8x1 512 8x8x1 n=64 @1,@2
occupancy/occupancy.cu walk 256x1x1 0 16x1x1 count=4,1,2,3 @1
`

// A form is one of them.
type form struct {
	file  string
	shape *shape
}

func formsOf(folder string) (out []form, err error) {
	for line := range strings.Lines(strings.TrimSpace(forms)) {
		file, rest, _ := strings.Cut(line, " ")
		all, err := shapes(rest)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			s.bytes = 1 << 20
			out = append(out, form{filepath.Join(folder, file), s})
		}
	}
	return out, nil
}

// recipe is a random one for a kernel that is launched so.
func (s *shape) recipe(r *rand.Rand) string {
	var conditions, terms []string
	one := func(list ...string) string { return list[r.Intn(len(list))] }
	coarse := r.Intn(4) == 0
	if coarse {
		b := s.block
		conditions = append(conditions, fmt.Sprintf("host(block)=%dx%dx%d,host(dynamic)=%d", b[0], b[1],
			b[2], s.dynamic))
	}
	some := []int{0, 25, 50, 75, 100}[r.Intn(5)] // percent
	for _, a := range s.values {
		if r.Intn(100) < some {
			conditions = append(conditions, a.name+"="+a.values[0])
		}
	}
	if len(conditions) > 0 {
		terms = append(terms, "spec{"+strings.Join(conditions, ",")+"}")
	}
	if coarse {
		terms = append(terms, "coarsen="+one("2x1x1", "2x1x1", "4x1x1", "8x1x1", "3x1x1", "1x2x1"))
	}
	if len(s.loops) > 0 && (len(terms) == 0 || r.Intn(2) == 0) {
		terms = append(terms, "unroll"+one(slices.Concat(s.loops, []string{""})...)+"="+one("1", "2", "3", "4", "8"))
	}
	if len(s.loops) > 0 && r.Intn(4) == 0 {
		terms = append(terms, one("maxnreg=32", "maxnreg=40", "maxnreg=64",
			"repeat@1=2", "repeat@1=4", "repeat@2=2", "repeat@1=8"))
	}
	return strings.Join(terms, " ")
}
