package tuner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/policy"
	"gnvcc/policy/confirm"
	"gnvcc/policy/decide"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/sim/cubin"
)

// aRun is one of a program with the cubin that stands in a file now: seconds of its kernels, by a
// word in their names, 100 launches each.
func aRun(t *testing.T, file string, seconds map[string]float64) Observed {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	out := Observed{Program: "/bin/app"}
	for _, k := range f.Kernels {
		for word, s := range seconds {
			if strings.Contains(k.Name, word) {
				out.Seen = append(out.Seen, capture.Seen{Launch: &profile.Launch{Kernel: k.Name,
					Cubin: hex.EncodeToString(sum[:]), Device: &profile.Device{Name: "Simulated H200"},
					Shape: profile.Shape{Grid: [3]int{1024, 1, 1}, Block: [3]int{256, 1, 1}}},
					Use: capture.Use{Count: 100, Sampled: 100, Seconds: s}})
			}
		}
	}
	return out
}

// confirms does what a program says of recipes: run as nvcc built it, and (build) with its recipes. It
// gives one that is taken back.
func confirms(t *testing.T, p *drivertest.Project, build func()) (takenBack string) {
	t.Helper()
	file := filepath.Join(p.Dir, "k.cubin")
	compiler, err := NewCompiler(p.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer compiler.Close()
	r := &run{Request: Request{Store: p.Store, Options: policy.Defaults(), Signals: noSignals{context.Background()}},
		compiler: compiler}
	if r.decisions, err = OpenDecisions(context.Background(), p.Store); err != nil {
		t.Fatal(err)
	}
	r.compare(aRun(t, file, map[string]float64{"heavy": 3, "light": 1, "endless": 4}))
	if len(r.compared) != 0 {
		t.Fatalf("nvcc's own code: %+v", r.compared)
	}
	build()
	decided := func(word string) (found cache.Decision) {
		sn, err := p.Store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Close()
		all, err := sn.AllDecisions()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			if strings.Contains(d.Kernel, word) {
				found = d
			}
		}
		return found
	}
	heavy, light := decided("heavy"), decided("light")
	if !heavy.Proposed() || !light.Proposed() {
		t.Fatalf("not proposed: %+v, %+v", heavy, light)
	}
	r.compare(aRun(t, file, map[string]float64{"heavy": 2.4, "light": 1.2, "endless": 4}))
	if err := r.decisions.Publish(); err != nil {
		t.Fatal(err)
	}
	if len(r.compared) != 1 || len(r.compared[0].Verdicts) != 2 {
		t.Fatalf("%+v", r.compared)
	}
	for _, v := range r.compared[0].Verdicts {
		if want := map[bool]confirm.State{true: confirm.Kept, false: confirm.TakenBack}[v.Short == "heavy"]; v.State != want {
			t.Errorf("%s", v)
		}
	}
	recipe := light.Recipe
	heavy, light = decided("heavy"), decided("light")
	if of := heavy.Evidence.Program; heavy.Proposed() || of == nil || of.Gain < 1.24 || of.Gain > 1.26 || heavy.Recipe == "" {
		t.Errorf("kept: %+v", heavy)
	}
	if light.Recipe != "" || light.Evidence.Program == nil || light.Evidence.Program.TakenBack == "" ||
		!strings.HasPrefix(light.Evidence.Note, recipe+" was taken back: slower in the program") {
		t.Errorf("taken back: %q, %+v", light.Recipe, light.Evidence)
	}
	n := decide.Read(Memos{p.Store}, decide.Key(light.Identity, light.Evidence.Device,
		policy.ShapeMeasured(light.Evidence.Launches[0]), ""), light.Identity)
	refused := false
	for _, tr := range n.Trials {
		refused = refused || tr.Text == recipe && strings.Contains(tr.Refused, "in the program")
	}
	if !refused || n.Done {
		t.Errorf("the next search would find it again: done %v", n.Done)
	}
	r.stands(t, aRun(t, file, map[string]float64{"heavy": 2.4, "light": 1, "endless": 4}))
	return recipe
}

// stands: of a tuned program what was kept stands, with its second entries, and what was taken back, or
// was never measured, does not.
func (r *run) stands(t *testing.T, again Observed) {
	t.Helper()
	if r.Options.Version = "another"; r.stood(again.Seen[0].Launch.Cubin, again.Seen[0].Launch.Kernel, "Simulated H200") != nil {
		t.Error("it was decided by another version")
	}
	r.Options.Version = "test"
	var entry capture.Seen
	for _, s := range again.Seen {
		if strings.Contains(s.Launch.Kernel, "heavy") {
			l := *s.Launch
			l.Kernel, l.Grid = l.Kernel+"__tuned_01234567", [3]int{77, 1, 1}
			entry = capture.Seen{Launch: &l, Use: capture.Use{Count: 10, Sampled: 10, Seconds: 0.6}}
		}
	}
	other := *again.Seen[0].Launch
	other.Grid[0] = 5
	seen := append(again.Seen, entry, capture.Seen{Launch: &other, Use: capture.Use{Count: 1, Seconds: 0.1}})
	s := &standings{of: r.stood}
	open, stand := s.split(seen)
	var a account
	a.enter(open, func(capture.Seen) string { return "open" })
	a.stand(stand, s)
	looked, all := 0.0, 0.0
	for _, p := range a.pieces(nil) {
		if all += p.Seconds; p.Why == "" {
			looked += p.Seconds
		}
		if p.Why == "" && (!strings.HasPrefix(p.Kernel, "heavy") || p.After != p.Seconds) {
			t.Errorf("stands: %+v", p)
		}
	}
	if looked != 3 || len(stand) != 2 {
		t.Errorf("%.2f of %.2f s stand, %d of %d", looked, all, len(stand), len(seen))
	}
	r.Options.Levers = []string{"hint"}
	if _, stand := (&standings{of: r.stood}).split(seen); len(stand) != 0 {
		t.Error("other levers were asked for")
	}
	r.Options.Levers = nil
}

// TestOnce: a program is run once more by itself only where that takes little time and can harm
// nobody, and it is said where it is not; what it prints is dropped.
func TestOnce(t *testing.T) {
	dir := t.TempDir()
	ran, agent := filepath.Join(dir, "ran"), filepath.Join(dir, "agent.so")
	if err := os.WriteFile(agent, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	defer func() { os.Stdin = stdin; null.Close(); pipe.Close() }()
	proposed := []cache.Decision{{Recipe: "hint@ld=cs", Evidence: cache.Evidence{Launches: []cache.Launch{{}}}}}
	kept := []cache.Decision{proposed[0]}
	kept[0].Evidence.Program = &cache.InProgram{}
	for name, c := range map[string]struct {
		apply bool
		took  time.Duration
		exit  int
		in    *os.File
		built []cache.Decision
		runs  bool
		said  string
	}{
		"as it should be":   {true, time.Second, 0, null, proposed, true, "run once more (it took 1 s)"},
		"not asked for":     {false, time.Second, 0, null, proposed, false, ""},
		"long":              {true, time.Hour, 0, null, proposed, false, "until gnvcc tune --confirm -- PROGRAM has compared them in the program: it takes 3600 s"},
		"failed":            {true, time.Second, 3, null, proposed, false, "exit code 3"},
		"reads":             {true, time.Second, 0, pipe, proposed, false, "standard input"},
		"confirmed already": {true, time.Second, 0, null, kept, false, ""},
	} {
		os.Remove(ran)
		os.Stdin = c.in
		var said said
		store, err := cache.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		r := &run{Request: Request{Store: store, Apply: c.apply, Program: []string{"app"}, Listen: &said,
			Signals: noSignals{context.Background()}, Stderr: &said}}
		r.program = profile.Options{Argv: []string{"/bin/sh", "-c", "cat; echo printed; echo ran >" + ran}, Agent: agent, Log: r.note}
		if r.decisions, err = OpenDecisions(context.Background(), store); err != nil {
			t.Fatal(err)
		}
		if err := r.once(c.took, profile.Exit{Code: c.exit}, c.built); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(ran); (err == nil) != c.runs || !strings.Contains(said.text, c.said) || c.said == "" && said.text != "" {
			t.Errorf("%s: run %v, said %q", name, err == nil, said.text)
		}
	}
}

// said is what a run says.
type said struct {
	policy.Silent
	text string
}

func (s *said) Note(text string)            { s.text += text + "\n" }
func (s *said) Write(b []byte) (int, error) { s.text += string(b); return len(b), nil }
