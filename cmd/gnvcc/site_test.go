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

	"gnvcc/cache"
	"gnvcc/profile/capture"
	"gnvcc/profile/capture/capturetest"
	"gnvcc/sim/cubin"
)

// A site is a folder with the command under test, and a store of its own.
type site struct {
	t               *testing.T
	dir, store, exe string // exe is the command, called gnvcc
	env             []string
}

// newSite makes one; env goes behind the environment of the test.
func newSite(t *testing.T, nvcc string, env ...string) *site {
	t.Helper()
	top := t.TempDir()
	s := &site{t: t, dir: filepath.Join(top, "work"), store: filepath.Join(top, "store"),
		exe: filepath.Join(top, "gnvcc")}
	tmp := filepath.Join(top, "tmp")
	s.must(os.Mkdir(s.dir, 0o700))
	s.must(os.Mkdir(tmp, 0o700))
	self, err := os.Executable()
	s.must(err)
	// a copy: by a link's target it would not know itself in nvcc's steps
	if os.Link(self, s.exe) != nil {
		text, err := os.ReadFile(self)
		s.must(err)
		s.must(os.WriteFile(s.exe, text, 0o755))
	}
	s.env = append(append(os.Environ(), "GNVCC_STORE="+s.store, "GNVCC_NVCC="+nvcc, "TMPDIR="+tmp, "TERM=dumb"), env...)
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// write writes a file of the folder, and gives its path.
func (s *site) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	s.must(os.MkdirAll(filepath.Dir(path), 0o700))
	s.must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	s.must(err)
	return string(text)
}

// command is one in the folder.
func (s *site) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// gnvcc runs the command under test, and gives what it says.
func (s *site) gnvcc(args ...string) (string, error) {
	out, err := s.command(s.exe, args...).CombinedOutput()
	return string(out), err
}

// good runs what has to succeed.
func (s *site) good(args ...string) string {
	s.t.Helper()
	out, err := s.gnvcc(args...)
	if err != nil {
		s.t.Fatalf("gnvcc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// ends runs the command under test, and checks its exit code and what it says.
func (s *site) ends(code int, args []string, words ...string) string {
	s.t.Helper()
	cmd := s.command(s.exe, args...)
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("gnvcc %s: exit code %d, not %d\n%s", args, got, code, out)
	}
	for _, w := range words {
		if !strings.Contains(string(out), w) {
			s.t.Errorf("gnvcc %s does not say %q:\n%s", args, w, out)
		}
	}
	return string(out)
}

// decisions are all that the store has.
func (s *site) decisions() []cache.Decision {
	s.t.Helper()
	store, err := cache.Open(s.store)
	s.must(err)
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return nil
	}
	s.must(err)
	defer sn.Close()
	all, err := sn.AllDecisions()
	s.must(err)
	return all
}

// keepLaunch makes up a launch of each kernel of a cubin, in a store of captures: as l says, the
// n-th, or k<n>, with more seconds than those before it.
func keepLaunch(store, file string, l capturetest.Launch) (map[string]*capture.Manifest, error) {
	s, err := capture.Open(filepath.Join(store, "captures"))
	if err != nil {
		return nil, err
	}
	if l.Cubin, err = os.ReadFile(file); err != nil {
		return nil, err
	}
	f, err := cubin.Read(l.Cubin)
	if err != nil {
		return nil, err
	}
	out, seconds := map[string]*capture.Manifest{}, l.Seconds
	for i, k := range f.Kernels {
		fmt.Sscanf(strings.TrimLeft(k.Name, "_Z0123456789"), "k%d", &i)
		l.Kernel, l.Params, l.Made, l.Seconds = k.Name, nil, time.Now(), seconds*float64(i+1)
		for _, p := range k.Params {
			l.Params = append(l.Params, [2]int{p.Offset, p.Size})
		}
		if out[k.Name], err = capturetest.Keep(s, l); err != nil {
			return nil, err
		}
	}
	return out, nil
}
