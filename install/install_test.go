package install

// install/toolkit finishes or leaves nothing, and says why. Its helpers (pip, apt) are stood in for
// by scripts here, so that no test needs the network; that the real ones work is shown by every run
// of CI, which installs with them.

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A machine is a place for toolkits, and a PATH on which the named tools are scripts of the test's
// own.
type machine struct {
	t     *testing.T
	root  string // $GNVCC_TOOLKITS
	tools string // first in PATH
	env   []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED: no bash here")
	}
	dir := t.TempDir()
	m := &machine{t: t, root: filepath.Join(dir, "toolkits"), tools: filepath.Join(dir, "tools")}
	if err := os.Mkdir(m.tools, 0o755); err != nil {
		t.Fatal(err)
	}
	m.env = []string{"GNVCC_TOOLKITS=" + m.root, "PATH=" + m.tools + ":/usr/bin:/bin", "HOME=" + dir}
	return m
}

// tool puts a shell script onto the machine's PATH, or with a slash in its name anywhere below the
// test's folder.
func (m *machine) tool(name, script string) string {
	m.t.Helper()
	path := filepath.Join(m.tools, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// pip stands in for python3 -m pip: the script runs with $target set to what --target names.
func (m *machine) pip(script string) {
	m.tool("python3", `case "$3" in --version) exit 0 ;; esac
while [ $# -gt 0 ]; do [ "$1" = --target ] && target=$2; shift; done
`+script)
}

// goodKit lays out in $target what the packages of a toolkit hold, with an nvcc that writes its
// output file.
const goodKit = `kit=$target/nvidia/cu13; mkdir -p $kit/bin $kit/lib $kit/nvvm
echo > $kit/lib/libcudart.so.13; echo > $kit/bin/ptxas; chmod +x $kit/bin/ptxas
printf '#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && echo > "$2"; shift; done\n' > $kit/bin/nvcc; chmod +x $kit/bin/nvcc`

func (m *machine) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	self, err := filepath.Abs("toolkit")
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = m.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

func (m *machine) run(code int, args ...string) string {
	m.t.Helper()
	cmd, out := m.command(args...)
	err := cmd.Run()
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		m.t.Fatal(err)
	}
	if got != code {
		m.t.Fatalf("toolkit %v: exit code %d, want %d; it says\n%s", args, got, code, out)
	}
	return out.String()
}

// nothing checks that the place for toolkits is empty, hidden scratch folders included.
func (m *machine) nothing() {
	m.t.Helper()
	left, err := os.ReadDir(m.root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	for _, e := range left {
		m.t.Errorf("left behind: %s", e.Name())
	}
}

func want(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("does not say %q:\n%s", w, text)
		}
	}
}

func TestInstall(t *testing.T) {
	m := newMachine(t)
	m.tool("g++", "")
	m.pip(goodKit)
	want(t, m.run(0, "13.0"), "fetching", "toolkit 13.0 is in "+m.root+"/13.0", "export CUDA_HOME="+
		m.root+"/13.0 PATH="+m.root+"/13.0/bin:$PATH")
	for _, f := range []string{"bin/nvcc", "lib64", "lib/libcudart.so"} {
		if _, err := os.Stat(filepath.Join(m.root, "13.0", f)); err != nil {
			t.Error(err)
		}
	}
	if got := strings.TrimSpace(m.run(0, "--path", "13.0")); got != m.root+"/13.0" {
		t.Errorf("--path prints %q", got)
	}
	if left, _ := os.ReadDir(m.root); len(left) != 1 {
		t.Errorf("beside the toolkit there is something else: %v", left)
	}
	m.pip("exit 9") // a second run must not need it
	want(t, m.run(0, "13.0"), "already", "export CUDA_HOME=")
}

// There is a libcuda.so to link with, also in a toolkit that an older install/toolkit put there;
// whoever runs it is told.
func TestStubs(t *testing.T) {
	m := newMachine(t)
	m.tool("g++", "")
	m.pip(goodKit + `; mkdir -p $kit/include; cat > $kit/include/cuda.h <<'END'
#define cuMemAlloc                          cuMemAlloc_v2
#define cuLaunchKernel                      __CUDA_API_PTSZ(cuLaunchKernel)
#define cuMemcpy                            __CUDA_API_PTDS(cuMemcpy)
CUresult CUDAAPI cuInit(unsigned int Flags);
END`)
	m.run(0, "13.0")
	path := filepath.Join(m.root, "13.0", "lib64", "stubs", "libcuda.so")
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("SKIPPED: no C compiler here")
	}
	look := func() {
		t.Helper()
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		symbols, err := f.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range symbols {
			names = append(names, s.Name)
		}
		for _, name := range []string{"cuInit", "cuMemAlloc", "cuMemAlloc_v2", "cuLaunchKernel",
			"cuLaunchKernel_ptsz", "cuMemcpy_ptds"} {
			if !slices.Contains(names, name) {
				t.Errorf("no %s in %v", name, names)
			}
		}
		if name, err := f.DynString(elf.DT_SONAME); err != nil ||
			!slices.Equal(name, []string{"libcuda.so.1"}) {
			t.Errorf("soname %v, %v", name, err)
		}
	}
	look()
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	m.run(0, "13.0")
	look()
}

// NOTICE names what gnvcc is linked with.
func TestNotice(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: no go command here")
	}
	text, err := os.ReadFile("../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "gnvcc/cmd/gnvcc").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	if len(modules) == 0 {
		t.Fatal("go list names no module")
	}
	for _, m := range modules {
		if !strings.Contains(string(text), "\n"+m+": LICENSE") && !strings.Contains(string(text),
			"\n"+m+": COPYING") {
			t.Errorf("NOTICE has no licence of %s: make notice", m)
		}
	}
}

func TestRefused(t *testing.T) {
	m := newMachine(t)
	want(t, m.run(1, "9.9"), "no toolkit 9.9 here", "13.0")
	want(t, m.run(1, "13"), "no toolkit 13 here") // no prefix of a version
	want(t, m.run(1, "..*"), "no toolkit")
	if out := m.run(1, "--path", "13.0"); out != "" {
		t.Errorf("--path of a toolkit that is not there says %q", out)
	}
	want(t, m.run(0, "--list"), "11.8\n", "12.4\n", "13.0\n", "13.5\n")
	want(t, m.run(0, "--help"), "install/toolkit --ensure")
	m.nothing()
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct{ script, says string }{
		"pip fails":         {"echo no matching distribution >&2; exit 1", "pip could not fetch"},
		"pip stops halfway": {goodKit + "; exit 1", "pip could not fetch"},
		"another layout":    {"mkdir -p $target/nvidia/cu14", "not laid out as expected"},
		"it does not build": {goodKit + `; printf '#!/bin/sh\nexit 2\n' > $kit/bin/nvcc`,
			"does not build a one-line program"},
		"pip is not at hand": {"exit 0", "no pip"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.tool("g++", "")
			m.pip(c.script)
			if name == "pip is not at hand" {
				m.tool("python3", "exit 1")
			}
			want(t, m.run(1, "13.0"), c.says)
			m.nothing()
		})
	}
}

func TestDebianFailures(t *testing.T) {
	const targets = `case "$*" in *indextargets*) echo http://mirror.invalid/debian/ main bookworm ;; `
	for name, c := range map[string]struct{ apt, says string }{
		"no Debian source":   {`case "$*" in *indextargets*) echo http://mirror.invalid/ubuntu/ main noble ;; esac`, "no Debian source"},
		"unreachable mirror": {targets + `*update*) exit 100 ;; esac`, "apt could not read bookworm"},
		"no such packages":   {targets + `*download*) exit 100 ;; esac`, "apt could not fetch"},
		"broken package": {targets + `*download*) echo broken > nvidia-cuda-toolkit_1.deb ;; esac`,
			"could not unpack nvidia-cuda-toolkit_1.deb"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat("/usr/share/keyrings/debian-archive-keyring.gpg"); err != nil &&
				name != "no Debian source" {
				t.Skip("SKIPPED: this is no Debian, its key ring is missing")
			}
			m := newMachine(t)
			m.tool("apt-get", c.apt)
			m.tool("dpkg-deb", "exit 2")
			want(t, m.run(1, "11.8"), c.says)
			m.nothing()
		})
	}
}

func TestInterrupted(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			t.Logf("SKIPPED: %v is ignored here (nohup), and so by every process that is started", sig)
			continue
		}
		m := newMachine(t)
		started := filepath.Join(m.tools, "started")
		m.pip(goodKit + "; echo > " + started + "; exec sleep 30")
		cmd, out := m.command("13.0")
		// as a terminal does: the whole group gets the signal
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i++ {
			if _, err := os.Stat(started); err == nil {
				break
			}
			if i == 500 {
				t.Fatal("pip was not started within 5 s")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := syscall.Kill(-cmd.Process.Pid, sig); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%v: exit code 0; it says\n%s", sig, out)
		}
		m.nothing()
	}
}

func TestEnsure(t *testing.T) {
	m := newMachine(t)
	m.tool("g++", "")
	m.pip(goodKit)

	// gnvcc under the name nvcc is no toolkit, neither is a folder without ptxas.
	gnvcc := m.tool("../elsewhere/gnvcc", "")
	if err := os.Symlink(gnvcc, filepath.Join(m.tools, "nvcc")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/usr/local/cuda/bin/nvcc"); err == nil {
		t.Log("/usr/local/cuda is here: that --ensure installs where nothing is cannot be tried")
	} else {
		out := m.run(0, "--ensure")
		want(t, out, m.root+"/13.0\n")
	}

	real := m.tool("../real/bin/nvcc", "")
	m.tool("../real/bin/ptxas", "")
	home := filepath.Dir(filepath.Dir(real))
	m.env = append(m.env, "CUDA_HOME="+home)
	if got := strings.TrimSpace(m.run(0, "--ensure")); got != home {
		t.Errorf("--ensure with CUDA_HOME=%s prints %s", home, got)
	}
}
