package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRoom: what control groups leave, in both of Linux' forms; those above count.
func TestRoom(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("SKIPPED, NOT TESTED: no gcc")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main.c", `#define _GNU_SOURCE
#include "room.h"
int main(int n, char **a) { printf("%llu", (unsigned long long)room_allowed(a[1], a[2])); return room_memory() == 0; }
`)
	program := filepath.Join(dir, "room")
	if out, err := exec.Command("gcc", "-std=gnu11", "-O1", "-Wall", "-Werror",
		"-fsanitize=address,undefined", "-Isource", "-o", program,
		filepath.Join(dir, "main.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write("job/step/memory.max", "max\n")
	write("job/step/memory.current", "100\n")
	write("job/memory.max", "1000\n")
	write("job/memory.current", "700\n")
	write("job/memory.stat", "anon 600\nactive_file 1\ninactive_file 50\n")
	write("memory/old/memory.limit_in_bytes", "500\n")
	write("memory/old/memory.usage_in_bytes", "600\n")
	const all = "18446744073709551615"
	for groups, want := range map[string]string{"0::/job/step\n": "350", "0::/\n": all,
		"5:memory:/old\n4:cpu,cpuacct:/job\n0::/job\n": "0", "": all, "no group\n::\n0::": all} {
		write("self", groups)
		out, err := exec.Command(program, filepath.Join(dir, "self"), dir).Output()
		if err != nil || string(out) != want {
			t.Errorf("%q: %s, %v, want %s", groups, out, err, want)
		}
	}
}
