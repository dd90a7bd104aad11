// Building the library on the machine where it runs, from the source that is embedded here (in a
// folder of its own, since Go takes a .c file next to it for cgo).

package lab

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed injection/clock.c
var source []byte

// BuildClock compiles the clock against a toolkit's CUPTI (12.0 and later) with the host's C compiler
// and leaves it in dir. It returns the library's path.
func BuildClock(ctx context.Context, toolkit, dir string) (string, error) {
	var flags []string
	header := false
	for _, sub := range []string{"include", "extras/CUPTI/include", "targets/x86_64-linux/include"} {
		if path := filepath.Join(toolkit, sub); exists(path) {
			flags = append(flags, "-I"+path)
			header = header || exists(filepath.Join(path, "cupti.h"))
		}
	}
	if !header {
		return "", fmt.Errorf("build the clock: toolkit %s has no cupti.h; install its CUPTI", toolkit)
	}
	var libraries []string
	for _, sub := range []string{"lib64", "lib", "extras/CUPTI/lib64", "targets/x86_64-linux/lib"} {
		if path := filepath.Join(toolkit, sub); exists(path) {
			libraries = append(libraries, "-L"+path, "-Wl,-rpath,"+path)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("build the clock: %w", err)
	}
	// Beside it, and then in its place: others may use dir, too.
	aside, err := os.MkdirTemp(dir, "clock-")
	if err != nil {
		return "", fmt.Errorf("build the clock: %w", err)
	}
	defer os.RemoveAll(aside)
	path := filepath.Join(aside, "clock.c")
	if err := os.WriteFile(path, source, 0o644); err != nil {
		return "", fmt.Errorf("build the clock: %w", err)
	}
	out := strings.TrimSuffix(path, ".c") + ".so"
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	args := append([]string{"-O2", "-Wall", "-fvisibility=hidden", "-fPIC", "-shared"}, flags...)
	args = append(append(append(args, path, "-o", out), libraries...), "-lcupti", "-lpthread")
	if msg, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the clock: %s %s: %w\n%s", compiler, strings.Join(args, " "), err,
			msg)
	}
	library := filepath.Join(dir, "clock.so")
	if err := os.Rename(out, library); err != nil {
		return "", fmt.Errorf("build the clock: %w", err)
	}
	return library, nil
}

// env is what a program's environment needs so that it is timed into file.
func env(library, file string) []string {
	return []string{"CUDA_INJECTION64_PATH=" + library, "GNVCC_CLOCK=" + file}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
