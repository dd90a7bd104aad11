package pass

import "strings"

// PTX that passes write: as a text with words to be filled in, so that it reads as what it becomes.

// Fill gives the lines of a text, each word of pairs replaced by what stands behind it.
func Fill(text string, pairs ...string) []string {
	var out []string
	for line := range strings.Lines(strings.NewReplacer(pairs...).Replace(text)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// WarpIndex leaves the index of a thread's warp in its block, by the linear thread index, in
// register 0 of those that begin with a prefix; it needs five.
func WarpIndex(prefix string) []string {
	return Fill(`
		mov.u32 P0, %tid.z;
		mov.u32 P1, %ntid.y;
		mov.u32 P2, %tid.y;
		mad.lo.u32 P0, P0, P1, P2;
		mov.u32 P3, %ntid.x;
		mov.u32 P4, %tid.x;
		mad.lo.u32 P0, P0, P3, P4;
		shr.u32 P0, P0, 5;`, "P", prefix)
}
