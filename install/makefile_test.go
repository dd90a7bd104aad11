package install

import (
	"os"
	"os/exec"
	"path/filepath"
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
	unit, err := os.ReadFile("gnvcc-watch.service")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "install"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "install", "gnvcc-watch.service"), unit, 0o644)
	}
	if err != nil {
		t.Fatal(err)
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
		"lib/systemd/user/gnvcc-watch.service":       "ExecStart=/usr/bin/gnvcc watch\n",
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
