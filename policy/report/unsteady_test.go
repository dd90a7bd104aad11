package report

import (
	"strings"
	"testing"

	"gnvcc/cache"
)

// TestUnsteady: of a recipe whose results nobody could compare no report says that they were the same.
func TestUnsteady(t *testing.T) {
	d := &cache.Decision{Recipe: "maxnreg=48", Exactness: "construction",
		Evidence: cache.Evidence{Unsteady: "its sums depend on the order of atomics"}}
	if got := CheckedText(Entry{Decision: d}); strings.Contains(got, "same bits") ||
		!strings.Contains(got, "its sums depend on the order of atomics; no arithmetic was changed") {
		t.Error(got)
	}
	d.Evidence = cache.Evidence{Locked: &cache.Locked{Gain: 1.1}} // what a lock file keeps of it
	if got := CheckedText(Entry{Decision: d}); strings.Contains(got, "same bits") {
		t.Error(got)
	}
}
