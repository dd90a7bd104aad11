package page

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gnvcc/policy/predicted"
	"gnvcc/sim/xmodel"
)

// The X-graph's point lies on both curves, and its caption has the answers.
func TestBalancePicture(t *testing.T) {
	m := xmodel.Model{Warps: 32, Intensity: 4, Pace: 0.2, Issue: 4, Latency: 60, Rate: 0.4, Cache: 1 << 17, CacheLatency: 5}
	p, ok := m.Settled()
	if !ok {
		t.Fatal("it does not settle")
	}
	pic := balancePicture(&predicted.Balance{Model: m, Point: p, What: m.What()})
	for _, want := range []string{"bound by memory", "half the warps 2.", "half the accesses 0.", "twice the L1 0."} {
		if !strings.Contains(pic.Caption, want) {
			t.Errorf("no %q in %s", want, pic.Caption)
		}
	}
	svg := string(pic.SVG)
	var x, y float64
	if _, err := fmt.Sscanf(svg[strings.Index(svg, `cx="`):], `cx="%f" cy="%f"`, &x, &y); err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"curve", "endless"} {
		path := svg[strings.Index(svg, `class="`+class):]
		near := false
		for _, at := range regexp.MustCompile(`[ML]([0-9.]+) ([0-9.]+)`).FindAllStringSubmatch(path[:strings.Index(path, `"/>`)], -1) {
			var a, b float64
			fmt.Sscan(at[1], &a)
			fmt.Sscan(at[2], &b)
			near = near || max(a-x, x-a) < 4 && max(b-y, y-b) < 12
		}
		if !near {
			t.Errorf("the point %.1f %.1f is not on %s", x, y, class)
		}
	}
}
