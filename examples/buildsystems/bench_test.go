package buildsystems

// The bench on which every build system stands: the real compiler, gnvcc in the shapes in which
// people use it, a project's copy whose files are always equally old, and what of a build is
// compared.

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"gnvcc/install/kits"
)

var (
	gnvcc string // built from this tree
	tools string // install/buildtools' commands
)

func TestMain(m *testing.M) {
	code := func() int {
		dir, err := os.MkdirTemp("", "gnvcc-buildsystems-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		gnvcc = filepath.Join(dir, "bin", "gnvcc")
		build := exec.Command("go", "build", "-o", gnvcc, "gnvcc/cmd/gnvcc")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "gnvcc does not build: %v\n%s", err, out)
			return 1
		}
		out, _ := exec.Command("../../install/buildtools", "--path").Output()
		tools = strings.TrimSpace(string(out))
		return m.Run()
	}()
	os.Exit(code)
}

// tool finds a command: install/buildtools' own if there is one, else the machine's.
func tool(t *testing.T, name string) string {
	t.Helper()
	if own := filepath.Join(tools, name); isFile(own) {
		return own
	}
	return systemTool(t, name)
}

// systemTool finds the machine's own command.
func systemTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: no %s here; install/buildtools fetches what it can", name)
	}
	return path
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// brief tells that a toolkit is tried beside the main one: less often, for time's sake.
func (s *site) brief() bool { return s.version != mainKit }

// nvcc is the real one.
func (s *site) nvcc() string { return filepath.Join(s.kit, "bin", "nvcc") }

// A site is a folder in which a project is built, with an environment of its own.
type site struct {
	t       *testing.T
	version string
	kit     string        // toolkit
	limit   time.Duration // of one command; a wrapper that finds itself never ends
	dir     string
	home    string
	env     []string
}

func newSite(t *testing.T, version, kit string) *site {
	s := &site{t: t, version: version, kit: kit, limit: 5 * time.Minute, dir: filepath.Join(t.TempDir(), "project"), home: t.TempDir()}
	s.env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.home, "LANG=C.UTF-8", "CCACHE_DIR=" + s.home +
			"/ccache",
		"GNVCC_NVCC=" + s.kit + "/bin/nvcc", "GNVCC_STORE=" + s.store(), "GNVCC_STRICT=1",
	}
	return s
}

func (s *site) store() string { return filepath.Join(s.home, "store") }

// set replaces or adds variables, given as NAME=value; NAME alone takes one away.
func (s *site) set(settings ...string) {
	for _, setting := range settings {
		name, _, keep := strings.Cut(setting, "=")
		var env []string
		for _, e := range s.env {
			if !strings.HasPrefix(e, name+"=") {
				env = append(env, e)
			}
		}
		if keep {
			env = append(env, setting)
		}
		s.env = env
	}
}

// fresh empties the folder and copies a project of testdata/ (or a folder of examples/) into it.
// All files get the same old time: ptxas keeps a source's time in the line table.
func (s *site) fresh(projects ...string) {
	s.t.Helper()
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Fatal(err)
	}
	for _, project := range projects {
		to := s.dir
		if len(projects) > 1 {
			to = filepath.Join(s.dir, filepath.Base(project))
		}
		if err := os.CopyFS(to, os.DirFS(project)); err != nil {
			s.t.Fatal(err)
		}
	}
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	err := filepath.WalkDir(s.dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// try runs a command in the site's folder, and gives its output and error.
func (s *site) try(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	cmd.WaitDelay = time.Second
	kill := time.AfterFunc(s.limit, func() { cmd.Process.Kill() })
	defer kill.Stop()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *site) run(name string, args ...string) string {
	s.t.Helper()
	out, err := s.try(name, args...)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// cubins gives the hashes of all cubins in a binary, sorted: they are what gnvcc must not change
// without a recipe. (Objects themselves differ between two runs of nvcc.)
func (s *site) cubins(binary string) []string {
	s.t.Helper()
	out := s.t.TempDir()
	dump := exec.Command(filepath.Join(s.kit, "bin", "cuobjdump"), "-xelf", "all",
		filepath.Join(s.dir, binary))
	dump.Dir = out
	if text, err := dump.CombinedOutput(); err != nil {
		s.t.Fatalf("cuobjdump %s: %v\n%s", binary, err, text)
	}
	files, _ := filepath.Glob(filepath.Join(out, "*.cubin"))
	var hashes []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			s.t.Fatal(err)
		}
		name := filepath.Base(f)
		hashes = append(hashes, fmt.Sprintf("%s %x", name[strings.Index(name, "sm_"):], sha256.Sum256(b)))
	}
	if len(hashes) == 0 {
		s.t.Fatalf("no cubin in %s", binary)
	}
	sort.Strings(hashes)
	return hashes
}

func (s *site) age(file string) time.Time {
	s.t.Helper()
	info, err := os.Stat(filepath.Join(s.dir, file))
	if err != nil {
		s.t.Fatal(err)
	}
	return info.ModTime()
}

// seen fails the test unless gnvcc's store shows that device code went through it: a build that
// went past us would compare as equal too.
func (s *site) seen() {
	s.t.Helper()
	spool, _ := filepath.Glob(filepath.Join(s.store(), "spool", "*"))
	if len(spool) == 0 {
		s.t.Errorf("the store is empty: this build went past gnvcc")
	}
}

// link makes a folder with a link of the given name to gnvcc, as people do who cannot name their
// compiler.
func link(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(gnvcc, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func equal(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// The toolkits: the main one is tried by every run, the others by GNVCC_TESTS=longer.
var toolkits = []string{"11.8", "12.4", "13.0", "13.3", "13.5"}

const mainKit = "13.0"

// usually tries a way to build on the main toolkit, or on all.
func usually(t *testing.T, try func(s *site)) {
	versions := []string{mainKit}
	if kits.Longer() {
		versions = toolkits
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { try(newSite(t, version, kits.Need(t, version).Dir)) })
	}
}

// onKits is usually for what is not tried in every run.
func onKits(t *testing.T, try func(s *site)) {
	kits.Long(t, "make calls gnvcc as most others do")
	usually(t, try)
}
