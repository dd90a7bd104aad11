package ptxtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// A Toolkit is one installed CUDA toolkit.
type Toolkit struct {
	Version string // "13.0", or the folder's name where the version is the user's own
	Dir     string
}

// Nvcc is the toolkit's nvcc.
func (k Toolkit) Nvcc() string { return filepath.Join(k.Dir, "bin", "nvcc") }

// Ptxas is the toolkit's ptxas.
func (k Toolkit) Ptxas() string { return filepath.Join(k.Dir, "bin", "ptxas") }

var find = sync.OnceValue(func() []Toolkit {
	var kits []Toolkit
	_, here, _, _ := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(here), "..", "..", "..", "install", "toolkit")
	if list, err := exec.Command(script, "--list").Output(); err == nil {
		for _, version := range strings.Fields(string(list)) {
			if dir, err := exec.Command(script, "--path", version).Output(); err == nil {
				kits = append(kits, Toolkit{version, strings.TrimSpace(string(dir))})
			}
		}
	}
	if len(kits) == 0 {
		nvcc := os.Getenv("GNVCC_NVCC")
		if nvcc == "" {
			nvcc, _ = exec.LookPath("nvcc")
		}
		if nvcc != "" {
			dir := filepath.Dir(filepath.Dir(nvcc))
			kits = append(kits, Toolkit{filepath.Base(dir), dir})
		}
	}
	return kits
})

// Toolkits returns every toolkit that install/toolkit put here, else the one of GNVCC_NVCC or PATH. Without any it
// skips the test.
func Toolkits(t testing.TB) []Toolkit {
	t.Helper()
	kits := find()
	if len(kits) == 0 {
		t.Skip("SKIPPED: no CUDA toolkit here, so nothing was compiled or assembled; run install/toolkit 13.0 or set GNVCC_NVCC")
	}
	return kits
}

// PTX compiles a .cu file to PTX. -arch=sm_NN and other flags come from the caller.
func (k Toolkit) PTX(t testing.TB, file string, flags ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.ptx")
	args := append([]string{"-w", "-ptx", file, "-o", out}, flags...)
	if msg, err := exec.Command(k.Nvcc(), args...).CombinedOutput(); err != nil {
		t.Fatalf("toolkit %s: nvcc %s: %v\n%s", k.Version, strings.Join(args, " "), err, msg)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Assemble runs ptxas and returns the cubin, and what it said as the error where it refuses.
func (k Toolkit) Assemble(t testing.TB, text []byte, flags ...string) ([]byte, error) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "out.cubin")
	if err := os.WriteFile(in, text, 0o600); err != nil {
		t.Fatal(err)
	}
	msg, err := exec.Command(k.Ptxas(), append([]string{in, "-o", out}, flags...)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("ptxas %s %s: %v\n%s", k.Version, strings.Join(flags, " "), err, bytes.TrimSpace(msg))
	}
	return os.ReadFile(out)
}

// Archs returns the real architectures that this ptxas assembles for: "sm_75", "sm_90a", ...
func (k Toolkit) Archs(t testing.TB) []string {
	t.Helper()
	help, err := exec.Command(k.Ptxas(), "--help").Output()
	if err != nil {
		t.Fatalf("toolkit %s: ptxas --help: %v", k.Version, err)
	}
	var out []string
	for _, word := range strings.FieldsFunc(string(help), func(r rune) bool { return strings.ContainsRune(" ',.\n", r) }) {
		if strings.HasPrefix(word, "sm_") {
			out = append(out, word)
		}
	}
	return out
}
