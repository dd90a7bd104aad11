package install

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDist: make dist gives a static program for each machine, with licences and the documents,
// under the version that it tells of itself, and checksums that are right.
func TestDist(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short, and this compiles for two machines")
	}
	for _, tool := range []string{"make", "go", "tar", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: no %s here", tool)
		}
	}
	dir := filepath.Join(t.TempDir(), "dist")
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("make", "dist", "VERSION=v9.8.7", "DIST="+dir)
	run("sh", "-c", "cd "+dir+" && sha256sum -c --strict SHA256SUMS")
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64,
		"arm64": elf.EM_AARCH64} {
		name := "gnvcc-v9.8.7-linux-" + arch
		run("tar", "-C", dir, "-xzf", filepath.Join(dir, name+".tar.gz"))
		for _, file := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "docs/use.md",
			"gnvcc", "gnvcc-oci"} {
			if _, err := os.Stat(filepath.Join(dir, name, file)); err != nil {
				t.Error(err)
			}
		}
		f, err := elf.Open(filepath.Join(dir, name, "gnvcc"))
		if err != nil {
			t.Fatal(err)
		}
		dynamic := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
		if f.Machine != machine || dynamic {
			t.Errorf("%s: for %v, needs a loader: %v", name, f.Machine, dynamic)
		}
		f.Close()
	}
	self := "gnvcc-v9.8.7-linux-" + map[bool]string{true: "arm64",
		false: "amd64"}[strings.Contains(run("uname", "-m"), "aarch64")]
	if got := run(filepath.Join(dir, self, "gnvcc"), "version"); got != "gnvcc v9.8.7\n" {
		t.Errorf("it says that it is %q", got)
	}
}
