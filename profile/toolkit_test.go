package profile

import (
	"testing"

	"gnvcc/install/kits"
)

// toolkit returns a toolkit's folder, or skips.
func toolkit(t testing.TB) string {
	t.Helper()
	return kits.Any(t).Dir
}
