// The whole with a fake compiler, fake programs and fake times: what is run, what is passed over,
// resuming, arithmetic. No GPU is used and nothing is measured here.

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
)

// The test binary is the fake gnvcc where it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gnvcc" {
		if err := fakeGnvcc(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeGnvcc compiles by copying a shell script, with the recipe that the store holds in a variable;
// tune decides by the program's folder.
func fakeGnvcc(args []string) error {
	store := os.Getenv("GNVCC_STORE")
	if args[0] == "tune" {
		lever, at := together, slices.Index(args, "--")
		if i := slices.Index(args, "-levers"); i >= 0 && i < at {
			lever = args[i+1]
		}
		here, err := os.Getwd()
		if err != nil {
			return err
		}
		if err := decide(store, filepath.Base(here), lever); err != nil {
			return err
		}
		cmd := exec.Command(args[at+1], args[at+2:]...)
		cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, append(os.Environ(), "TUNING=1")
		return cmd.Run()
	}
	recipe, _ := os.ReadFile(filepath.Join(store, "fake")) // none: nothing was tuned
	text, err := os.ReadFile(args[len(args)-1])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(store, 0o755); err != nil {
		return err
	}
	return os.WriteFile(args[slices.Index(args, "-o")+1],
		[]byte(fmt.Sprintf("#!/bin/sh\nRECIPE='%s'\n%s", recipe, text)), 0o755)
}

// decide leaves the decision of a program's one kernel in the store.
func decide(dir, program, lever string) error {
	tried := []cache.Trial{
		{Recipe: "ld=cs maxnreg=64", Ratio: 0.5}, {Recipe: "ld=cs", Ratio: 0.8}, {Recipe: "maxnreg=64",
			Ratio: 0.7}, {Recipe: "st=cs", Ratio: 0.98},
		{Recipe: "bypass=1", Refused: "other bits: 3 words differ"},
		{Recipe: "bypass=2", Refused: "other bits: 4 words differ"},
	}
	recipe := map[string]string{together: "ld=cs maxnreg=64", "ld": "ld=cs",
		"maxnreg": "maxnreg=64"}[lever]
	switch {
	case program == "none":
		// the budget ended
		tried, recipe = []cache.Trial{{Recipe: "ld=cs", Refused: "the same code as the default"},
			{Recipe: "maxnreg=64"}}, ""
	case program == "fails" && lever == "ld":
		return fmt.Errorf("the driver said no")
	}
	if lever != together {
		tried = slices.DeleteFunc(tried, func(t cache.Trial) bool { return leverOf(t.Recipe) != lever })
	}
	d := cache.Decision{Identity: program, Kernel: "k", Target: "sm_90", Recipe: recipe,
		Time: time.Now()}
	d.Evidence.Tried, d.Evidence.Launches = tried, []cache.Launch{{Count: 1}}
	d.Evidence.Untried = map[string]string{"unroll": "no loop"}
	if program == "none" {
		d.Evidence.Untried = map[string]string{"unroll": "no loop", "st": "no store", "bypass": "no load"}
	}
	store, err := cache.Open(dir)
	if err != nil {
		return err
	}
	if err := store.Spool(cache.Decisions, d.Identity, d); err != nil {
		return err
	}
	owner, err := store.Own(context.Background())
	if err != nil {
		return err
	}
	defer owner.Close()
	if _, err := owner.Merge(); err != nil {
		return err
	}
	if err := owner.Publish(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "fake"), []byte(recipe), 0o644)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func fake(t *testing.T) (dir string, args []string) {
	t.Helper()
	dir = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "gnvcc")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "nvcc"), "#!/bin/sh\nexit 1\n")
	for _, name := range []string{"x", "none", "fails"} {
		write(t, filepath.Join(dir, "src", name, "Makefile"),
			"NVCC = nvcc\nmain: main.cu\n\t$(NVCC) -o $@ main.cu\nclean:\n\trm -f main\nrun: main\n\t./main\n")
		write(t, filepath.Join(dir, "src", name, "main.cu"), `case $RECIPE in
"") t=1000 ;;
"ld=cs") t=800 ;;
"maxnreg=64") t=640 ;;
*) t=500 ;;
esac
[ "$GNVCC_CLOCK" ] && echo "$$,0,\"k\",8,1,1,128,1,1,0,40,1,$t,$t,$t" >> "$GNVCC_CLOCK"
[ "$TUNING" ] && [ "$GNVCC_CLOCK" ] && exit 9
exit 0
`)
	}
	return dir, []string{"-nvcc", filepath.Join(dir, "nvcc"), "-gnvcc", filepath.Join(dir, "gnvcc"),
		"-clock", "/none", "-runs", "2", "-commit", "x",
		"-levers", "ld,st,maxnreg,bypass,unroll", "-work", filepath.Join(dir, "work"), "-results",
		filepath.Join(dir, "results.jsonl"), filepath.Join(dir, "src")}
}

func TestLevers(t *testing.T) {
	dir, args := fake(t)
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "results.jsonl")
	results, err := readResults(path)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Result{}
	for _, r := range results {
		by[r.Program+" "+r.Lever] = r
	}
	if len(results) != 18 || len(by) != 18 {
		t.Fatalf("%d results, want 18: %+v", len(results), results)
	}
	for name, want := range map[string]float64{
		"x all": 2, "x ld": 1.25, "x maxnreg": 1.5625, "x st": 1, "x bypass": 1, "x unroll": 1,
		"none all": 1, "none ld": 1, "fails all": 2, "fails ld": 0, "fails maxnreg": 1.5625,
	} {
		if r := by[name]; r.SpeedUp() != want || r.Machine.Commit != "x" {
			t.Errorf("%s: %v times as fast, want %v: %+v", name, r.SpeedUp(), want, r)
		}
	}
	if r := by["x st"]; r.Nothing != "" || r.Adopted() || len(r.Before) != 0 || r.Tune == 0 ||
		r.Kernels[0].Best != "st=cs" {
		t.Errorf("tried and not adopted: %+v", r)
	}
	if r := by["x bypass"]; r.Nothing != "2 candidates, all refused: other bits" || r.Tune != 0 ||
		r.Kernels[0].Other != 2 {
		t.Errorf("refused in the run with all: %+v", r)
	}
	if r := by["x unroll"]; r.Nothing != "no loop" || r.Tune != 0 {
		t.Errorf("nothing to try: %+v", r)
	}
	if r := by["none maxnreg"]; r.Nothing != "" || r.Tune == 0 {
		t.Errorf("not measured in the run with all: %+v", r)
	}
	if r := by["none ld"]; r.Nothing != "1 candidates, all refused: the same code as the default" {
		t.Errorf("the same code: %+v", r)
	}
	if r := by["x all"]; len(r.Before) != 2 || len(r.After) != 2 {
		t.Errorf("clocked: %+v", r)
	}
	if r := by["fails ld"]; !strings.Contains(r.Failed, "the driver said no") {
		t.Errorf("a failure: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "src/x/main")); err == nil {
		t.Error("it built in the user's folder")
	}
	text := table(results)
	var squeezed strings.Builder
	for _, line := range strings.Split(text, "\n") {
		squeezed.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	for _, want := range []string{
		"ld 1.118 1 1 1.250 x 1.250 x -", // (1.25 * 1)^(1/2)
		"st 1.000 0 2 - - 1.020 fails",
		"all 1.587 2 3 2.000 fails 2.000 fails -",
		"x - 1.250 1.562 1 - 2.000 1.280",
		"failed: fails, ld: tune ld",
	} {
		if !strings.Contains(squeezed.String(), "\n"+want) {
			t.Errorf("no line %q in:\n%s", want, text)
		}
	}
	// Again: nothing is left to do. With a line less, that one is done.
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Errorf("a second run wrote %d bytes", len(after)-len(before))
	}
	lines := strings.SplitAfter(string(before), "\n")
	for i, line := range lines {
		if strings.Contains(line, `"Program":"x","Lever":"maxnreg"`) {
			lines[i] = ""
		}
	}
	write(t, path, strings.Join(lines, ""))
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if again, err := readResults(path); err != nil || len(again) != 18 || again[17].Program != "x" ||
		again[17].Lever != "maxnreg" || again[17].SpeedUp() != 1.5625 {
		t.Errorf("resumed: %d results, %v", len(again), err)
	}
}

func TestBudget(t *testing.T) {
	dir, args := fake(t)
	args = append([]string{"-budget", "1ms"}, args...)
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if results, err := readResults(filepath.Join(dir, "results.jsonl")); err != nil ||
		len(results) != 0 {
		t.Errorf("cut short, and written down: %+v, %v", results, err)
	}
}

func TestLeverOf(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ld=cs": "ld", "ld=cs ld@0=none": "ld", "ld=cs st=cs": "", "maxnreg=40": "maxnreg",
		"demote=8:loops maxnreg=40": "demote", "maxnreg=40 smemspill=on": "smemspill",
		"ld=cs maxnreg=40": "", "spec{host(block)=128x1x1,host(dynamic)=0} throttle=3": "throttle",
		"demote=8:loops maxnreg=40 spec{host(block)=128x1x1,host(dynamic)=0}": "demote",
		"maxnreg=40 spec{n=4}": "", "}": "",
	} {
		if got := leverOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
