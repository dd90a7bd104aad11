package remote

import (
	"bytes"

	"gnvcc/cache"
)

// Merge gives of all decisions one for each kernel and GPU, whichever order they come in: a
// measured one before one that only says why nothing was measured, then the newer, then the one
// with more evidence.
func Merge(all [][]cache.Arrived) []cache.Arrived {
	at := map[string]int{}
	var out []cache.Arrived
	for _, list := range all {
		for _, d := range list {
			key := d.Key()
			i, known := at[key]
			switch {
			case !known:
				at[key] = len(out)
				out = append(out, d)
			case before(&d, &out[i]):
				out[i] = d
			}
		}
	}
	return out
}

// before reports whether a decision counts more than another on the same kernel and GPU.
func before(a, b *cache.Arrived) bool {
	if x, y := len(a.Evidence.Launches) > 0, len(b.Evidence.Launches) > 0; x != y {
		return x
	}
	if !a.Time.Equal(b.Time) {
		return a.Time.After(b.Time)
	}
	if x, y := checks(a), checks(b); x != y {
		return x > y
	}
	return bytes.Compare(a.Raw, b.Raw) < 0 // either, but the same one everywhere
}

// checks is how much evidence there is.
func checks(d *cache.Arrived) (n int) {
	for _, l := range d.Evidence.Launches {
		n += 1 + l.Checked + l.Varied
	}
	return n
}
