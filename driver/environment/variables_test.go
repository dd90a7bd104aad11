package environment

import (
	"slices"
	"testing"
)

func TestUnknown(t *testing.T) {
	t.Setenv("GNVCC_SCCACHE", "1") // of 4fbd0a03
	t.Setenv(off, "")
	t.Setenv(Toolkits, "/opt")
	if got := Unknown(); !slices.Contains(got, "GNVCC_SCCACHE") || slices.Contains(got, off) || slices.Contains(got, Toolkits) {
		t.Error(got)
	}
}
