package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gnvcc": func() { os.Exit(run(os.Args)) }})
}

// TestVerbs runs the verbs as a user types them, on a real toolkit and, as a rule, without a GPU.
func TestVerbs(t *testing.T) {
	kit := ""
	for _, version := range []string{"13.0", "13.5", "13.3", "12.4", "11.8"} {
		if out, err := exec.Command("../../install/toolkit", "--path", version).Output(); err == nil {
			kit = strings.TrimSpace(string(out))
			break
		}
	}
	if kit == "" {
		t.Skip("SKIPPED: no CUDA toolkit here; run install/toolkit 13.0")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GNVCC_NVCC", filepath.Join(kit, "bin", "nvcc"))
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
