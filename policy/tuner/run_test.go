package tuner

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/driver"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/stage"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/report"
	"gnvcc/policy/tuner/tunertest"
	"gnvcc/profile/capture"
	"gnvcc/profile/capture/capturetest"
	"gnvcc/sim/cubin"
)

// The test binary is gnvcc for the builds of its tests.
func TestMain(m *testing.M) {
	if step, words, ok := stage.Of(os.Args[1:]); ok {
		os.Exit(stage.Run(step, words))
	}
	if os.Args[0] == "gnvcc" {
		os.Exit(driver.Face(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// noSignals is a user who sends none.
type noSignals struct{ ctx context.Context }

func (s noSignals) Tuning() context.Context { return s.ctx }
func (s noSignals) Rest() context.Context   { return s.ctx }
func (noSignals) Pass() <-chan os.Signal    { return nil }
func (noSignals) ProgramEnded()             {}
func (noSignals) Asked() syscall.Signal     { return 0 }
func (noSignals) CutShort() syscall.Signal  { return 0 }

// TestRun: a whole run on captures, on real builds and a GPU that is made up. The heavier kernel is
// searched on first; decisions are in the store, and a build takes them. A launch too long for the
// budget is not looked at, and that is said.
func TestRun(t *testing.T) {
	t.Log("the GPU is simulated")
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": `
__global__ void light(float *p, int n) {` + drivertest.Wide + `}
__global__ void heavy(float *p, int n) {` + drivertest.Wide + `p[n] += 2;}
__global__ void endless(float *p, int n) {` + drivertest.Wide + `p[n] += 3;}
`})
	p.Gnvcc("-arch=sm_90", "-cubin", "-o", "k.cubin", "k.cu")
	for _, v := range p.Env[len(p.Env)-4:] { // this process sees the same store and toolkit
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	s, err := Captures(p.Store)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(p.Dir, "k.cubin"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	long := ""
	for _, k := range f.Kernels {
		seconds := 1.0
		switch {
		case strings.Contains(k.Name, "heavy"):
			seconds = 3
		case strings.Contains(k.Name, "endless"):
			seconds = 4
			if long, err = policy.CodeHash(content, k.Name); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := capturetest.Keep(s, capturetest.Launch{Program: "app", Kernel: k.Name,
			Cubin: content, Params: [][2]int{{0, 8}, {8, 4}}, Grid: 1024, Block: 256, Seconds: seconds,
			Made: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	var measured []string
	tools, err := toolkit.Find("", environment.Read())
	if err != nil {
		t.Fatal(err)
	}
	o := policy.Defaults()
	o.Levers, o.Version = []string{"maxnreg"}, "test"
	var found Found
	var said bytes.Buffer
	tune := func() {
		exit, err := Run(Request{Store: p.Store, Tools: tools, Options: o,
			Budget: time.Minute, Apply: true, Signals: noSignals{context.Background()},
			GPU: tunertest.GPU{Captures: func() (*capture.Store, error) { return s, nil },
				Takes:    func(code string) (float64, bool) { return 5e3, code == long }, // 5 s
				Measured: func(kernel, code string) { measured = append(measured, kernel) }},
			Found: func(f Found) { found = f }, Stderr: &said})
		if err != nil || exit.Code != 0 {
			t.Fatalf("exit code %d: %v\n%s", exit.Code, err, &said)
		}
	}
	back := confirms(t, p, tune)
	order := slices.Compact(measured)
	if len(order) < 2 || !strings.Contains(order[0], "heavy") || !strings.Contains(order[1], "light") {
		t.Errorf("measured: %q", order)
	}
	wanted := map[string]string{}
	for _, r := range found.Results {
		if r.Decision != nil {
			wanted[r.Decision.Identity] = r.Decision.Recipe
		}
	}
	if len(wanted) != 3 {
		t.Errorf("found %+v", found)
	}
	const why = "a launch takes 5"
	for _, r := range found.Results {
		if r.Kernel.Short == "endless" && !strings.HasPrefix(r.Decision.Evidence.Note, why) {
			t.Errorf("it stands in the store as %+v", r.Decision.Evidence)
		}
	}
	text := strings.Join(strings.Fields(report.Outcome{Parts: found.Pieces}.String()), " ")
	if !strings.Contains(text, "GPU time: 8.00 s, of which 50 % was searched") ||
		!strings.Contains(text, "Left alone: 50 %: "+why) {
		t.Error(text)
	}
	some := false
	for _, b := range record.Built(p.Store) {
		some = some || b.Recipe != ""
		if b.Recipe != wanted[b.Identity] {
			t.Errorf("%s is built with %q, found was %q", b.Name, b.Recipe, wanted[b.Identity])
		}
	}
	if !some {
		t.Errorf("nothing is built with a recipe\n%s", &said)
	}
	tune() // what was taken back is not found again, and what was kept stays so
	for _, r := range found.Results {
		d := r.Decision
		if r.Kernel.Short == "light" && (d == nil || d.Recipe == back) ||
			r.Kernel.Short == "heavy" && (d == nil || d.Recipe == "" || d.Proposed()) {
			t.Errorf("tuned again: %+v", d)
		}
	}
}
