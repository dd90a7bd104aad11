package kits

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Kit is one installed CUDA toolkit.
type Kit struct {
	Version string // "13.0", or the folder's name where the toolkit is the user's own
	Dir     string
}

// Tool is the path of one of the toolkit's programs: "ptxas".
func (k Kit) Tool(name string) string { return filepath.Join(k.Dir, "bin", name) }

// Nvcc is the toolkit's nvcc.
func (k Kit) Nvcc() string { return k.Tool("nvcc") }

// Ptxas is the toolkit's ptxas.
func (k Kit) Ptxas() string { return k.Tool("ptxas") }

// script is install/toolkit.
var script = sync.OnceValue(func() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "toolkit")
})

var installed = sync.OnceValue(func() []Kit {
	var out []Kit
	list, err := exec.Command(script(), "--list").Output()
	if err != nil {
		return nil
	}
	for _, version := range strings.Fields(string(list)) {
		if dir, err := exec.Command(script(), "--path", version).Output(); err == nil {
			out = append(out, Kit{version, strings.TrimSpace(string(dir))})
		}
	}
	return out
})

// own is the toolkit of an nvcc.
func own(nvcc string) []Kit {
	if real, err := filepath.EvalSymlinks(nvcc); err == nil {
		nvcc = real
	}
	dir := filepath.Dir(filepath.Dir(nvcc))
	return []Kit{{filepath.Base(dir), dir}}
}

// Kept is a folder of this user that stays, for what many tests build of the same bytes: its files' names
// have their hashes. What is a day old goes.
var Kept = sync.OnceValue(func() string {
	dir := filepath.Join("/tmp", fmt.Sprintf("gnvcc-tests-%d", os.Getuid()))
	os.Mkdir(dir, 0o700)
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
		panic(fmt.Sprintf("%s is not this user's own folder: remove it (%v)", dir, err))
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(filepath.Join(dir, f.Name()))
		}
	}
	return dir
})

// Compiled is what one of the toolkit's programs makes of inputs: from an earlier test, of this run or of
// one a day ago, where that had the same inputs. Errors are not kept.
func (k Kit) Compiled(tool string, inputs []string, run func(out string) error) ([]byte, error) {
	info, err := os.Stat(k.Tool(tool))
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%s %v %t %q", k.Tool(tool), info.ModTime(), Longer(), inputs))
	path := filepath.Join(Kept(), hex.EncodeToString(hash[:]))
	if made, err := os.ReadFile(path); err == nil {
		return made, nil
	}
	own, err := os.MkdirTemp(Kept(), "made-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(own)
	out := filepath.Join(own, "out")
	if err := run(out); err != nil {
		return nil, err
	}
	made, err := os.ReadFile(out)
	if err == nil {
		os.Rename(out, path)
	}
	return made, err
}

// Every reports whether all tests are to run, with every toolkit, as in CI: GNVCC_TESTS=all, or
// longer.
func Every() bool { return os.Getenv("GNVCC_TESTS") == "all" || Longer() }

// Longer reports whether they are to go on for longer than CI has time for: GNVCC_TESTS=longer.
func Longer() bool { return os.Getenv("GNVCC_TESTS") == "longer" }

// Long skips a test that takes long, unless every one is to run. why says what the shorter tests
// see of the same.
func Long(t testing.TB, why string) {
	t.Helper()
	if !Every() {
		t.Skipf("SKIPPED: a long test: %s; GNVCC_TESTS=all runs it", why)
	}
}

// Rounds is how often a test with random programs goes on: a fourth of n where not every test is to run.
func Rounds(n int) int {
	if Every() {
		return n
	}
	return n / 4
}

// called are functions of CUDA's library, in sources of tests, that short/ does not declare.
var called = regexp.MustCompile(`\b(__(float_|nano|ld|shfl|any|all|ballot|half|sync[a-z]*_)|atomic|` +
	`tex\dD|make_|cuda(Malloc[A-Z]|Mem\w*Symbol|Launch|Func|Occupancy|Graph|Stream)|` +
	`(min|max|f?abs|fma|fmin|fmax|r?sqrt|exp|exp2f?|exp10f?|log|log1pf?|log\d+f?|sin|sincosf?|cos|` +
	`tanf?|tanh|pow)[<(])|` +
	`\] *(__host__ *)?__device__|#include *[<"](c?(math|assert)|complex|coop|cu|mma|thrust)`)

// Short is a setting with which nvcc takes a quarter of the time for these sources: it reads a
// cuda_runtime.h with next to no library functions (short/). It reads its own where they call
// others, and for GNVCC_TESTS=longer.
func Short(sources ...string) string {
	if Longer() || called.MatchString(strings.Join(sources, "\n")) {
		return "NVCC_PREPEND_FLAGS="
	}
	return "NVCC_PREPEND_FLAGS=" + ShortFlag()
}

// ShortIn is Short for the sources below a folder.
func ShortIn(dir string) string {
	var sources []string
	filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		switch filepath.Ext(path) {
		case ".cu", ".cuh", ".h", ".cpp":
			text, _ := os.ReadFile(path)
			sources = append(sources, string(text))
		}
		return nil
	})
	return Short(sources...)
}

// ShortFlag is the option of nvcc that Short sets.
func ShortFlag() string { return "-I" + filepath.Join(filepath.Dir(script()), "kits", "short") }

// Condition is testscript's: [every] holds where every test is to run; a script that takes long
// begins with it, and says what the shorter ones see of the same. [exists:FILE] says of itself.
func Condition(name string) (bool, error) {
	if file, ok := strings.CutPrefix(name, "exists:"); ok {
		_, err := os.Stat(file)
		return err == nil, nil
	}
	if name != "every" {
		return false, fmt.Errorf("no condition %q", name)
	}
	return Every(), nil
}

// usual is the toolkit that most is measured on.
const usual = "13.0"

// here are the toolkits to test with: that of GNVCC_NVCC alone where it is set, else those that
// install/toolkit has put here, oldest first, else the one in PATH. Of several only the usual one
// is taken where not every test is to run.
var here = sync.OnceValue(func() []Kit {
	if nvcc := os.Getenv("GNVCC_NVCC"); nvcc != "" {
		return own(nvcc)
	}
	if list := installed(); len(list) > 0 {
		for i, k := range list {
			if k.Version == usual && !Every() {
				return list[i : i+1]
			}
		}
		return list
	}
	if nvcc, err := exec.LookPath("nvcc"); err == nil {
		return own(nvcc)
	}
	return nil
})

// All returns the toolkits to test with, oldest first. Without any it skips the test.
func All(t testing.TB) []Kit {
	t.Helper()
	if len(here()) == 0 {
		t.Skip(
			"SKIPPED: no CUDA toolkit here, so nothing was compiled or assembled; run install/toolkit 13.0 or set GNVCC_NVCC")
	}
	return here()
}

// Any returns one toolkit for tests that any will do for: the usual one if it is here. Without any
// it skips the test.
func Any(t testing.TB) Kit {
	t.Helper()
	all := All(t)
	for _, k := range all {
		if k.Version == usual {
			return k
		}
	}
	return all[len(all)-1]
}

// Find looks for the toolkit of one version that install/toolkit has put here.
func Find(version string) (Kit, bool) {
	for _, k := range installed() {
		if k.Version == version {
			return k, true
		}
	}
	return Kit{}, false
}

// Need is Find for a test that can't do without: it skips. So it does for another toolkit than the
// usual one where not every test is to run.
func Need(t testing.TB, version string) Kit {
	t.Helper()
	if _, ok := Find(usual); ok && version != usual {
		Long(t, "it is run with toolkit "+usual)
	}
	k, ok := Find(version)
	if !ok {
		t.Skipf("SKIPPED: no CUDA toolkit %s here; install/toolkit %s gets it", version, version)
	}
	return k
}
