package compile_test

import (
	"os"
	"path/filepath"
	"testing"

	"gnvcc/driver"
	"gnvcc/driver/stage"
)

// TestMain makes the test binary gnvcc where a project calls it by that name (drivertest), or nvcc
// calls it as a stage.
func TestMain(m *testing.M) {
	if step, words, ok := stage.Of(os.Args[1:]); ok {
		os.Exit(stage.Run(step, words))
	}
	if filepath.Base(os.Args[0]) == "gnvcc" {
		os.Exit(driver.Face(os.Args[1:]))
	}
	os.Exit(m.Run())
}
