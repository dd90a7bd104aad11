package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gnvcc/cache"
	"gnvcc/install/kits"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/sim/cubin"
	"gnvcc/sim/sass"
)

// asIfDriver is a variable that makes the command under test go on without an NVIDIA driver: what
// it then does with a program that launches nothing can be tested anywhere.
const asIfDriver = "TEST_AS_IF_DRIVER"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "nvcc" { // a copy in nvcc's place
		os.Exit(run(os.Args))
	}
	testscript.Main(m, map[string]func(){"gnvccverbs": func() { runVerbs(os.Args[1:]) }, "gnvcc": func() {
		tuner.AgentFolder = func(*cache.Store) string { return kits.Kept() }
		if os.Getenv(asIfDriver) != "" {
			driverHere = func() bool { return true }
			watchMachine.HasDriver = driverHere
		}
		if text := os.Getenv("TEST_REGISTRY_TIMEOUT"); text != "" {
			registryTimeout, _ = time.ParseDuration(text)
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

// TestTroubleshooting tries rows of docs/troubleshooting.md.
func TestTroubleshooting(t *testing.T) {
	p := params(kits.Any(t))
	p.Dir = "testdata/troubles"
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
			e.Setenv("KIT", kit.Dir)
			e.Vars = append(e.Vars, kits.ShortIn(e.WorkDir))
			e.Setenv("GNVCC_STORE", filepath.Join(e.WorkDir, "store"))
			e.Setenv("TERM", "dumb")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// ends CODE COMMAND ARGS: the command ends with this exit code.
			"ends": func(ts *testscript.TestScript, _ bool, args []string) {
				err := ts.Exec(args[1], args[2:]...)
				code, failed := 0, (*exec.ExitError)(nil)
				if errors.As(err, &failed) {
					code = failed.ExitCode()
				} else {
					ts.Check(err)
				}
				if fmt.Sprint(code) != args[0] {
					ts.Fatalf("exit code %d, and not %s", code, args[0])
				}
			},
			// registers CUBIN KERNEL N: so many has the kernel that people call so.
			"registers": func(ts *testscript.TestScript, neg bool, args []string) {
				f, err := cubin.Read([]byte(ts.ReadFile(args[0])))
				ts.Check(err)
				for _, k := range f.Kernels {
					if policy.ShortName(k.Name) == args[1] && (fmt.Sprint(k.Registers) == args[2]) == neg {
						ts.Fatalf("%s: %d registers", args[1], k.Registers)
					}
				}
			},
			// samefloats CUBIN CUBIN KERNEL: the kernel computes with the same floating-point instructions
			// in both.
			"samefloats": func(ts *testscript.TestScript, neg bool, args []string) {
				err := sass.SameEntries([]byte(ts.ReadFile(args[0])), args[2], []byte(ts.ReadFile(args[1])), args[2])
				if (err != nil) != neg {
					ts.Fatalf("samefloats: %v", err)
				}
			},
		},
		Condition: func(cond string) (bool, error) {
			if cond == "gpu" {
				_, err := os.Stat("/dev/nvidiactl")
				return err == nil, nil
			}
			return kits.Condition(cond)
		},
	}
}
