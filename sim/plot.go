// A picture of what registers cost, as text.

package sim

import (
	"fmt"
	"strings"
)

// A Plot describes the picture of one kernel and launch shape.
type Plot struct {
	Device  Device
	Shape   Shape
	Region  Region
	Default int // the count of nvcc's own build, 0: not shown
	Chosen  int // the count of the recipe's build, 0: not shown
}

// String draws one line per occupancy level, the most resident warps at the top: register counts,
// resident blocks and warps, a bar as long as the share of the warp slots in use, what limits, and
// the critical point. It ends with a newline.
//
//	registers    blocks  warps  of 64 on sm_90, blocks of 256 threads, many blocks (assumed)
//	 24 ..  32        8     64  ################################  warps          critical point 32
//	 33 ..  40        6     48  ########################--------  registers      default 38, critical point 40
func (p Plot) String() string {
	const width = 32 // of a full bar
	low, high := p.Region.Min, p.Region.Max
	for _, n := range []int{p.Default, p.Chosen} { // the default may lie outside of the region
		if n > 0 {
			low, high = min(low, n), max(high, n)
		}
	}
	levels := p.Device.Levels(p.Shape, low, high)
	var b strings.Builder
	fmt.Fprintf(&b, "registers    blocks  warps  of %d on sm_%d, blocks of %d threads", p.Device.Warps,
		p.Device.CC, p.Shape.Threads)
	if p.Shape.Shared > 0 {
		fmt.Fprintf(&b, ", %d bytes of shared memory", p.Shape.Shared)
	}
	switch {
	case p.Shape.Blocks > 0 && p.Device.SMs > 0:
		fmt.Fprintf(&b, ", %d blocks on %d SMs", p.Shape.Blocks, p.Device.SMs)
	default:
		b.WriteString(", many blocks (assumed)")
	}
	b.WriteString("\n")
	if len(levels) == 0 {
		o := p.Device.Occupancy(low, p.Shape)
		fmt.Fprintf(&b, "%3d .. %3d   no block fits (%s)\n", low, high, o.Limit)
		return b.String()
	}
	if top := levels[0].Max; top < high {
		fmt.Fprintf(&b, "%3d .. %3d        -      -  a block of %d threads can't be launched\n", top+1,
			high, p.Shape.Threads)
	}
	for i := len(levels) - 1; i >= 0; i-- {
		l := levels[i]
		n := (l.Warps*width + p.Device.Warps/2) / p.Device.Warps
		bar := strings.Repeat("#", n) + strings.Repeat("-", width-n)
		var notes []string
		note := func(what string, regs int) {
			if regs >= l.Min && regs <= l.Max {
				notes = append(notes, fmt.Sprintf("%s %d", what, regs))
			}
		}
		note("default", p.Default)
		note("chosen", p.Chosen)
		notes = append(notes, fmt.Sprintf("critical point %d", l.Max))
		fmt.Fprintf(&b, "%3d .. %3d   %6d %6d  %s  %-13s  %s\n", l.Min, l.Max, l.Blocks, l.Warps, bar,
			l.Limit, strings.Join(notes, ", "))
	}
	return b.String()
}
