// The facts: processor, GPU and driver, toolkit, commit. What can't be found out is left empty,
// never guessed.

package lab

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// Machine is what every raw result has with it.
type Machine struct {
	Time    time.Time
	CPU     string
	Cores   int    // that this process may use
	Load    string // load average at the start
	Kernel  string // of the operating system
	GPU     string `json:",omitempty"`
	Driver  string `json:",omitempty"`
	Clocks  string `json:",omitempty"` // SM and memory clock at the start
	Nvcc    string // path
	Toolkit string // "13.0, V13.0.88"
	Gnvcc   string // path
	Commit  string // of gnvcc's sources, "+" behind it where they were changed
}

var release = regexp.MustCompile(`release ([0-9.]+, V[0-9.]+)`)

// Gather asks the machine. commit may be empty: then git is asked, in the folder of the sources
// (the working directory).
func Gather(ctx context.Context, nvcc, gnvcc, commit string) Machine {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	f := Machine{Time: time.Now().UTC().Truncate(time.Second), Cores: runtime.NumCPU(), Nvcc: nvcc,
		Gnvcc: gnvcc, Commit: commit}
	f.CPU = field("/proc/cpuinfo", "model name")
	f.Load = strings.Join(first(strings.Fields(content("/proc/loadavg")), 3), " ")
	f.Kernel = strings.TrimSpace(content("/proc/sys/kernel/osrelease"))
	if m := release.FindStringSubmatch(output(ctx, nvcc, "--version")); m != nil {
		f.Toolkit = m[1]
	}
	if f.Commit == "" {
		if head := strings.TrimSpace(output(ctx, "git", "rev-parse", "--short=12", "HEAD")); head != "" {
			f.Commit = head
			if output(ctx, "git", "status", "--porcelain", "--untracked-files=no") != "" {
				f.Commit += "+"
			}
		}
	}
	if gpu := output(ctx, "nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem",
		"--format=csv,noheader"); gpu != "" {
		line, _, _ := strings.Cut(gpu, "\n") // the first GPU, which is what programs take
		parts := strings.Split(line, ",")
		for len(parts) < 4 {
			parts = append(parts, "")
		}
		f.GPU, f.Driver = strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
		f.Clocks = strings.TrimSpace(parts[2]) + "," + parts[3]
	}
	return f
}

// Toolkit is the folder that an nvcc belongs to, symbolic links followed.
func Toolkit(nvcc string) string {
	if real, err := filepath.EvalSymlinks(nvcc); err == nil {
		nvcc = real
	}
	return filepath.Dir(filepath.Dir(nvcc))
}

// String is one line for people.
func (f Machine) String() string {
	parts := []string{f.CPU}
	if f.GPU != "" {
		parts = append(parts, f.GPU+", driver "+f.Driver)
	}
	return strings.Join(append(parts, "CUDA "+f.Toolkit, "gnvcc "+f.Commit), "; ")
}

func output(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

func content(path string) string {
	b, _ := os.ReadFile(path) // no file: the fact stays empty
	return string(b)
}

func field(path, name string) string {
	lines := bufio.NewScanner(strings.NewReader(content(path)))
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func first(s []string, n int) []string { return s[:min(n, len(s))] }
