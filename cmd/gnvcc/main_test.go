package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gnvcc/install/kits"
	"gnvcc/sim/sass"
)

// asIfDriver is a variable that makes the command under test go on without an NVIDIA driver: what
// it then does with a program that launches nothing can be tested anywhere.
const asIfDriver = "TEST_AS_IF_DRIVER"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gnvccverbs": func() { runVerbs(os.Args[1:]) }, "gnvcc": func() {
		if os.Getenv(asIfDriver) != "" {
			driverHere = func() bool { return true }
			watchMachine.HasDriver = driverHere
		}
		if file := os.Getenv(asIfGPU); file != "" {
			simulateGPU(file)
		}
		os.Exit(run(os.Args))
	}})
}

// TestVerbs runs the verbs as a user types them, on a real toolkit and, as a rule, without a GPU.
func TestVerbs(t *testing.T) {
	p := params(kits.Any(t))
	p.Dir = "testdata/script"
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv(asIfDriver, "yes")
		return setup(e)
	}
	testscript.Run(t, p)
}

// params are those of scripts that call gnvcc: with a store of their own. HERE is the folder with
// gnvcc alone.
func params(kit kits.Kit) testscript.Params {
	return testscript.Params{
		Setup: func(e *testscript.Env) error {
			here, _, _ := strings.Cut(e.Getenv("PATH"), string(os.PathListSeparator))
			e.Setenv("HERE", here)
			e.Setenv("GNVCC_NVCC", kit.Nvcc())
			e.Setenv("GNVCC_STORE", filepath.Join(e.WorkDir, "store"))
			e.Setenv("TERM", "dumb")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// samefloats CUBIN CUBIN KERNEL: the kernel computes with the same floating-point instructions
			// in both.
			"samefloats": func(ts *testscript.TestScript, neg bool, args []string) {
				err := sass.SameFloats([]byte(ts.ReadFile(args[0])), []byte(ts.ReadFile(args[1])), args[2])
				if (err != nil) != neg {
					ts.Fatalf("samefloats: %v", err)
				}
			},
		},
		Condition: func(cond string) (bool, error) {
			_, err := os.Stat("/dev/nvidiactl")
			return cond == "gpu" && err == nil, nil
		},
	}
}
