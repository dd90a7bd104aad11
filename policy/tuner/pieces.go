package tuner

import (
	"cmp"

	"gnvcc/policy"
	"gnvcc/policy/decide"
)

// pieces sums the run's time up by kernels: what becomes of each by what was decided, and why some
// was left alone. A kernel that was loaded with its recipe in it gains nothing more.
func (a *account) pieces(results []decide.Result) []policy.Piece {
	type times struct{ before, after float64 }
	type of struct{ kernel, device string }
	by, short := map[of]times{}, map[string]string{}
	for _, r := range results {
		short[r.Kernel.Name] = r.Kernel.Short
		if r.Decision == nil {
			continue
		}
		before, after := r.Decision.Evidence.Whole()
		if r.Decision.Recipe == "" || r.Kernel.Applied != "" {
			after = before
		}
		is := of{r.Kernel.Name, r.Device}
		t := by[is]
		by[is] = times{t.before + before, t.after + after}
	}
	var out []policy.Piece
	for _, row := range a.rows {
		p := policy.Piece{Kernel: cmp.Or(short[row.Kernel], policy.ShortName(row.Kernel)),
			Seconds: row.Seconds, After: row.Seconds, Why: row.Why,
			Cut: row.Cut && row.Why == "", Left: row.Left}
		if row.ratio > 0 { // of a decision that stands, whose gain is not this run's
			p.After *= row.ratio
			out = append(out, p)
			continue
		}
		if t := by[of{row.Kernel, row.Device}]; t.before > 0 {
			own := 1.0
			if row.Own > 0 {
				own = row.Own
			}
			p.After -= own * p.Seconds * (1 - t.after/t.before)
		}
		out = append(out, p)
	}
	return policy.ByTime(out)
}
