package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// toolkit returns the folder of an installed toolkit, or skips.
func toolkit(t *testing.T, version string) string {
	t.Helper()
	return kits.Need(t, version).Dir
}

func TestBuild(t *testing.T) {
	for _, version := range []string{"13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			library, err := BuildClock(context.Background(), toolkit(t, version), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("nm", "-D", "--defined-only", library).Output()
			if err != nil {
				t.Fatal(err)
			}
			if names := strings.Fields(string(out)); len(names) != 3 || names[2] != "InitializeInjection" {
				t.Errorf("the library shows %q to the program, and should show InitializeInjection alone",
					names)
			}
		})
	}
	if _, err := BuildClock(context.Background(), t.TempDir(), t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "no cupti.h") {
		t.Errorf("empty toolkit: %v", err)
	}
}

// The clock's own work, on made-up records (testdata/fakecupti.c).
func TestCounting(t *testing.T) {
	kit, dir := toolkit(t, "13.0"), t.TempDir()
	program := filepath.Join(dir, "fake")
	args := []string{"-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-I" + kit +
		"/include", "injection/clock.c", "testdata/fakecupti.c", "-o", program, "-lpthread"}
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	file := filepath.Join(dir, "times.csv")
	run := func(env ...string) string {
		t.Helper()
		cmd := exec.Command(program)
		cmd.Env = append(append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0"), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if out := run(env("unused", file)...); out != "" {
		t.Errorf("it says %q", out)
	}
	got, err := readFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"_Z1aPf [10 1 2] 0":      "3 600 100 200",
		"_Z1aPf [20 1 2] 0":      "1 7000 7000 7000",
		"_Z1aPf [10 1 2] 64":     "1 50 50 50",
		"odd,\"name\" [1 1 2] 0": "1 10 10 10",
		"_Z4evenv [1 1 2] 0":     "2 31 10 15",
	}
	many := 0
	for _, r := range got.Rows {
		if strings.HasPrefix(r.Kernel, "many") {
			many++
			continue
		}
		key := fmt.Sprint(r.Kernel, " ", r.Grid, " ", r.Dynamic)
		if line := fmt.Sprint(r.Count, r.Total, r.Min, r.Median); want[key] != line ||
			r.Registers != 40 || r.Block[1] != 1 {
			t.Errorf("%s: %+v, want %q", key, r, want[key])
		}
		delete(want, key)
	}
	if len(want) != 0 || many != 3000 {
		t.Errorf("missing: %v; %d of 3000 kernels", want, many)
	}
	// the one without time stamps, and 3 that the fake drops at each of two flushes
	if got.Lost != 1+2*3 {
		t.Errorf("%d lost", got.Lost)
	}
	if got.Total() != 600+7000+50+10+31+3000 || got.Rows[0].Total != 7000 {
		t.Errorf("total %d, first row %+v", got.Total(), got.Rows[0])
	}
	// A second process appends.
	run(env("unused", file)...)
	if twice, err := readFile(file); err != nil || len(twice.Rows) != 2*len(got.Rows) {
		t.Errorf("%d rows after a second process, %d after the first: %v", len(twice.Rows), len(got.Rows),
			err)
	}
	// Kernels are kept apart where that is asked for.
	run(append(env("unused", file), apart, "FAKE_APART=1")...)
	if thrice, err := readFile(file); err != nil || len(thrice.Rows) != 3*len(got.Rows) {
		t.Errorf("%d rows where they are kept apart: %v", len(thrice.Rows), err)
	}
	for _, keptApart := range []bool{false, true} {
		r, err := UnderClock("unused", file, keptApart, func(env []string) error {
			run(append(env, map[bool]string{true: "FAKE_APART=1", false: "ANY=1"}[keptApart])...)
			return nil
		})
		if want := map[bool]int64{true: 7000 - added, false: 7000}[keptApart]; err != nil ||
			r.Rows[0].Total != want || r.Rows[0].Median != want {
			t.Errorf("kept apart %v: %+v, %v", keptApart, r.Rows[0], err)
		}
	}
	// What goes wrong is said, and the program runs.
	for want, env := range map[string][]string{
		"names no file": {"GNVCC_CLOCK="},
		"fake refusal":  append(env("unused", filepath.Join(dir, "none")), "FAKE_REFUSES=1"),
		"can't write":   env("unused", filepath.Join(dir, "no/such/folder")),
	} {
		if out := run(env...); !strings.Contains(out, want) {
			t.Errorf("it says %q, want %q", out, want)
		}
	}
	if _, err := readFile(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(),
		"wrote nothing") {
		t.Errorf("no file: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{
		"1,2,3\n",
		"1,lost,x\n",
		"1,0,\"k\",1,1,1,1,1,1,0,4,1,100,100\n",
		"1,0,\"k\",1,1,1,1,1,1,0,4,1,100,100,-5\n",
		"1,0,\"k\",1,1,1,1,1,1,0,4,1,100,100,99999999999999999999\n",
		"1,0,\"k,1,1,1,1,1,1,0,4,1,100,100,5\n",
	} {
		if r, err := read(strings.NewReader(text)); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("1,0,\"k\",1,1,1,1,1,1,0,4,1,100,100,5\n1,lost,3\n")
	f.Fuzz(func(t *testing.T, s string) { read(strings.NewReader(s)) })
}
