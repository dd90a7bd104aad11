package tuner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy/decide"
)

// A stand has a program that prints what its recipes come to: the "build" writes it anew. Kernel a
// is off by the number of its form, b by ten times that.
type stand struct {
	t     *testing.T
	j     *judge
	open  []decide.Result
	has   map[string]string // identity -> recipe
	said  []string
	built int
}

func newStand(t *testing.T, command, bound string) *stand {
	t.Helper()
	dir := t.TempDir()
	s := &stand{t: t, has: map[string]string{}}
	s.j = &judge{command: command, argv: []string{filepath.Join(dir, "app")},
		decide: func(d cache.Decision) error { s.has[d.Identity] = d.Recipe; return nil },
		apply:  func() (int, string, error) { s.built++; return 1, "", s.write() },
		say:    func(text string, args ...any) { s.said = append(s.said, fmt.Sprintf(text, args...)) },
	}
	if bound != "" {
		if err := s.j.bound.Set(bound); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"a", "b"} {
		d := cache.Decision{Identity: name, Kernel: name}
		r := decide.Result{Decision: &d, Saves: float64(2 - i)}
		for n := 1; n <= 4; n++ {
			a := d
			a.Recipe = fmt.Sprintf("approx=form%d", n)
			r.Approximate = append(r.Approximate, a)
		}
		s.open = append(s.open, r)
	}
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	return s
}

// write is the build: a program that prints how far off it is.
func (s *stand) write() error {
	off := 0
	for i, name := range []string{"a", "b"} {
		var n int
		fmt.Sscanf(s.has[name], "approx=form%d", &n)
		off += n * []int{1, 10}[i]
	}
	text := fmt.Sprintf("#!/bin/sh\n# build %d\necho result %d\n", s.built, off)
	if err := os.Remove(s.j.argv[0]); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(s.j.argv[0], []byte(text), 0o755)
}

func (s *stand) run() error { return s.j.run(context.Background(), s.open) }

// difference prints how far the two results are apart.
const difference = `f() { set -- $(cat "$1" "$2"); echo "apart:"; echo $(($4 - $2)); }; f`

func TestJudgeByNumber(t *testing.T) {
	for _, c := range []struct{ bound, a, b string }{
		{"100", "approx=form4", "approx=form4"},
		{"25", "approx=form4", "approx=form2"},
		{"3", "approx=form3", ""},
		{"0.5", "", ""},
	} {
		s := newStand(t, difference, c.bound)
		if err := s.run(); err != nil || s.has["a"] != c.a || s.has["b"] != c.b {
			t.Errorf("within %s: %v, %v\n%s", c.bound, s.has, err, strings.Join(s.said, "\n"))
		}
	}
}

func TestJudgeByExitCode(t *testing.T) {
	s := newStand(t, `f() { set -- $(cat "$1" "$2"); [ $(($4 - $2)) -le 12 ]; }; f`, "")
	if err := s.run(); err != nil || s.has["a"] != "approx=form4" || s.has["b"] != "" {
		t.Errorf("%v, %v\n%s", s.has, err, strings.Join(s.said, "\n"))
	}
	s = newStand(t, `cmp -s`, "") // nothing but the same output
	if err := s.run(); err != nil || s.has["a"] != "" || s.has["b"] != "" {
		t.Errorf("%v, %v", s.has, err)
	}
	if s.said[len(s.said)-1] != "nothing is approximated in b" {
		t.Errorf("said %q", s.said)
	}
}

// TestJudgeNotBelieved: a judge that can't be believed stops the search, in words, and nothing is
// approximated.
func TestJudgeNotBelieved(t *testing.T) {
	dice := filepath.Join(t.TempDir(), "dice")
	for _, c := range []struct {
		command, bound, want string
	}{
		{"false", "", "does not accept the program's own output"},
		{"echo 7; true", "1", "does not accept the program's own output"},
		{"n=$(cat " + dice + "n 2>/dev/null || echo 0); echo $((n + 1)) > " + dice + "n; echo $n; true",
			"10", "not deterministic: on the same two files it said 0 and then 1"},
		{"/no/such/judge", "", "can't run the judge"},
		{"echo hello; true", "1", "its last line must be a number"},
		{"kill -9 $$; true", "", "can't run the judge"},
	} {
		s := newStand(t, c.command, c.bound)
		err := s.run()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.command, err, c.want)
		}
		if s.has["a"]+s.has["b"] != "" {
			t.Errorf("%s: %v", c.command, s.has)
		}
	}
	// A judge that breaks down on the way: what was tried is taken back.
	s := newStand(t, `f() { grep -q 'result 0' "$2" || exit 127; }; f`, "")
	if err := s.run(); err == nil || s.has["a"]+s.has["b"] != "" || s.built < 3 {
		t.Errorf("%v, %v, %d builds", err, s.has, s.built)
	}
}

func TestJudgeNeedsABuild(t *testing.T) {
	s := newStand(t, "true", "")
	s.j.apply = func() (int, string, error) { return 1, "", nil } // objects only: the program stays
	if err := s.run(); err == nil || !strings.Contains(err.Error(), "-build 'make'") {
		t.Error(err)
	}
	s = newStand(t, "true", "")
	s.j.apply = func() (int, string, error) { return 1, "", nil }
	s.j.build = "exit 3"
	if err := s.run(); err == nil || !strings.Contains(err.Error(), "exit 3 failed") {
		t.Error(err)
	}
	s = newStand(t, "true", "")
	s.j.apply = func() (int, string, error) {
		return 0, "left alone: its folder is gone", errors.New("no")
	}
	if err := s.run(); err == nil || !strings.Contains(err.Error(), "folder is gone") {
		t.Error(err)
	}
	s = newStand(t, "true", "")
	s.open = nil
	if err := s.run(); err != nil || !strings.Contains(s.said[0], "nothing to judge") {
		t.Errorf("%v, %q", err, s.said)
	}
}

// TestJudgeFailingProgram: a program that ends otherwise with approximation is not accepted,
// whatever the judge says.
func TestJudgeFailingProgram(t *testing.T) {
	s := newStand(t, "true", "")
	s.j.apply = func() (int, string, error) {
		s.built++
		if err := s.write(); err != nil {
			return 0, "", err
		}
		if s.has["b"] != "" {
			return 1, "", os.WriteFile(s.j.argv[0], []byte("#!/bin/sh\nexit 3\n"), 0o755)
		}
		return 1, "", nil
	}
	if err := s.run(); err != nil || s.has["a"] != "approx=form4" || s.has["b"] != "" {
		t.Errorf("%v, %v\n%s", s.has, err, strings.Join(s.said, "\n"))
	}
}
