package report

import (
	"fmt"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
)

// Joules of a launch, where somebody has asked for them.

// EnergyText tells what a launch takes with nvcc's own build and with the recipe's, of each
// configuration where that was looked at; "" where it was not.
func EnergyText(e Entry) string {
	var out []string
	for _, l := range e.Decision.Evidence.Launches {
		if l.Energy == nil || e.Recipe == "" {
			continue
		}
		text := l.Energy.Why
		if l.Energy.Why == "" {
			a, b := l.Energy.Before, l.Energy.After
			text = fmt.Sprintf("%s -> %s a launch, %.2f of the energy (of the whole GPU, which takes %.0f W "+
				"when idle)", joules(a), joules(b), b.Launch/a.Launch, l.Energy.Idle)
		}
		where := "energy: "
		if len(e.Decision.Evidence.Launches) > 1 {
			where = fmt.Sprintf("energy at %s: ", policy.ShapeMeasured(l))
		}
		out = append(out, where+text)
	}
	return strings.Join(out, "; ")
}

// joules are some with a unit that people read: "40.0 mJ ±1.2%".
func joules(j cache.Joules) string {
	value, unit := j.Launch, "J"
	for _, smaller := range []string{"mJ", "uJ"} {
		if value < 1 {
			value, unit = 1e3*value, smaller
		}
	}
	return fmt.Sprintf("%s %s %s%.1f%%", digits(value), unit, PlusMinus, 100*j.Error/j.Launch)
}
