// The whole suite with a fake compiler, fake programs and fake times: order, failures, limits,
// resuming, arithmetic. No GPU is used and nothing is measured here.

package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gnvcc/bench/lab"
	"gnvcc/cache"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// fake sets up a folder with nvcc, gnvcc and programs. The fake nvcc makes a shell script out of
// its source; the fake gnvcc does the same, with FAST=1 once the program was tuned.
func fake(t *testing.T) (dir string, args []string) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "nvcc"), `#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
grep -q BROKEN "$1" && { echo "error: identifier BROKEN is undefined" >&2; exit 2; }
{ echo '#!/bin/sh'; cat "$1"; } > "$out"; chmod +x "$out"
`)
	write(t, filepath.Join(dir, "gnvcc"), `#!/bin/sh
[ "$GNVCC_OFF" ] && exit 77
mkdir -p "$GNVCC_STORE"
case $1 in
doctor) echo measured; exit ;;
tune) [ $# -gt 1 ] || exit 1
  [ -z "$DECIDED" ] || cp -r "$DECIDED"/. "$GNVCC_STORE"
  touch "$GNVCC_STORE/tuned"
  echo 'half a line' >> "$GNVCC_LOG"
  echo '{"level":"info","program":0.25,"held":0.125,"captured":2000000000,"decided":3,"rows":[{"kernel":"k","capture":"ab","seconds":3,"same":true,"spent":{"search":2,"search: racing":1.5}},{"kernel":"l","seconds":1,"same":false,"why":"it prints"}],"message":"tuned"}' >> "$GNVCC_LOG"
  shift; while [ "$1" != -- ]; do shift; done; shift; exec env TUNING=1 "$@" ;;
apply) cd "$(cat "$GNVCC_STORE/dir")" && eval "exec $0 $(cat "$GNVCC_STORE/args")" ;;
esac
pwd > "$GNVCC_STORE/dir"; echo "$@" > "$GNVCC_STORE/args"
"$GNVCC_NVCC" "$@" || exit
[ -f "$GNVCC_STORE/tuned" ] || exit 0
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
sed -i '1a FAST=1' "$out"
`)
	makefile := `CC = nvcc
main: main.cu
	$(CC) -arch=$(ARCH) -o $@ main.cu
clean:
	rm -f main
run: main
	./main 5
`
	// row NAME COUNT TOTAL MIN MEDIAN
	common :=
		`x=${GNVCC_CLOCK_APART:+1300} # what keeping kernels apart adds
row() { [ "$GNVCC_CLOCK" ] && echo "$$,0,\"$1\",8,1,1,128,1,1,0,40,$2,$(($3+$2*x)),$(($4+x)),$(($5+x))" >> "$GNVCC_CLOCK"; }
echo "result: 3.25 in $PWD"
echo "elapsed time: $(date +%N) ms"
`
	sources := map[string]string{
		"better": `if [ "$FAST" ]; then row k 10 500000 50000 50000; else row k 10 1000000 100000 100000; fi; echo tuned "$TUNING" > note`,
		"same":   `row k 10 4000000 400000 400000; row tiny 1 1000 1000 1000`,
		"short":  `if [ "$FAST" ]; then row k 10 10000 1000 1000; else row k 10 90000 9000 9000; fi`,
		"wrong":  `row k 1 30000 30000 30000; [ "$FAST" ] && echo "sum 1.5" || echo "sum 1.25"`,
		"broken": `BROKEN`,
		"fails":  `[ "$TUNING" ] && { echo "no such device" >&2; exit 4; }; row k 1 1 1 1`,
		"hangs":  `[ "$FAST" ] && sleep 30; row k 1 50000 50000 50000`,
		"cpu":    `echo "no kernel here"`,
	}
	for name, text := range sources {
		write(t, filepath.Join(dir, "all/src", name+"-x", "main.cu"), ". ../common.sh\n"+text+
			"\n[ -f ../../data/input ] || exit 5\n")
		write(t, filepath.Join(dir, "all/src", name+"-x", "Makefile"), makefile)
	}
	// One that needs a shell.
	write(t, filepath.Join(dir, "all/src/shell-x/main.cu"), ". ../common.sh\n"+sources["better"]+"\n")
	write(t, filepath.Join(dir, "all/src/shell-x/Makefile"), strings.ReplaceAll(makefile, "./main 5",
		"cd . && ./main"))
	write(t, filepath.Join(dir, "all/src/other-y/Makefile"), makefile)
	write(t, filepath.Join(dir, "all/src/common.sh"), common)
	write(t, filepath.Join(dir, "all/data/input"), "")
	return dir, []string{"-nvcc", filepath.Join(dir, "nvcc"), "-gnvcc", filepath.Join(dir, "gnvcc"),
		"-clock", "/none", "-compiler", "CC",
		"-set", "ARCH=sm_90", "-folder", "%-x", "-runs", "2", "-run-limit", "2s", "-commit", "x", "-work",
		filepath.Join(dir, "work"),
		"-results", filepath.Join(dir, "results.jsonl"), filepath.Join(dir, "all/src")}
}

func TestSuite(t *testing.T) {
	dir, args := fake(t)
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Result{}
	for _, r := range results {
		byName[r.Program] = r
	}
	if len(byName) != 9 || len(results) != 9 {
		t.Fatalf("%d results of %d programs, want 9: %+v", len(results), len(byName), results)
	}
	for name, want := range map[string]float64{"better": 2, "shell": 2, "same": 1, "short": 9,
		"wrong": 1} {
		if r := byName[name]; math.Abs(r.Ratio()-want) > 1e-9 || r.Failed != "" || len(r.Before) != 2 ||
			len(r.After) != 2 || r.Machine.Commit != "x" {
			t.Errorf("%s: ratio %v, want %v: %+v", name, r.Ratio(), want, r)
		}
	}
	for name, want := range map[string]string{
		"broken": "build with nvcc: nice -n 19 make -s",
		"fails":  "no such device",
		"hangs":  "not done after 2s",
		"cpu":    "used no GPU",
	} {
		if r := byName[name]; !strings.Contains(r.Failed, want) {
			t.Errorf("%s: failed: %q, want %q", name, r.Failed, want)
		}
	}
	if s := byName["better"].Stdout; s != "same" {
		t.Errorf("better: stdout %s", s)
	}
	if s := byName["wrong"].Stdout; s != `differs: line 3: 1.5, before 1.25, in "sum #"` {
		t.Errorf("wrong: stdout %s", s)
	}
	k := byName["better"].Kernels
	if len(k) != 1 || k[0].Before != 100000 || k[0].After != 50000 || k[0].TotalBefore != 1000000 ||
		k[0].Count != 10 || k[0].CountAfter != 10 || k[0].RegistersAfter != 40 {
		t.Errorf("better: %+v", k)
	}
	// The user's folder is untouched, and only the tuned tree was tuned.
	if _, err := os.Stat(filepath.Join(dir, "all/src/better-x/main")); err == nil {
		t.Error("it built in the user's folder")
	}
	tab := table(results, 20*time.Microsecond, true)
	for _, want := range []string{
		"5 programs measured, 4 failed; 4 with a kernel of 20µs or more",
		"geometric mean 1.414 (every program the same)", // 2, 2, 1, 1
		"2 at 1.05 or more, 0 below 0.99; best better 2.000",
		"output differs in 1 programs",
		"short                      9.000        0.090        0.010",
		"(short kernels)",
		"broken                   failed: build with nvcc",
	} {
		if !strings.Contains(tab, want) {
			t.Errorf("the table has no %q:\n%s", want, tab)
		}
	}
	if o := byName["better"].Observed; o == nil || o.Held != 0.125 || o.Captured != 2e9 || len(o.Rows) != 2 ||
		!o.Rows[0].Same || o.Rows[1].Why != "it prints" || len(byName["better"].Plain) != 2 {
		t.Errorf("better: %+v, runs without gnvcc of %v s", o, byName["better"].Plain)
	}
	for _, want := range []string{
		"the run under tune against without, captures aside: ",
		"captures of 5 programs: 10.0 GB, 0.06 s a GB\n",
		"from a program's end to decisions: median 3.0 s, 95th percentile 3.0 s, longest 3.0 s; of 15 s in all, 0 packing",
		"    seconds: search: racing 8\n",
		"replayed with the same bits: 75.0 % of the launches' time\n    not 25.00 %, in 5 programs: it prints\n",
	} {
		if !strings.Contains(tab, want) {
			t.Errorf("the table has no %q:\n%s", want, tab)
		}
	}
	if note, err := os.ReadFile(filepath.Join(dir, "work/after/better/src/better-x/note")); err != nil ||
		string(note) != "tuned \n" {
		t.Errorf("the last run was %q, %v", note, err)
	}
	// Again: nothing is left to do, and nothing is appended, also behind a line that was cut short.
	path := filepath.Join(dir, "results.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(text[:len(text)-40]))
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if again, err := readResults(path); err != nil || len(again) != 9 {
		t.Errorf("%d results after resuming: %v", len(again), err)
	}
	// -retry takes the failed ones up; a mended program replaces its line.
	write(t, filepath.Join(dir, "all/src/broken-x/main.cu"),
		". ../common.sh\nrow k 1 40000 40000 40000; true\n")
	if err := run(context.Background(), append([]string{"-retry", "-skip", "hangs,cpu,fails"}, args...)); err != nil {
		t.Fatal(err)
	}
	again, err := readResults(path)
	if err != nil || len(again) != 9 {
		t.Fatalf("%d results after a retry: %v", len(again), err)
	}
	for _, r := range again {
		if r.Program == "broken" && (r.Failed != "" || r.Ratio() != 1) {
			t.Errorf("the mended program: %+v", r)
		}
	}
}

// When the time is up, what was not finished has no line, so that the next run does it.
func TestBudget(t *testing.T) {
	dir, args := fake(t)
	write(t, filepath.Join(dir, "names"), "# a comment\nhangs\n better # trailing\n")
	args = append(append(append([]string(nil), args[:len(args)-1]...), "-budget", "1500ms",
		"-programs", filepath.Join(dir, "names"), "-run-limit", "10s"), args[len(args)-1])
	start := time.Now()
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 6*time.Second {
		t.Errorf("it took %v", d)
	}
	results, err := readResults(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Program == "hangs" || r.Failed != "" {
			t.Errorf("cut short, and written down: %+v", r)
		}
	}
}

func TestInterrupted(t *testing.T) {
	dir, args := fake(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx, args); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "results.jsonl")); err == nil {
		t.Error("results of an interrupted run")
	}
}

func TestRefused(t *testing.T) {
	dir, args := fake(t)
	empty := t.TempDir()
	write(t, filepath.Join(dir, "bad"), "a/b\n")
	for want, more := range map[string][]string{
		"two are needed":    {"-runs", "1"},
		"at least 1":        {"-j", "0"},
		"NAME=VALUE":        {"-set", "x"},
		"has no %":          {"-folder", "x"},
		"is no name":        {"-programs", filepath.Join(dir, "bad")},
		"is no program":     {"-gnvcc", "/no/gnvcc"},
		"with spaces":       {"-work", filepath.Join(dir, "a b")},
		"name one folder":   {"--", "x"},
		"no programs in":    {empty},
		"no such file or d": {"-programs", "/no/such"},
	} {
		all := append([]string(nil), args[:len(args)-1]...)
		all = append(all, more...)
		if want != "no programs in" {
			all = append(all, args[len(args)-1])
		}
		if err := run(context.Background(), all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", more, err, want)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		before, after []string
		want          string
	}{
		{[]string{"a 1\nb 2\n", "a 1\nb 2\n"}, []string{"a 1\nb 2\n"}, "same"},
		// b varies by itself
		{[]string{"a 1\nb 2\n", "a 1\nb 3\n"}, []string{"a 1\nb 9\n"}, "same"},
		// a does not
		{[]string{"a 1\nb 2\n", "a 1\nb 3\n"}, []string{"a 2\nb 9\n"}, "differs: line 1: 2, before 1"},
		// a column of times
		{[]string{"t |   7 ns", "t |  12 ns"}, []string{"t | 123 ns"}, "same"},
		// in the second run
		{[]string{"a 1 b 2", "a 1 b 3"}, []string{"a 1 b 2", "a 2 b 2"}, "differs: line 1: 2, before 1"},
		{[]string{"Total time 0.5 s", "Total time 0.5 s"}, []string{"Total time 0.25 s"}, "same"},
		{[]string{"took 5ms", "took 5ms"}, []string{"took 4ms"}, "same"},
		{[]string{"bandwidth 500 GB/s", "bandwidth 500 GB/s"}, []string{"bandwidth 512.5 GB/s"}, "same"},
		{[]string{"Time of death: PASS", "Time of death: PASS"}, []string{"Time of death: FAIL"},
			"differs: line 1"},
		{[]string{"1e-5 nan", "1e-5 nan"}, []string{"1e-6 nan"}, "differs"},
		{[]string{"-0.5", "-0.5"}, []string{"0.5"}, "differs"},
		{[]string{"0x1f", "0x1f"}, []string{"0x1e"}, "differs"},
		{[]string{"a\nb", "a\nb"}, []string{"a"}, "differs: 1 lines, 2 before"},
		{[]string{"a\nb", "a"}, []string{"a"}, "not comparable"},
		{[]string{"x", "y"}, []string{"z"}, "not comparable: every line varies"},
		{[]string{"", ""}, []string{""}, "same"},
	} {
		if got := compare(c.before, c.after); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q then %q: %s, want %s", c.before, c.after, got, c.want)
		}
	}
}

// Several processes, a second entry in the tuned build, and lost launches.
func TestTimes(t *testing.T) {
	row := func(name string, count int, median int64) lab.Row {
		return lab.Row{Kernel: name, Grid: [3]int{1, 1, 1}, Block: [3]int{32, 1, 1}, Count: count,
			Total: int64(count) * median, Median: median, Registers: 32}
	}
	var r Result
	r.times(
		[]lab.Reading{{Rows: []lab.Row{row("a", 10, 100), row("a", 2, 900), row("b", 1, 50)}},
			{Rows: []lab.Row{row("a", 10, 200), row("b", 1, 70)}, Lost: 2}},
		[]lab.Reading{{Rows: []lab.Row{row("a2", 12, 80), row("b", 1, 60)}},
			{Rows: []lab.Row{row("a2", 12, 90), row("b", 1, 60)}}},
	)
	if r.Lost != 2 || len(r.Before) != 2 || r.Before[0] != 1000+1800+50 || r.After[1] != 12*90+60 {
		t.Errorf("%+v", r)
	}
	if len(r.Kernels) != 3 || r.Kernels[0].Name != "a" || r.Kernels[0].Before != 100 ||
		r.Kernels[0].Count != 12 || r.Kernels[0].After != 0 ||
		r.Kernels[1].Name != "a2" || r.Kernels[1].After != 80 || r.Kernels[1].Count != 0 ||
		r.Kernels[2].Before != 50 {
		t.Errorf("%+v", r.Kernels)
	}
	// what each took at the least, whichever of the clock's ways lengthened it more
	if before, after := r.totals(); before != 2000+50 || after != 12*80+60 {
		t.Errorf("%d, then %d", before, after)
	}
	if r.Longest() != 100 {
		t.Errorf("longest %d", r.Longest())
	}
}

func TestCount(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	var none Result
	if err := none.count(dir); err != nil || none.Decisions != 0 {
		t.Errorf("no store: %+v, %v", none, err)
	}
	store, err := cache.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := store.Own(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	built := cache.Build{Registers: 40}
	for key, d := range map[string]cache.Decision{
		"1": {Kernel: "a", Recipe: "maxnreg=40", Evidence: cache.Evidence{Launches: make([]cache.Launch,
			2), Tried: []cache.Trial{{Build: built}, {Build: built}, {Refused: "ptxas"}}}},
		"2": {Kernel: "b", Evidence: cache.Evidence{Launches: make([]cache.Launch, 1),
			Tried: []cache.Trial{{Build: built}}}},
	} {
		d.Identity = key
		if err := owner.Put("decision", key, d); err != nil {
			t.Fatal(err)
		}
	}
	if err := owner.Publish(); err != nil {
		t.Fatal(err)
	}
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := r.count(dir); err != nil {
		t.Fatal(err)
	}
	if r.Decisions != 2 || r.Adopted != 1 || r.Configurations != 3 || r.Candidates != 4 ||
		r.Built != 3 || r.Recipes["a"] != "maxnreg=40" {
		t.Errorf("%+v", r)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// What decisions tell of their searches, in the raw result and in the table.
func TestCosts(t *testing.T) {
	cost := func(seconds float64, candidates, cicc int) cache.Cost {
		return cache.Cost{Seconds: seconds, Candidates: candidates, Cicc: cicc, Ptxas: 2 * candidates,
			Compiling: 2 * seconds}
	}
	c := cost(9, 100, 20)
	var r Result
	r.Program = "p"
	r.searches(cache.Decision{Kernel: "k",
		Evidence: cache.Evidence{Launches: []cache.Launch{{Grid: [3]int{8, 1, 1}, Cost: &c}, {}}}})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(text, &back); err != nil || len(back.Searches) != 1 ||
		back.Searches[0].Cicc != 20 {
		t.Fatalf("%v: %s", err, text)
	}
	r.Before, r.After = []int64{100}, []int64{50}
	tab := table([]Result{r}, 20*time.Microsecond, false)
	for _, want := range []string{
		"1 searches: 9.00 s each (median 9.00, longest 9.0), 100.0 candidates, 20.0 runs of cicc, 200.0 of ptxas, 18.0 s of compiling",
	} {
		if !strings.Contains(tab, want) {
			t.Errorf("the table has no %q:\n%s", want, tab)
		}
	}
}

// After an ordinary call: other arguments. One that was not built before
// fails, and the others go on.
func TestAgain(t *testing.T) {
	dir, args := fake(t)
	src := args[len(args)-1]
	names := func(list string) []string {
		write(t, filepath.Join(dir, "names"), list)
		return append(append([]string(nil), args[:len(args)-1]...), "-programs", filepath.Join(dir, "names"))
	}
	err := run(context.Background(), append(names("better\nwrong\n"), "-alone", "1", src))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "other"), "# name, command\nbetter ./main 7\nwrong ./main 7; exit 3\n")
	again := append(names("better\nwrong\nsame\n"), "-again", "-other", filepath.Join(dir, "other"),
		"-results", filepath.Join(dir, "again.jsonl"), src)
	if err := run(context.Background(), again); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(filepath.Join(dir, "again.jsonl"))
	if err != nil || len(results) != 3 {
		t.Fatalf("%v, %+v", err, results)
	}
	o := results[0].Other
	if o == nil || o.Stdout != "same" || len(o.Before) != 2 || o.Before[0] != 1000000 || o.After[1] != 500000 ||
		results[0].Failed != "" {
		t.Errorf("%+v", results[0])
	}
	if o := results[1].Other; o == nil || !strings.Contains(o.Failed, "exit status 3") {
		t.Errorf("%+v", results[1])
	}
	if !strings.Contains(results[2].Failed, "not built and tuned before") {
		t.Errorf("%+v", results[2])
	}
	want := "1 programs, 2.000 in geometric mean, 0 below 0.99; output the same in 1; 1 could not be run"
	if tab := table(results, 20*time.Microsecond, false); !strings.Contains(tab, want) {
		t.Errorf("the table has no %q:\n%s", want, tab)
	}
	if err := run(context.Background(), append(names("better\n"), "-other", "x", src)); err == nil ||
		!strings.Contains(err.Error(), "-other with -again") {
		t.Error(err)
	}
}

// Claims are of all of a kernel's launches, its second entry's with them.
func TestClaims(t *testing.T) {
	r := Result{Recipes: map[string]string{"k": "unroll=4"}, Kernels: []Kernel{
		{Name: "k", TotalBefore: 3e9, TotalAfter: 1e9, RunsBefore: []int64{4e9, 3e9},
			RunsAfter: []int64{1e9, 1e9}},
		{Name: "k__tuned_12ab", TotalAfter: 1e9, RunsAfter: []int64{15e8, 1e9}},
		{Name: "other", TotalBefore: 5e9, TotalAfter: 5e9}}}
	r.claimed = map[string]float64{"k": 1.5, "gone": 2}
	r.claims()
	want := Claim{Kernel: "k", Recipe: "unroll=4", Claimed: 1.5, Measured: 1.5, Seconds: 3,
		Runs: []float64{1.6, 1.5}, Plain: 4. / 3}
	if len(r.Claims) != 1 || !reflect.DeepEqual(r.Claims[0], want) {
		t.Errorf("%+v", r.Claims)
	}
	r.Claims = append(r.Claims, Claim{Kernel: "l", Claimed: 1.2, Measured: 0.9, Seconds: 1},
		// in one pair of runs it gained what was claimed
		Claim{Kernel: "unsteady", Claimed: 1.2, Measured: 1.1, Seconds: 1, Runs: []float64{1.19, 1.05},
			Plain: 1.1},
		Claim{Kernel: "short", Claimed: 9, Measured: 1, Seconds: 1e-9})
	got := keeping([]Result{r}, 20*time.Microsecond)
	for _, want := range []string{"claims of 3 kernels: 1.293 in geometric mean, of which the clock saw 1.141",
		"2 kernels more than 1 % below their claim (1 in every pair of runs), 1 more than 1 % slower",
		"pairs of runs say what is 1.099 apart in geometric mean; of 2 kernels more than 1.01",
		"in all, of 5.000 s they were to take 3.667, and took 4.020 (1.096 of it)",
		"claimed 1.200, measured 0.900",
		"measured 1.100 (by pairs of runs 1.190 1.050; nvcc's own runs 1.100 apart)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q: %s", want, got)
		}
	}
	if got := shortReason("memory at 0x7f41b6000000, MiB 0: not what the launch left in the program"); got !=
		"memory at ... MiB ... not what the launch left in the program" {
		t.Error(got)
	}
}

// A run under tune is compared with what a run without takes, not with the best of several: where
// runs differ by nothing but chance, the figure is 1.
func TestSlowed(t *testing.T) {
	one := func(program float64, plain ...float64) Result {
		return Result{Program: "p", Plain: plain, Observed: &Observed{Program: program, Held: 0.5}}
	}
	got := slowed([]Result{one(1.5, 2, 0.5), one(2.5, 1, 4), one(4.5, 4, 4), {Program: "none"}})
	for _, want := range []string{"aside: 1.000 (geometric mean of 3), +0.00 s in the median; 0 above",
		"two runs without are 2.520 apart"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := slowed([]Result{one(2.5, 1)}); !strings.Contains(got, "2.000") ||
		strings.Contains(got, "apart") {
		t.Errorf("one run without: %s", got)
	}
	if got := slowed([]Result{one(2.7, 2, 2)}); !strings.Contains(got, "1.100") ||
		!strings.Contains(got, "+0.20 s") {
		t.Error(got)
	}
}

// An application's own figures: both ways of better, and a check of its own that fails.
func TestOwnFigures(t *testing.T) {
	dir, args := fake(t)
	makefile := `CC = nvcc
main: main.cu
	$(CC) -arch=$(ARCH) -o $@ main.cu
clean:
	rm -f main
run: main
	./main >out.txt
figures:
	grep -q verified out.txt || { echo 'its own check failed' >&2; exit 1; }
	@awk '/:/ { print $$1, $$2, $$3, $$4 }' out.txt
`
	for name, text := range map[string]string{
		"app": `[ "$FAST" ] && echo speed: 30 events/s more || echo speed: 20 events/s more
[ "$FAST" ] && echo time: 6 s less || echo time: 8 s less`,
		"unsure": `[ "$FAST" ] && ok=no; echo speed: 20 events/s more`,
		"silent": `echo speed: fast events/s more`,
	} {
		write(t, filepath.Join(dir, "apps", name, "main.cu"), ". ../common.sh >/dev/null\nok=verified\n"+
			`if [ "$FAST" ]; then row k 10 500000 50000 50000; else row k 10 1000000 100000 100000; fi`+"\n"+
			text+"\necho $ok\n")
		write(t, filepath.Join(dir, "apps", name, "Makefile"), makefile)
	}
	common, err := os.ReadFile(filepath.Join(dir, "all/src/common.sh"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "apps/common.sh"), string(common))
	args = append(args[:len(args)-1], "-folder", "%", "-figures", "figures", filepath.Join(dir, "apps"))
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(filepath.Join(dir, "results.jsonl"))
	if err != nil || len(results) != 3 {
		t.Fatal(err, results)
	}
	for _, r := range results {
		switch r.Program {
		case "app":
			if want := []Figure{{"speed:", "events/s", true, []float64{20, 20}, []float64{30, 30}},
				{"time:", "s", false, []float64{8, 8}, []float64{6, 6}}}; !reflect.DeepEqual(r.Figures, want) {
				t.Errorf("%+v", r)
			}
			if math.Abs(r.gain()-math.Sqrt(1.5*8/6)) > 1e-9 {
				t.Error(r.gain())
			}
		case "unsure":
			if !strings.Contains(r.Failed, "own figures after 0") ||
				!strings.Contains(r.Failed, "its own check failed") {
				t.Error(r.Failed)
			}
		case "silent":
			if !strings.Contains(r.Failed, `the figure speed: is "fast", no number above 0`) {
				t.Error(r.Failed)
			}
		}
	}
	text := ownTable(results)
	for _, want := range []string{"app                1.414  tuned in", "looked at 75.0 % of the GPU's time",
		"1.500  events/s 20 (20 to 20) -> 30 (30 to 30)", "left alone  25.0 %: l: it prints",
		"1 applications: geometric mean 1.414, worst 1.414, 0 below 0.995"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// What replays take beside the program, of kernels all of whose launches are known.
func TestReplays(t *testing.T) {
	r := Result{Program: "p", Kernels: []Kernel{
		{Name: "near", Count: 10, TotalBefore: 1e6}, {Name: "far", Count: 10, TotalBefore: 2e6},
		{Name: "part", Count: 10, TotalBefore: 9e6}, {Name: "short", Count: 1, TotalBefore: 900}},
		Tuned: []Tuned{{Kernel: "near", Count: 6, Replay: 100e3}, {Kernel: "near", Count: 4, Replay: 105e3},
			{Kernel: "far", Count: 10, Replay: 300e3}, {Kernel: "part", Count: 5, Replay: 1},
			{Kernel: "short", Count: 1, Replay: 1}}}
	got := replays([]Result{r}, 20*time.Microsecond) + replayLines(replayTimes([]Result{r}))
	for _, want := range []string{"1.020  near, 1.000 ms", "2 configurations, median 1.237; 1.237 apart in the median; 1 more than",
		"p                          1.500  far, 2.000 ms in the program"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
