package ptxtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// A Toolkit is an installed CUDA toolkit that compiles and assembles for tests.
type Toolkit struct{ kits.Kit }

// Toolkits returns the toolkits to test with, as kits.All does.
func Toolkits(t testing.TB) []Toolkit {
	t.Helper()
	var out []Toolkit
	for _, k := range kits.All(t) {
		out = append(out, Toolkit{k})
	}
	return out
}

// PTX compiles a .cu file to PTX. -arch=sm_NN and other flags come from the caller.
func (k Toolkit) PTX(t testing.TB, file string, flags ...string) []byte {
	t.Helper()
	file, err := filepath.Abs(file) // one name for all packages' tests
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inputs := append([]string{file, string(source)}, flags...)
	headers, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.*h"))
	for _, header := range headers {
		text, _ := os.ReadFile(header)
		inputs = append(inputs, string(text))
	}
	text, err := k.Compiled("nvcc", inputs, func(out string) error {
		args := append([]string{"-w", "-ptx", file, "-o", out}, flags...)
		cmd := exec.Command(k.Nvcc(), args...)
		cmd.Env = append(os.Environ(), kits.Short(string(source)))
		msg, err := cmd.CombinedOutput()
		if err != nil { // a header of its own may call what kits.Short does not see
			msg, err = exec.Command(k.Nvcc(), args...).CombinedOutput()
		}
		if err != nil {
			return fmt.Errorf("toolkit %s: nvcc %s: %v\n%s", k.Version, strings.Join(args, " "), err, msg)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Assemble runs ptxas and returns the cubin, and what it said as the error where it refuses.
func (k Toolkit) Assemble(t testing.TB, text []byte, flags ...string) ([]byte, error) {
	t.Helper()
	return k.Compiled("ptxas", append([]string{string(text)}, flags...), func(out string) error {
		in := filepath.Join(t.TempDir(), "in.ptx")
		if err := os.WriteFile(in, text, 0o600); err != nil {
			t.Fatal(err)
		}
		msg, err := exec.Command(k.Ptxas(), append([]string{in, "-o", out}, flags...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ptxas %s %s: %v\n%s", k.Version, strings.Join(flags, " "), err,
				bytes.TrimSpace(msg))
		}
		return nil
	})
}

// Disassembler is the toolkit's cuobjdump; the test is skipped where there is none.
func (k Toolkit) Disassembler(t testing.TB) string {
	t.Helper()
	path := filepath.Join(k.Dir, "bin", "cuobjdump")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: toolkit %s has no cuobjdump: %v", k.Version, err)
	}
	return path
}

// SASS assembles a text and returns the machine code as this disassembler, which may be a newer
// toolkit's, prints it, by function.
func (k Toolkit) SASS(t testing.TB, cuobjdump string, text []byte,
	flags ...string) map[string]string {
	t.Helper()
	cubin, err := k.Assemble(t, text, flags...)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.cubin")
	if err := os.WriteFile(path, cubin, 0o600); err != nil {
		t.Fatal(err)
	}
	dump, err := exec.Command(cuobjdump, "-sass", path).CombinedOutput()
	if err != nil {
		t.Fatalf("cuobjdump: %v\n%s", err, dump)
	}
	code := make(map[string]string)
	for _, part := range strings.Split(string(dump), "Function : ")[1:] {
		code[strings.Fields(part)[0]] = part
	}
	return code
}

// Archs returns the real architectures that this ptxas assembles for: "sm_75", "sm_90a", ...
func (k Toolkit) Archs(t testing.TB) []string {
	t.Helper()
	help, err := exec.Command(k.Ptxas(), "--help").Output()
	if err != nil {
		t.Fatalf("toolkit %s: ptxas --help: %v", k.Version, err)
	}
	var out []string
	for _, word := range strings.FieldsFunc(string(help), func(r rune) bool {
		return strings.ContainsRune(" ',.\n", r)
	}) {
		if strings.HasPrefix(word, "sm_") {
			out = append(out, word)
		}
	}
	return out
}
