package replay

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/profile/agent"
)

// fakeDriver builds the test's own driver (testdata/driver.c), and gives its folder.
func fakeDriver(t *testing.T) string {
	t.Helper()
	cupti, err := agent.Find(kits.Any(t).Dir)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{"-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o",
		filepath.Join(dir, "libcuda.so.1"), "testdata/driver.c"}
	for _, include := range cupti.Include {
		args = append(args, "-I"+include)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestDriverFails: whichever of the driver's functions fails, a replay stops with the reason. It
// never says that the launch left the same bits, or that all is done, where it could not do what
// the program did. The driver is the test's own (testdata/driver.c), for the real one does not
// fail.
func TestDriverFails(t *testing.T) {
	program := built(t)
	dir := fakeDriver(t)
	// As agentFile's, with settings that differ from what the driver has, and memory of the host.
	const base, host = 0x7e0000000000, 0x7d0000000000
	raw := bytes.TrimSuffix(agentFile(base), record(7))
	raw = append(raw, bytes.Join([][]byte{record(3, u64(host), u64(4096), u32(1)),
		record(4, u64(host), []byte{1, 2, 3}), record(7)}, nil)...)
	kernel := record(1, kernelRecord(base, 49152, 50, 1, 1)...)
	raw = append(kernel, raw[len(record(1, kernelRecord(base, 49152, 0xffffffff, 0, 255)...)):]...)
	content := filepath.Join(dir, "capture")
	if err := os.WriteFile(content, packed(t, raw), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(fail string, env ...string) (int, string) {
		status := filepath.Join(dir, "status")
		os.Remove(status)
		cmd := exec.Command(program, content, status, "1", "1")
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "FAIL="+fail)
		cmd.Env = append(cmd.Env, env...)
		if out, _ := cmd.CombinedOutput(); len(out) > 0 {
			t.Errorf("what kernels print is shown: %q", out) // the driver prints whenever it is waited for
		}
		text, _ := os.ReadFile(status)
		return cmd.ProcessState.ExitCode(), string(text)
	}
	if code, text := run(""); code != 0 || !strings.Contains(text, "same\n") ||
		!strings.Contains(text, "varied 1\n") || !strings.HasSuffix(text, "done\n") {
		t.Fatalf("nothing fails: exit code %d\n%s", code, text)
	}
	if code, text := run("", "STUCK=1"); code != 4 || strings.Contains(text, "same\n") ||
		!strings.Contains(text, "may wait for what the CPU writes there") {
		t.Errorf("a launch does not end: exit code %d\n%s", code, text)
	}
	if code, text := run("", "LEFT=1048576"); code != 3 || strings.Contains(text, "fill") ||
		!strings.Contains(text, "of the GPU's memory, of which 1 MiB are free") {
		t.Errorf("there is no room for the launch's memory: exit code %d\n%s", code, text)
	}
	large := append(bytes.TrimSuffix(agentFile(base), record(7)), bytes.Join([][]byte{
		record(3, u64(0x600000000000), u64(1<<42), u32(1)), record(7)}, nil)...)
	was, err := os.ReadFile(content)
	if err == nil {
		err = os.WriteFile(content, packed(t, large), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, text := run(""); code != 3 || strings.Contains(text, "fill") ||
		!strings.Contains(text, "takes 4194304 MiB of the host's memory") {
		t.Errorf("there is no room on the host: exit code %d\n%s", code, text)
	}
	if err := os.WriteFile(content, was, 0o600); err != nil {
		t.Fatal(err)
	}
	// What may fail without a word, and why.
	harmless := map[string]string{
		"cuGetErrorString": "the error has its number",
		"cuMemFree_v2":     "what is left goes with the process", "cuModuleUnload": "so",
		"cuMemAddressFree": "of an address that was not the one",
		"cuStreamQuery":    "the same error comes behind it",
		"cuLaunchKernelEx": "for launches with attributes", "cuMemcpyDtoD_v2": "for longer ranges",
	}
	table, err := os.ReadFile("source/replay.h")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(table)) {
		parts := strings.Split(line, `"`)
		if !strings.HasPrefix(line, "  X(") || len(parts) != 3 {
			continue
		}
		n++
		symbol := parts[1]
		code, text := run(symbol)
		whole := code == 0 && strings.HasSuffix(text, "done\n")
		if harmless[symbol] != "" {
			if !whole {
				t.Errorf("%s: %s, and it stops: exit code %d\n%s", symbol, harmless[symbol], code, text)
			}
			continue
		}
		if code == 0 || !strings.Contains(text, "\nstop ") && !strings.HasPrefix(text, "stop ") ||
			strings.Contains(text, "done\n") {
			t.Errorf("%s fails, and nobody says so: exit code %d\n%s", symbol, code, text)
		}
	}
	if n < 20 {
		t.Errorf("only %d functions", n)
	}
}
