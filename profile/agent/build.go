package agent

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

//go:embed source/*.c source/*.h source/compare.ptx source/hash.ptx
var embedded embed.FS

// errNoCUPTI says that a toolkit has no CUPTI, without which the agent can't be built.
var errNoCUPTI = errors.New("no CUPTI in the toolkit")

// CUPTI is where a toolkit keeps its CUPTI.
type CUPTI struct {
	Include []string // folders with cupti.h and cuda.h
	Library string   // libcupti.so
}

// Find looks for CUPTI in a toolkit, in the places where NVIDIA's installers, Debian and the
// packages of PyPI put it.
func Find(root string) (CUPTI, error) {
	target := map[string]string{"amd64": "x86_64-linux", "arm64": "sbsa-linux"}[runtime.GOARCH]
	places := []string{root, filepath.Join(root, "extras", "CUPTI"), filepath.Join(root, "targets",
		target)}
	var c CUPTI
	for _, header := range []string{"cupti.h", "cuda.h"} {
		found := ""
		for _, p := range places {
			dir := filepath.Join(p, "include")
			if _, err := os.Stat(filepath.Join(dir, header)); err == nil {
				found = dir
				break
			}
		}
		if found == "" {
			return c,
				fmt.Errorf("%w %s: no include/%s (package cuda-cupti-dev, or nvidia-cuda-cupti of PyPI)",
					errNoCUPTI, root, header)
		}
		if len(c.Include) == 0 || c.Include[0] != found {
			c.Include = append(c.Include, found)
		}
	}
	for _, p := range places {
		for _, lib := range []string{"lib64", "lib"} {
			for _, pattern := range []string{"libcupti.so", "libcupti.so.[0-9]*"} {
				if m, _ := filepath.Glob(filepath.Join(p, lib, pattern)); len(m) > 0 {
					c.Library = m[0]
					return c, nil
				}
			}
		}
	}
	return c, fmt.Errorf("%w %s: headers, but no libcupti.so", errNoCUPTI, root)
}

// Build builds the agent for a toolkit into the folder out, unless it is there already, and gives
// its path. The name has a hash of the source, the compiler's command and CUPTI's place, so that
// nothing stale is ever used. The compiler is CC, else gcc, cc or clang: one of them is there, nvcc
// needs it.
func Build(ctx context.Context, root, out string) (string, error) {
	cupti, err := Find(root)
	if err != nil {
		return "", err
	}
	library, err := filepath.Abs(cupti.Library)
	if err != nil {
		return "", err
	}
	files, err := read(embedded)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(library)
	if err != nil {
		return "", fmt.Errorf("finding CUPTI: %w", err)
	}
	return build(ctx, out, program{
		name: "agent", suffix: ".so", files: files, include: cupti.Include,
		flags: []string{"-shared", "-fPIC", "-fvisibility=hidden"},
		link:  []string{library, "-Wl,-rpath," + filepath.Dir(library), "-lm", "-ldl", "-lpthread"},
		// The library's size and time stand for its content: an updated toolkit in the same place is
		// another one.
		key: fmt.Sprintf("%q %d %d", library, info.Size(), info.ModTime().UnixNano()),
	})
}

// BuildProgram builds a program that shares some of the agent's files (withHashes), in the same way
// as the agent is built. source has its files in a folder of that name.
func BuildProgram(ctx context.Context, root, out, name string, source fs.FS) (string, error) {
	cupti, err := Find(root)
	if err != nil {
		return "", err
	}
	files, err := withHashes(source)
	if err != nil {
		return "", err
	}
	return build(ctx, out, program{name: name, files: files, include: cupti.Include,
		link: []string{"-ldl", "-lpthread"}})
}

func withHashes(source fs.FS) (map[string][]byte, error) {
	files, err := read(source)
	for _, shared := range []string{"embed.h", "hash.h", "hash.ptx", "prints.h", "room.h"} {
		if err == nil {
			files[shared], err = embedded.ReadFile("source/" + shared)
		}
	}
	return files, err
}

// A program is what build makes of C files.
type program struct {
	name, suffix         string
	files                map[string][]byte
	include, flags, link []string
	key                  string // what else it depends on
}

func read(source fs.FS) (map[string][]byte, error) {
	names, err := fs.Glob(source, "source/*")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[strings.TrimPrefix(name, "source/")], err = fs.ReadFile(source, name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func build(ctx context.Context, out string, p program) (string, error) {
	cc, err := compiler()
	if err != nil {
		return "", err
	}
	args := append(cc[1:len(cc):len(cc)], "-std=gnu11", "-O2", "-Wall", "-Wextra")
	args = append(args, p.flags...)
	for _, dir := range p.include {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-I", abs)
	}
	names := slices.Sorted(maps.Keys(p.files))
	hash := sha256.New()
	for _, name := range names {
		fmt.Fprintf(hash, "%s %d\n%s", name, len(p.files[name]), p.files[name])
	}
	fmt.Fprintf(hash, "%q %q %q %s", cc, args, p.link, p.key)
	path := filepath.Join(out, p.name+"-"+hex.EncodeToString(hash.Sum(nil))[:16]+p.suffix)
	if err := os.MkdirAll(out, 0o700); err != nil {
		return "", fmt.Errorf("making a folder for the %s: %w", p.name, err)
	}
	if info, err := os.Stat(out); err != nil || !ours(info) {
		return "", fmt.Errorf("the %s's folder %s can be written by others, or is not yours: remove it",
			p.name, out)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && ours(info) {
		return path, nil // anything else there is replaced below
	}
	dir, err := os.MkdirTemp(out, "."+p.name+"-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the %s's build: %w", p.name, err)
	}
	defer os.RemoveAll(dir)
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), p.files[name], 0o600); err != nil {
			return "", fmt.Errorf("writing the %s's source: %w", p.name, err)
		}
		if strings.HasSuffix(name, ".c") {
			args = append(args, name)
		}
	}
	made := filepath.Join(dir, "made")
	cmd := exec.CommandContext(ctx, cc[0], append(append(args, "-o", made), p.link...)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the %s with %s: %w\n%s", p.name, cc[0], err, text)
	} else if len(text) > 0 && os.Getenv("GNVCC_STRICT") == "1" {
		return "", fmt.Errorf("building the %s with %s gave warnings:\n%s", p.name, cc[0], text)
	}
	if err := os.Chmod(made, 0o700); err != nil {
		return "", fmt.Errorf("making the %s ours alone: %w", p.name, err)
	}
	if err := os.Rename(made, path); err != nil {
		return "", fmt.Errorf("moving the %s into place: %w", p.name, err)
	}
	return path, nil
}

// ours reports whether only the user can have written a file: it is code that is loaded into
// the user's program.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

func compiler() ([]string, error) {
	// Under make, CC may well be what builds the user's CUDA code: nvcc, or we ourselves.
	if words := strings.Fields(os.Getenv("CC")); len(words) > 0 &&
		!strings.Contains(filepath.Base(words[0]), "nvcc") {
		return words, nil
	}
	for _, name := range []string{"gcc", "cc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil,
		errors.New("no C compiler (gcc, cc or clang; or name one in CC) to build the agent with")
}
