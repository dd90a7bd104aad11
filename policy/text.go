package policy

import (
	"fmt"
	"math"
)

// Numbers as people read them.

// Duration prints nanoseconds as reports do.
func Duration(ns float64) string { return duration(ns) }

// duration prints nanoseconds with three digits and a unit.
func duration(ns float64) string {
	switch {
	case ns <= 0 || math.IsNaN(ns):
		return "-"
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return digits(ns/1e3) + " us"
	case ns < 1e9:
		return digits(ns/1e6) + " ms"
	}
	return digits(ns/1e9) + " s"
}

func digits(x float64) string {
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// geomean is the n-th root of a product.
func geomean(product float64, n int) float64 {
	if n == 0 {
		return 1
	}
	return math.Pow(product, 1/float64(n))
}
