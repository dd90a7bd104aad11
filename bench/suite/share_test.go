// Several suites with the fake compiler and the fake programs of suite_test.go.

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gnvcc/install/kits"
)

// shared sets up fake programs that write down when two of them are at the GPU at once, and with
// which priority who runs; args are for suites that share it.
func shared(t *testing.T, names string, more ...string) (dir string, args []string) {
	dir, args = fake(t)
	source := args[len(args)-1]
	common := filepath.Join(source, "common.sh")
	text, err := os.ReadFile(common)
	if err != nil {
		t.Fatal(err)
	}
	write(t, common, `echo "$PWD $(nice)" >> `+dir+`/runs
mkdir `+dir+`/gpu || echo overlap >> `+dir+`/overlaps
sleep 0.05; rmdir `+dir+"/gpu\n"+string(text))
	nvcc := filepath.Join(dir, "nvcc")
	if text, err = os.ReadFile(nvcc); err != nil {
		t.Fatal(err)
	}
	write(t, nvcc, strings.Replace(string(text), "\n", "\n[ $# -gt 1 ] && nice >> "+dir+"/builds\n", 1))
	write(t, filepath.Join(dir, "names"), names)
	args = append(append(args[:len(args)-1:len(args)-1], "-programs", filepath.Join(dir, "names")), more...)
	return dir, append(args, source)
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// Three suites, one folder for work, one file of results: every program is done once, by one of
// them, and nobody is at the GPU beside another.
func TestShared(t *testing.T) {
	dir, args := shared(t, "better\nsame\nshort\nwrong\nbroken\nshell\n")
	var all sync.WaitGroup
	for range 3 {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := run(context.Background(), args); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	if got := lines(t, filepath.Join(dir, "overlaps")); len(got) > 0 {
		t.Errorf("%d times two were at the GPU", len(got))
	}
	text, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 6 {
		t.Errorf("%d lines of results", n)
	}
	results, err := readResults(filepath.Join(dir, "results.jsonl"))
	if err != nil || len(results) != 6 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, r := range results {
		if (r.Failed != "") != (r.Program == "broken") {
			t.Errorf("%+v", r)
		}
	}
	own, least := priorities(t)
	// plain, tune, plain, four under the clock
	if got := lines(t, filepath.Join(dir, "runs")); len(got) != 2*5*7 {
		t.Errorf("%d runs", len(got)/2)
	} else {
		for i := 1; i < len(got); i += 2 {
			if own != least && got[i] == least {
				t.Errorf("%s ran with the priority of builds", got[i-1])
			}
		}
	}
	builds := lines(t, filepath.Join(dir, "builds"))
	for _, priority := range builds {
		if priority != least {
			t.Errorf("a build with priority %s, want %s", priority, least)
		}
	}
	if len(builds) < 5*3 {
		t.Errorf("%d builds", len(builds))
	}
}

// priorities gives this process' own priority, and that of builds, which are 19 below it.
func priorities(t *testing.T) (own, builds string) {
	t.Helper()
	out, err := exec.Command("nice").Output()
	if err != nil {
		t.Fatal(err)
	}
	own = strings.TrimSpace(string(out))
	n, err := strconv.Atoi(own)
	if err != nil {
		t.Fatal(err)
	}
	return own, strconv.Itoa(min(n+19, 19))
}

// What another suite has is left to it; when it has died without a result, it is taken.
func TestClaimed(t *testing.T) {
	dir, args := shared(t, "better\nsame\n")
	if err := os.MkdirAll(filepath.Join(dir, "work/claims"), 0o755); err != nil {
		t.Fatal(err)
	}
	held, err := lock(filepath.Join(dir, "work/claims/better"))
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	want := func(n int, with ...string) {
		t.Helper()
		if err := run(context.Background(), append(with, args...)); err != nil {
			t.Fatal(err)
		}
		results, err := readResults(filepath.Join(dir, "results.jsonl"))
		if err != nil || len(results) != n {
			t.Fatalf("%d results, want %d: %v", len(results), n, err)
		}
	}
	start := time.Now()
	want(1, "-budget", "15s")
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("it took %v", d)
	}
	held.Close()
	want(2)
}

// Waiting for the GPU is no part of a limit or a time, and it ends with the budget.
func TestWaiting(t *testing.T) {
	kits.Long(t, "TestClaimed waits for another suite")
	dir, args := shared(t, "better\n", "-run-limit", "3s", "-tune-limit", "3s")
	if err := os.MkdirAll(filepath.Join(dir, "work"), 0o755); err != nil {
		t.Fatal(err)
	}
	held, err := lock(filepath.Join(dir, "work/gpu"))
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	start := time.Now()
	if err := run(context.Background(), append([]string{"-budget", "2s"}, args...)); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("a budget of 2 s ended after %v", d)
	}
	if results, err := readResults(filepath.Join(dir, "results.jsonl")); err != nil || len(results) > 0 {
		t.Errorf("%+v, %v", results, err)
	}
	time.AfterFunc(8*time.Second, func() { held.Close() })
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(filepath.Join(dir, "results.jsonl"))
	if err != nil || len(results) != 1 || results[0].Failed != "" {
		t.Fatalf("%+v, %v", results, err)
	}
	if r := results[0]; r.Waited < 3.5 || r.Tune > 3 {
		t.Errorf("waited %v s, tuned in %v s", r.Waited, r.Tune)
	}
}

// A program that would not end in the time is not begun; one behind it is.
func TestExpected(t *testing.T) {
	dir, args := shared(t, "better\nsame\n")
	write(t, filepath.Join(dir, "earlier"), `{"Program":"better","Tune":100}`+"\n")
	if err := run(context.Background(), append([]string{"-budget", "50s", "-expect",
		filepath.Join(dir, "earlier")}, args...)); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(filepath.Join(dir, "results.jsonl"))
	if err != nil || len(results) != 1 || results[0].Program != "same" {
		t.Fatalf("%+v, %v", results, err)
	}
}
