package driver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

// TestNoLoop has copies of gnvcc and scripts stand in nvcc's place, which a look at one's own file
// does not find.
func TestNoLoop(t *testing.T) {
	kit := drivertest.Toolkit(t, "13.0")
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	copy := func(name string) string {
		return drivertest.Program(t, filepath.Join(dir, name), string(binary))
	}
	first, second := copy("1/nvcc"), copy("2/nvcc")
	script := drivertest.Program(t, filepath.Join(dir, "3/nvcc"), "#!/bin/sh\nexec "+first+" \"$@\"\n")
	real := filepath.Join(kit, "bin")
	for name, path := range map[string][]string{
		"copies":             {filepath.Dir(first), filepath.Dir(second), real},
		"a script before us": {filepath.Dir(script), filepath.Dir(second), real},
		"nothing else":       {filepath.Dir(first), filepath.Dir(second), filepath.Dir(script)},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(path[0], "nvcc"), "--version")
			cmd.Env = append(environment.Read().Without("CUDA_HOME", "CUDA_PATH", "GNVCC_NVCC"),
				"GNVCC_TOOLKITS="+dir+"/none", "PATH="+strings.Join(append(path, "/usr/bin", "/bin"), ":"))
			begun := time.Now()
			out, err := cmd.CombinedOutput()
			if name == "nothing else" {
				if _, there := os.Stat("/usr/local/cuda/bin/nvcc"); there != nil &&
					(err == nil || !strings.Contains(string(out), "no nvcc was found")) {
					t.Errorf("%v\n%s", err, out)
				}
			} else if err != nil || !strings.Contains(string(out), "Cuda compilation tools") {
				t.Errorf("%v\n%s", err, out)
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
