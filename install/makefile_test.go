package install

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeInstall: what make install puts below a prefix is the program, its completions
// and the unit of gnvcc watch, also where the prefix has files named as verbs are; make
// uninstall takes these away, and nothing else.
func TestMakeInstall(t *testing.T) {
	for _, tool := range []string{"make", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: no %s here", tool)
		}
	}
	// In a folder of its own, as on a machine without Go: bin/ here may be in use.
	dir, dest := t.TempDir(), t.TempDir()
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "install"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gnvcc-watch.service", "gnvcc.cmake"} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "install", name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "bin")+"/",
		"../cmd/gnvcc", "../cmd/gnvcc-oci")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	other := filepath.Join(dest, "usr", "bin", "completion")
	if err := os.MkdirAll(filepath.Dir(other), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(target string) {
		t.Helper()
		cmd := exec.Command("make", "-C", dir, target, "GO=nosuch", "DESTDIR="+dest, "PREFIX=/usr")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
	}
	run("install")
	for name, word := range map[string]string{"bin/gnvcc": "",
		"bin/gnvcc-oci":                              "",
		"share/zsh/site-functions/_gnvcc":            "compdef",
		"share/gnvcc/gnvcc.cmake":                    "find_program(GNVCC_PROGRAM",
		"share/systemd/user/gnvcc-watch.service":     "ExecStart=/usr/bin/gnvcc watch\n",
		"share/bash-completion/completions/gnvcc":    "__complete",
		"share/fish/vendor_completions.d/gnvcc.fish": "complete -c gnvcc"} {
		text, err := os.ReadFile(filepath.Join(dest, "usr", name))
		if err != nil {
			t.Error(err)
			continue
		}
		want(t, string(text), word)
	}
	run("uninstall")
	var left []string
	filepath.WalkDir(dest, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			left = append(left, path)
		}
		return err
	})
	if len(left) != 1 || left[0] != other {
		t.Errorf("left behind, or taken away: %v", left)
	}
}

// TestCMakeFinds: install/gnvcc.cmake finds the gnvcc of a clone, of a tarball, and that which was installed with it.
func TestCMakeFinds(t *testing.T) {
	if _, err := exec.LookPath("cmake"); err != nil {
		t.Skip("SKIPPED: no cmake here")
	}
	text, err := os.ReadFile("gnvcc.cmake")
	if err != nil {
		t.Fatal(err)
	}
	for file, program := range map[string]string{"install/gnvcc.cmake": "bin/gnvcc", "install/gnvcc.cmake ": "gnvcc",
		"share/gnvcc/gnvcc.cmake": "bin/gnvcc"} {
		top := t.TempDir()
		file = filepath.Join(top, strings.TrimSpace(file))
		program = filepath.Join(top, program)
		script := filepath.Join(top, "find.cmake")
		for path, text := range map[string]string{file: string(text), program: "#!/bin/sh\n",
			script: "include(" + file + ")\nmessage(STATUS \"found ${GNVCC_PROGRAM}\")\n"} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("cmake", "-P", script)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "found "+program+"\n") {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
}
