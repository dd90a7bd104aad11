package page

import (
	"fmt"
	"math"
	"strings"

	"gnvcc/policy/predicted"
)

// balanced is of how many kernels the X-graph is drawn: each may take a compile.
const balanced = 20

// balancePicture draws the X-graph (Li's thesis, chapter 3): what memory delivers, over the warps that
// wait, and what the others ask for; the kernel settles where they meet.
func balancePicture(b *predicted.Balance) picture {
	const points = 128
	m := b.Model
	supply := func(k float64) float64 { return m.Supply(k) }
	demand := func(k float64) float64 { return m.Demand(m.Warps - k) }
	most := 0.0
	for i := range points + 1 {
		most = math.Max(most, supply(m.Warps*float64(i)/points))
	}
	// demand may be far above what memory can deliver, and is cut off there
	x, y := scale{0, m.Warps, left, width - right}, scale{0, 1.5 * most, height - bottom, top}
	s := &svg{}
	axes(s, "warps of an SM that wait for memory", "sectors a cycle", x, y)
	curve := func(class string, of func(float64) float64) {
		s.add(`<path class="%s" d="`, class)
		for i := range points + 1 {
			k := m.Warps * float64(i) / points
			s.add("%c%.1f %.1f", "ML"[min(i, 1)], x.at(k), y.at(math.Min(of(k), y.high)))
		}
		s.add(`"/>`)
	}
	curve("curve", supply)
	curve("endless", demand)
	s.add(`<circle class="won" cx="%.1f" cy="%.1f" r="5"/>`, x.at(b.Point.Waiting), y.at(math.Min(b.Point.Sectors, y.high)))
	caption := fmt.Sprintf("X-model of nvcc's own code, from machine code alone: sectors that memory delivers (solid) and that the computing "+
		"warps ask for (dashed); %s.", strings.TrimPrefix(strings.Join(b.Lines(), "; "), "X-model: "))
	return s.picture(caption, caption)
}
