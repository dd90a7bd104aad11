package retune

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gnvcc/driver/standing"
	"gnvcc/policy/tuner"
)

// What gnvcc watch leaves to others: processors, the GPU while they use it, the battery.

// A Machine is what is looked at for that.
type Machine struct {
	HasDriver   func() bool                      // an NVIDIA driver is here
	Load        func() (percent int, known bool) // of the GPUs
	PowerSupply string                           // a folder for each battery and each cable
	Device      func() string                    // the GPU's name, "" where it isn't known
	Driver      func() string                    // its version, the same
}

// ThisMachine is the one that we run on.
func ThisMachine() Machine {
	return Machine{HasDriver: tuner.HasDriver, Load: gpuLoad, PowerSupply: "/sys/class/power_supply",
		Device: standing.GPU, Driver: tuner.DriverVersion}
}

// Jobs is how many processors are used at a time: two are left to builds.
func Jobs() int { return max(1, runtime.NumCPU()-2) }

// niceness is that of a watch and of all that it starts.
const niceness = 10

// LowerPriority lowers the priority of all threads; those that come later, and children, begin with
// it.
func LowerPriority() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness) // without it we are as others are
		}
	}
}

// onBattery reports whether the machine runs on its battery: one discharges, and no cable brings
// power. Batteries of mice and the like are no supply of the system's.
func (m Machine) onBattery() bool {
	field := func(dir, name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return strings.TrimSpace(string(text))
	}
	list, _ := filepath.Glob(filepath.Join(m.PowerSupply, "*"))
	discharging := false
	for _, dir := range list {
		switch kind := field(dir, "type"); {
		case field(dir, "scope") == "Device":
		case kind == "Battery":
			discharging = discharging || field(dir, "status") == "Discharging"
		case kind != "" && field(dir, "online") == "1":
			return false
		}
	}
	return discharging
}

// gpuUsers are the processes that have the device open by which CUDA reaches memory, without ours.
// Those of other users can't be looked into; gpuBusy sees them by what they do.
func gpuUsers() []int {
	var out []int
	parent := map[int]int{}
	list, _ := os.ReadDir("/proc")
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		parent[pid] = parentOf(dir)
		fds, _ := os.ReadDir(filepath.Join(dir, "fd"))
		if slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
			to, _ := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
			return strings.HasPrefix(to, "/dev/nvidia-uvm") || to == "/dev/dxg"
		}) {
			out = append(out, pid)
		}
	}
	self := os.Getpid()
	return slices.DeleteFunc(out, func(pid int) bool {
		for n := 0; pid > 1 && n < 64; n++ {
			if pid == self {
				return true
			}
			pid = parent[pid]
		}
		return false
	})
}

// parentOf reads the fourth field of stat, behind the name, which may hold anything.
func parentOf(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, "stat"))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	pid, _ := strconv.Atoi(fields[1])
	return pid
}

// busyFrom is the share of time, in percent, from which a GPU that we don't use is used by
// somebody.
const busyFrom = 10

// gpuLoad asks nvidia-smi how busy the GPUs are, percent; false where it can't say.
func gpuLoad() (percent int, known bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=utilization.gpu",
		"--format=csv,noheader,nounits").Output()
	if err != nil {
		return 0, false
	}
	for _, line := range strings.Fields(string(out)) {
		if n, err := strconv.Atoi(line); err == nil {
			percent, known = max(percent, n), true
		}
	}
	return percent, known
}

// loads asks for the GPUs' load, and keeps the answer for a while: nvidia-smi takes from 30 ms to 2
// s.
type loads struct {
	ask     func() (percent int, known bool)
	mu      sync.Mutex
	when    time.Time
	percent int
	known   bool
}

// lasting is how long an answer counts.
const lasting = 5 * time.Second

func (l *loads) now() (percent int, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.when) > lasting {
		l.percent, l.known = l.ask()
		l.when = time.Now()
	}
	return l.percent, l.known
}
