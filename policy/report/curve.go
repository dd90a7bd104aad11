package report

import (
	"fmt"

	"gnvcc/policy"
)

// curve prints what degrees cost and what they give.
func (p *printer) curve(e Entry) {
	all := e.Decision.Evidence.Curve
	if len(all) == 0 {
		return
	}
	p.line("")
	p.line("  approximation of %s, %s, by degree (error of the worst value, and the mean):", e.Kernel,
		all[0].Recipe)
	p.line("    %-16s %8s %10s %10s", "warps", "time", "error", "mean")
	p.line("    %-16s %8.3f %10s %10s", "none", 1.0, "0", "0")
	for _, d := range all {
		p.line("    %-16s %8.3f %10s %10s", fmt.Sprintf("%d of %d", d.Warps, d.Of), d.Ratio,
			relative(d.Max), relative(d.Mean))
	}
}

// relative prints a relative error.
func relative(x float64) string {
	if x >= policy.UnknownError {
		return "not known"
	}
	return fmt.Sprintf("%.3g", x)
}
