package environment

import (
	"slices"
	"testing"
)

func TestUnknown(t *testing.T) {
	t.Setenv("GNVCC_SCCACHE", "1") // of 4fbd0a03
	t.Setenv(off, "")
	if got := Unknown(); !slices.Contains(got, "GNVCC_SCCACHE") || slices.Contains(got, off) {
		t.Error(got)
	}
}
