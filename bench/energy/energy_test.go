package energy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// libraries are a driver and an NVML of the tests' own, in the way of what this machine has.
func libraries(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, source := range map[string]string{"libcuda.so.1": "testdata/cuda.c",
		"libnvidia-ml.so.1": "../../profile/testdata/nvml.c"} {
		if out, err := exec.Command("gcc", "-w", "-shared", "-fPIC", "-o", filepath.Join(dir, name),
			source, "-ldl").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Setenv("LD_LIBRARY_PATH", dir)
}

// around does a run of some time that spends some joules beside the 50 W.
func around(t *testing.T, takes time.Duration, joules int, fails error) Run {
	t.Helper()
	spent := filepath.Join(t.TempDir(), "spent")
	t.Setenv("NVML_SPENT", spent)
	c, err := Open(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Around(func() error {
		time.Sleep(takes)
		if err := os.WriteFile(spent, make([]byte, joules), 0o600); err != nil {
			t.Error(err)
		}
		return fails
	})
	if err != fails {
		t.Error(err)
	}
	return r
}

// TestAround: a run's joules are those that the GPU takes from its start to its end, within what is
// said.
func TestAround(t *testing.T) {
	libraries(t)
	t.Setenv("NVML_STEP", "5")
	begun := time.Now()
	r := around(t, time.Second, 300, nil)
	// at the least, and at the most
	if low, high := 350., 300+50*time.Since(begun).Seconds(); r.Why != "" || r.Joules+1 < low || r.Joules-r.Error-1 > high || r.Error > precise*r.Joules {
		t.Errorf("%+v, want %g to %g", r, low, high)
	}
	if fails := errors.New("exit status 1"); around(t, 0, 0, fails) != (Run{}) {
		t.Error("a run that failed has joules")
	}
}

// TestNotSaid: where the figure would be of something else, or of nothing, there is none.
func TestNotSaid(t *testing.T) {
	libraries(t)
	for _, x := range []struct{ variable, value, want string }{
		{"NOGPU", "1", "there is no GPU"},
		{"GPUS", "2", "see several GPUs"},
		{"GPUS", "0", "there is no GPU"},
		{"NVML", "shared", "another process has the GPU"},
		{"NVML", "none", "has no energy counter"},
		{"NVML", "split", "that of all parts"},
		{"NVML", "another", "does not know the device"},
		{"NVML", "still", "does not move"},
		{"NVML", "lost", "does not move"},
		{"NVML", "backwards", "went backwards"},
		{"NVML_STEP", "200", "not precise enough"},
		{"LD_LIBRARY_PATH", "/none", "no GPU"},
	} {
		t.Run(x.variable+"="+x.value, func(t *testing.T) {
			if x.variable == "LD_LIBRARY_PATH" {
				if _, err := os.Stat("/dev/nvidiactl"); err == nil {
					t.Skip("this machine has a driver")
				}
			}
			t.Setenv(x.variable, x.value)
			if r := around(t, 250*time.Millisecond, 10, nil); !strings.Contains(r.Why, x.want) ||
				r.Joules != 0 || r.Error != 0 {
				t.Errorf("%+v, want %q", r, x.want)
			}
		})
	}
}

// TestCounterEnds: a counter that is gone says nothing, and the run is done.
func TestCounterEnds(t *testing.T) {
	libraries(t)
	c, err := Open(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	done := false
	if r, err := c.Around(func() error { done = true; return nil }); err != nil || !done ||
		!strings.Contains(r.Why, "has ended") {
		t.Errorf("%+v, %v, done %v", r, err, done)
	}
}
