package fold

import "gnvcc/rewrite/ptx"

// along carries, on all ways through a function, what may be so before each of its statements, as
// bits: begin at its first one, and behind each what step makes of it, until nothing is new.
func along[T ~uint8](blocks []ptx.Block, begin T, step func(i int, now T) T) {
	in := make([]T, len(blocks))
	if len(in) > 0 {
		in[0] = begin
	}
	for again := true; again; {
		again = false
		for b, block := range blocks {
			now := in[b]
			for i := block.First; i < block.Last; i++ {
				now = step(i, now)
			}
			for _, next := range block.Succs {
				if in[next]|now != in[next] {
					in[next], again = in[next]|now, true
				}
			}
		}
	}
}
