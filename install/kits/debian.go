package kits

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Debian unpacks packages of Debian, without installing them, and gives the folder, as if it were
// the root. They are kept beside install/buildtools' programs. Where they can't be had the test is
// skipped, and says so.
func Debian(t testing.TB, packages ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(filepath.Dir(script()), "buildtools"), "--path").Output()
	if err != nil {
		t.Fatal(err)
	}
	into := filepath.Dir(strings.TrimSpace(string(out)))
	dir := filepath.Join(into, "debian-"+packages[0])
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		t.Skipf("SKIPPED: no folder for packages: %v", err)
	}
	work, err := os.MkdirTemp(into, ".work.")
	if err != nil {
		t.Skipf("SKIPPED: no folder for packages: %v", err)
	}
	defer os.RemoveAll(work)
	run := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir = work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s could not be had from Debian: %s: %v\n%s", packages[0], name, err, out)
		}
	}
	run("apt-get", append([]string{"-qq", "download"}, packages...)...)
	debs, _ := filepath.Glob(filepath.Join(work, "*.deb"))
	root := filepath.Join(work, "root")
	for _, deb := range debs {
		run("dpkg-deb", "-x", deb, root)
	}
	if err := os.Rename(root, dir); err != nil && !os.IsExist(err) {
		if _, there := os.Stat(dir); there != nil { // else another test was faster
			t.Skipf("SKIPPED: keep %s: %v", packages[0], err)
		}
	}
	return dir
}
