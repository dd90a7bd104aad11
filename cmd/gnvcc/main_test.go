package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gnvcc/install/kits"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gnvcc": func() { os.Exit(run(os.Args)) }})
}

// TestVerbs runs the verbs as a user types them, on a real toolkit and, as a rule, without a GPU.
func TestVerbs(t *testing.T) {
	kit := kits.Any(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GNVCC_NVCC", kit.Nvcc())
			e.Setenv("GNVCC_STORE", filepath.Join(e.WorkDir, "store"))
			e.Setenv("TERM", "dumb")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			_, err := os.Stat("/dev/nvidiactl")
			return cond == "gpu" && err == nil, nil
		},
	})
}
