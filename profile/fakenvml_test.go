package profile

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeNVML builds the test's own libnvidia-ml (testdata/nvml.c), and gives its folder.
func fakeNVML(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("gcc", "-w", "-shared", "-fPIC", "-o", filepath.Join(dir,
		"libnvidia-ml.so.1"), "testdata/nvml.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// metered is a session in a replay with what the library there is to be like.
func metered(t *testing.T, what, library string, do func(m Metering, candidate Candidate),
	env ...string) (Exit, string) {
	t.Helper()
	h := &scripted{}
	h.tune = func(l *Launch, s Session) Verdict {
		c, _, err := s.Load("/some/cubin", "")
		if err != nil {
			t.Fatal(err)
		}
		do(s.(Metering), c)
		if d, err := s.Check(Original); err != nil || !d.Same {
			t.Errorf("the original after that: %v, %v", d, err)
		}
		return Verdict{}
	}
	exit, log := newFakeDriver(t).run(t, h, what, false, append(env, "LD_LIBRARY_PATH="+library)...)
	if len(h.launch) != 1 {
		t.Errorf("%d launches", len(h.launch))
	}
	return exit, log
}

// power is the mean between the first step that counts and the last one, watts.
func power(m Meter) float64 {
	for len(m.Steps) > 0 && m.Steps[0].Before < m.Warm {
		m.Steps = m.Steps[1:]
	}
	if len(m.Steps) < 2 {
		return 0
	}
	a, b := m.Steps[0], m.Steps[len(m.Steps)-1]
	return float64(b.Millijoules-a.Millijoules) * 1e-3 / (b.After - a.After)
}

// TestMeter: what the counter says is handed over, step by step, while the device idles, while
// either kernel runs, singly, in rows, and with memory put back twice; and the runs are counted.
// The program's memory is as it was.
func TestMeter(t *testing.T) {
	exit, log := metered(t, "replay", fakeNVML(t), func(s Metering, c Candidate) {
		for _, x := range []struct {
			of     Candidate
			what   Metered
			o      Measurement
			joules float64 // a run, beside 50 W; a quarter for each of the copies before it
		}{{Original, Nothing, Measurement{}, 0}, {Original, Twice, Measurement{}, 1.5},
			{Original, Runs, Measurement{}, 1.25}, {c, Runs, Measurement{}, 0.75},
			{c, Runs, Measurement{Again: true, Row: 3}, 2.25}} {
			m, err := s.Meter(x.of, x.what, 400*time.Millisecond, x.o)
			if err != nil || m.Why != "" || len(m.Steps) < 8 {
				t.Errorf("%+v: %+v, %v", x, m, err)
				return
			}
			want := 50.
			if (x.what == Nothing) != (m.Runs == 0) || m.Each != 1+x.o.Row {
				t.Errorf("%+v: %d runs of %d", x, m.Runs, m.Each)
			} else if x.what != Nothing {
				want += x.joules * float64(m.Runs) / m.Took
			}
			if got := power(m); math.Abs(got/want-1) > 0.25 { // whatever this machine does beside
				t.Errorf("%+v: %.4g W, want %.4g", x, got, want)
			}
			for i, step := range m.Steps {
				if step.Before > step.After || i > 0 && step.Before < m.Steps[i-1].After {
					t.Fatalf("%+v: %+v", x, m.Steps)
				}
			}
		}
	})
	if exit.Code != 7 || log != "" {
		t.Errorf("%+v, %q", exit, log)
	}
}

// TestNoMeter: where there is no counter for us, it is said why, and nothing is made up.
func TestNoMeter(t *testing.T) {
	library, none := fakeNVML(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(none, "libnvidia-ml.so.1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ is, what, library, want string }{
		{"NVML=none", "replay", library, "has no energy counter"},
		{"NVML=split", "replay", library, "that of all parts"},
		{"NVML=shared", "replay", library, "another process"},
		{"NVML=beside", "replay", library, "another process"},
		{"NVML=late", "replay", library, "another process"},
		{"NVML=another", "replay", library, "does not know the device"},
		{"NVML=broken", "replay", library, "can't be started"},
		{"FAIL=cuDeviceGetPCIBusId", "replay", library, "where the device is"},
		{"NVML=", "replay", none, "there is no libnvidia-ml.so.1"},
		{"NVML=", "launch", library, "not in a replay"},
	} {
		metered(t, x.what, x.library, func(s Metering, c Candidate) {
			for range 2 {
				m, err := s.Meter(c, Runs, 50*time.Millisecond, Measurement{})
				if err != nil || !strings.Contains(m.Why, x.want) || len(m.Steps)+m.Runs > 0 {
					t.Errorf("%+v: %+v, %v", x, m, err)
				}
			}
		}, x.is)
	}
	// One that stands still, or that is lost, has no steps; one that goes backwards is handed over so.
	for is, steps := range map[string]bool{"still": false, "lost": false, "backwards": true} {
		metered(t, "replay", library, func(s Metering, c Candidate) {
			m, err := s.Meter(c, Nothing, 200*time.Millisecond, Measurement{})
			if n := len(m.Steps); err != nil || m.Why != "" || n > 1 != steps ||
				steps && m.Steps[n-1].Millijoules >= m.Steps[0].Millijoules {
				t.Errorf("%s: %+v, %v", is, m, err)
			}
		}, "NVML="+is)
	}
}

// TestMeterFails: a driver that fails while the counter is looked at is reported, as anywhere, and
// what would be put back by the CPU is not queued.
func TestMeterFails(t *testing.T) {
	library := fakeNVML(t)
	for _, fail := range []string{"", "cuEventRecord", "cuEventQuery", "cuLaunchKernel",
		"cuMemcpyDtoDAsync_v2"} {
		fails := filepath.Join(t.TempDir(), "fails")
		h := &scripted{}
		h.tune = func(l *Launch, s Session) Verdict {
			if _, err := s.Golden(); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(fails, []byte(fail), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := s.(Metering).Meter(Original, Runs, 100*time.Millisecond, Measurement{})
			if (err != nil) != (fail != "") {
				t.Errorf("%s fails: %+v, %v", fail, m, err)
			}
			return Verdict{}
		}
		newFakeDriver(t).run(t, h, "replay", false, "FAILS="+fails, "LD_LIBRARY_PATH="+library)
		if len(h.launch) != 1 {
			t.Errorf("%s fails: %d launches", fail, len(h.launch))
		}
	}
	metered(t, "replay", library, func(s Metering, c Candidate) {
		m, err := s.Meter(c, Runs, 50*time.Millisecond, Measurement{})
		if err != nil || !strings.Contains(m.Why, "put back by the CPU") {
			t.Errorf("no room on the device: %+v, %v", m, err)
		}
	}, "FULL=1")
}
