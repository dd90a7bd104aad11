package predict

import (
	"math"
	"strings"

	"gnvcc/sim/sass"
)

// Features names what a forest sees of a candidate, in order. Ratios are logarithms of the
// candidate's number over the default's; "default" ones describe the kernel. A change of their
// meaning raises forest.Version.
var Features = []string{
	"registers", "occupancy", "waves", "instructions", "fp32", "fp64", "integers", "loads", "stores",
	"constants",
	"sectors", "loads in flight", "spills", "paper's time", "our cycles", "our latency",
	"cap", "hint", "unrolled", "other lever",
	"default's occupancy", "default's registers", "default's waiting share", "default's sectors share",
}

// Vector gives a candidate's values beside the default's. lever is the recipe as text.
func Vector(base, e Estimate, baseRegisters, registers int, lever string) []float64 {
	ratio := func(a, b float64) float64 { return clip(math.Log((a + 1e-6) / (b + 1e-6))) }
	count := func(x Estimate, classes ...sass.Class) float64 {
		n := 1.0
		for _, c := range classes {
			n += x.Classes[c]
		}
		return n
	}
	classes := func(c ...sass.Class) float64 { return ratio(count(e, c...), count(base, c...)) }
	time := func(x Estimate) float64 {
		return paperTime(x.Paper, x.Fraction, max(base.Fraction, e.Fraction), paperSlowdown)
	}
	has := func(words ...string) float64 {
		for _, w := range words {
			for _, f := range strings.Fields(lever) {
				if strings.HasPrefix(f, w) {
					return 1
				}
			}
		}
		return 0
	}
	limit, hint, unrolled := has("maxnreg"), has("ld=", "st=", "ld@", "st@"), has("unroll", "nounroll")
	other := 0.0
	if limit+hint+unrolled == 0 {
		other = 1
	}
	return []float64{
		ratio(float64(registers), float64(baseRegisters)), ratio(e.Fraction, base.Fraction),
		ratio(e.Waves, base.Waves),
		ratio(e.Insts, base.Insts), classes(sass.FP32), classes(sass.FP64),
		classes(sass.Integer, sass.IMAD, sass.Uniform),
		classes(sass.Load), classes(sass.Store), classes(sass.Constant), ratio(e.Sectors, base.Sectors),
		ratio(e.InFlight+1, base.InFlight+1), ratio(e.Spills+1, base.Spills+1),
		ratio(time(e), time(base)),
		ratio(e.Cycles, base.Cycles), ratio(e.Latency, base.Latency),
		limit, hint, unrolled, other,
		base.Fraction, float64(baseRegisters), share(base.Balance.Waiting, base.Model.Warps),
		share(base.Sectors, base.Insts),
	}
}

func share(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return clip(a / b)
}

// clip keeps hostile files' numbers out of a forest.
func clip(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(-50, min(50, x))
}
