package toolkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	self := drivertest.Program(t, at("own/gnvcc"), "self")
	real := drivertest.Program(t, at("cuda/bin/nvcc"), "real")
	drivertest.Program(t, at("cuda/bin/nvcc.profile"), "")
	other := drivertest.Program(t, at("other/bin/nvcc"), "other")
	for _, link := range []string{"links/nvcc", "home/bin/nvcc"} {
		os.MkdirAll(filepath.Dir(at(link)), 0o755)
		if err := os.Symlink(self, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	os.MkdirAll(at("hard"), 0o755)
	os.Link(self, at("hard/nvcc"))
	os.MkdirAll(at("usr"), 0o755)
	// a link into a toolkit: the toolkit is where it leads
	os.Symlink("../cuda/bin/nvcc", at("usr/nvcc"))
	os.MkdirAll(at("shadow"), 0o755)
	os.Symlink(real, at("shadow/nvcc")) // a folder with a profile is a toolkit of its own
	os.WriteFile(at("shadow/nvcc.profile"), nil, 0o644)
	os.WriteFile(at("plain"), nil, 0o644)
	path := func(dirs ...string) string {
		for i := range dirs {
			dirs[i] = at(dirs[i])
		}
		return strings.Join(dirs, ":")
	}
	// What install/toolkit put here: the newest one comes first, and what is being put together is
	// none.
	newest := drivertest.Program(t, at("kits/13.10/bin/nvcc"), "newest")
	drivertest.Program(t, at("kits/13.9/bin/nvcc"), "older")
	drivertest.Program(t, at("kits/.99.0.x1/bin/nvcc"), "half of one")
	os.MkdirAll(at("kits/14.0/bin"), 0o755) // without nvcc
	data := drivertest.Program(t, at("data/gnvcc/toolkits/12.4/bin/nvcc"), "data's")
	byHome := drivertest.Program(t, at("user/.local/share/gnvcc/toolkits/11.8/bin/nvcc"), "home's")
	chosen := drivertest.Program(t, at("chosen/13.0/bin/nvcc"), "the first")
	drivertest.Program(t, at("chosen/13.5/bin/nvcc"), "one for comparing")
	os.Symlink("13.0", at("chosen/default"))
	for name, c := range map[string]struct {
		env        map[string]string
		nvcc, from string
		err        string
	}{
		"the variable": {env: map[string]string{"GNVCC_NVCC": other, "CUDA_HOME": at("cuda")},
			nvcc: other, from: "GNVCC_NVCC"},
		"the variable, by name": {env: map[string]string{"GNVCC_NVCC": "nvcc",
			"PATH": path("links", "other/bin")}, nvcc: other, from: "GNVCC_NVCC"},
		"the variable is us": {env: map[string]string{"GNVCC_NVCC": at("links/nvcc"),
			"PATH": path("cuda/bin")}, err: "gnvcc itself"},
		"the variable is nothing": {env: map[string]string{"GNVCC_NVCC": at("none"),
			"PATH": path("cuda/bin")}, err: "not a program"},
		"the variable is no tool": {env: map[string]string{"GNVCC_NVCC": at("plain")},
			err: "not a program"},
		"CUDA_HOME": {env: map[string]string{"CUDA_HOME": at("cuda"),
			"CUDA_PATH": at("other")}, nvcc: real, from: "CUDA_HOME"},
		"CUDA_PATH": {env: map[string]string{"CUDA_HOME": at("none"),
			"CUDA_PATH": at("other")}, nvcc: other, from: "CUDA_PATH"},
		"CUDA_HOME has us": {env: map[string]string{"CUDA_HOME": at("home"),
			"PATH": path("other/bin")}, nvcc: other, from: "PATH"},
		"past ourselves": {env: map[string]string{"PATH": path("links", "hard", "none",
			"cuda/bin")}, nvcc: real, from: "PATH"},
		"a link is followed": {env: map[string]string{"PATH": path("usr")},
			nvcc: at("cuda/bin/nvcc"), from: "PATH"},
		"installed": {env: map[string]string{"GNVCC_TOOLKITS": at("kits"),
			"HOME": at("user")}, nvcc: newest, from: "install/toolkit"},
		"installed, the one that was there first": {env: map[string]string{"GNVCC_TOOLKITS": at("chosen")},
			nvcc: chosen, from: "install/toolkit"},
		"installed, by XDG": {env: map[string]string{"XDG_DATA_HOME": at("data"),
			"HOME": at("user")}, nvcc: data, from: "install/toolkit"},
		"installed, at home": {env: map[string]string{"HOME": at("user"), "PATH": path("links")},
			nvcc: byHome, from: "install/toolkit"},
		"installed comes last": {env: map[string]string{"HOME": at("user"),
			"PATH": path("other/bin")}, nvcc: other, from: "PATH"},
		"a toolkit of links is it": {env: map[string]string{"PATH": path("shadow")},
			nvcc: at("shadow/nvcc"), from: "PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(defaultToolkit + "/bin/nvcc"); err == nil && c.from == "install/toolkit" {
				t.Skip("SKIPPED: " + defaultToolkit + " is here, and comes first")
			}
			var list []string
			for name, value := range c.env {
				list = append(list, name+"="+value)
			}
			kit, err := Find(self, environment.Of(list))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%+v, %v", kit, err)
				}
				return
			}
			if err != nil || kit.Nvcc != c.nvcc || kit.From != c.from {
				t.Errorf("%+v, %v; want %s from %s", kit, err, c.nvcc, c.from)
			}
		})
	}
	if _, err := os.Stat(defaultToolkit + "/bin/nvcc"); err != nil {
		if _, err := Find(self, environment.Of(nil)); err != errNotFound {
			t.Errorf("with nothing to be found: %v", err)
		}
	}
}

// TestFindInPython: NVIDIA's packages in the environment that gnvcc is installed in are a toolkit,
// the newest first, behind PATH; those of another environment are none.
func TestFindInPython(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	self := drivertest.Program(t, at("env [1]/bin/gnvcc"), "self")
	drivertest.Program(t, at("env [1]/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc"), "13")
	newest := drivertest.Program(t, at("env [1]/lib/python3.11/site-packages/nvidia/cu14/bin/nvcc"), "14")
	inPath := drivertest.Program(t, at("bin/nvcc"), "path")
	kit, err := Find(self, environment.Of(nil))
	if err != nil || kit.Nvcc != newest || kit.From != "Python packages" {
		t.Errorf("%+v, %v", kit, err)
	}
	kit, err = Find(self, environment.Of([]string{"PATH=" + at("bin")}))
	if err != nil || kit.Nvcc != inPath {
		t.Errorf("%+v, %v", kit, err)
	}
	other := drivertest.Program(t, at("e/bin/gnvcc"), "other")
	if kit, err := Find(other, environment.Of(nil)); err == nil && kit.From == "Python packages" {
		t.Errorf("another environment's: %+v", kit)
	}
}
