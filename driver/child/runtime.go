package child

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// When Go's runtime gives up: no thread to be had (RLIMIT_NPROC, a container's pids.max), no memory (ulimit -v)
// or file (ulimit -n), epoll refused by seccomp, a panic that no one caught, a fault. It says so on stderr and exits with 2, which would be the end
// of a build that nvcc itself can do. So the first such word makes this process the tool: a stage becomes
// nvcc's tool, a face nvcc. The runtime prints nothing in either for another reason, GODEBUG aside.
//
// The variable has its value from the linker, so this holds from the runtime's first instruction on. The
// code runs where the runtime stands: without a processor, perhaps on a signal's stack. It calls nothing
// but the system, and keeps to memory that it maps itself.

//go:linkname overrideWrite runtime.overrideWrite
var overrideWrite func(fd uintptr, p unsafe.Pointer, n int32) int32 = written

// running is the tool that is at work as a child: two must not write one file.
var running atomic.Int32

//go:nosplit
func written(fd uintptr, p unsafe.Pointer, n int32) int32 {
	if fd == 2 {
		becomeInstead()
	}
	r, _, e := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(p), uintptr(n))
	if e != 0 {
		return -int32(e)
	}
	return int32(r)
}

// mostWords bounds what a process is started with, bytes (Linux: at most 6 MB of words and pointers);
// fewWords is for where so much memory is not to be had (ulimit -v).
const mostWords, fewWords = 8 << 20, 128 << 10

// asTool and asNvcc are what sh -c does with the words that follow. nvcc is looked for as driver/toolkit
// does it, links aside; $0 is gnvcc's own file.
const (
	asTool = "exec \"$@\"\x00"
	asNvcc = `IFS=:; set -f
try() { [ "$n" -ef "$0" ] || [ ! -x "$n" ] || [ ! -f "${n%/*}/nvcc.profile" ] || exec "$n" "$@"; }
n=$GNVCC_NVCC; try "$@"
for n in "$CUDA_HOME/bin" "$CUDA_PATH/bin" $PATH /usr/local/cuda/bin; do n=$n/nvcc; try "$@"; done
set +f
for n in "${GNVCC_TOOLKITS:-${XDG_DATA_HOME:-$HOME/.local/share}/gnvcc/toolkits}"/*/bin/nvcc; do :; done; try "$@"
echo "gnvcc: out of processes or memory (ulimit -u, pids.max), and nvcc is not found: set GNVCC_NVCC" >&2; exit 1
` + "\x00"
)

// becomeInstead returns where this process is neither a stage nor a face, or there is no way.
func becomeInstead() {
	size := uintptr(mostWords)
	words := mapped(4*size + 1<<12)
	if words == 0 {
		size = fewWords
		if words = mapped(4*size + 1<<12); words == 0 {
			return
		}
	}
	settings, argv, envp, self := words+size, words+2*size, words+3*size, words+4*size
	room := size / unsafe.Sizeof(size)
	nwords := slurp("/proc/self/cmdline\x00", words, size-1)
	nsettings := slurp("/proc/self/environ\x00", settings, size-1)
	script, ours := role(words, nwords)
	if script == "" || nwords == size-1 || nsettings == size-1 {
		return
	}
	at := uintptr(0)
	for from := uintptr(0); from < nsettings && at < room-1; from = next(settings, from) {
		if switchedOn(settings+from, "GNVCC_STRICT=") || switchedOn(settings+from, "GODEBUG=") {
			return
		}
		if !begins(settings+from, "GNVCC_STAGE=") && !begins(settings+from, "GNVCC_COMMAND=") &&
			!begins(settings+from, "GOMAXPROCS=") {
			put(envp, at, settings+from)
			at++
		}
	}
	syscall.RawSyscall6(syscall.SYS_READLINKAT, ^uintptr(99), cString("/proc/self/exe\x00"), self, 1<<12-1, 0, 0)
	put(argv, 0, cString("sh\x00"))
	put(argv, 1, cString("-c\x00"))
	put(argv, 2, cString(script))
	put(argv, 3, self)
	at = 4
	for from := uintptr(0); from < nwords && at < room-1; from = next(words, from) {
		if ours > 0 {
			ours--
			continue
		}
		put(argv, at, words+from)
		at++
	}
	if pid := running.Load(); pid > 0 {
		syscall.RawSyscall(syscall.SYS_KILL, uintptr(pid), uintptr(syscall.SIGKILL), 0)
		syscall.RawSyscall6(syscall.SYS_WAIT4, uintptr(pid), 0, 0, 0, 0, 0)
	}
	var none uint64 // signals, of which a handler blocks all
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 2, uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
	syscall.RawSyscall(syscall.SYS_EXECVE, cString("/bin/sh\x00"), argv, envp)
}

// role says what sh is to do in this process's place, and how many of its words are not for that. A verb is a
// word; nvcc's own arguments are options and files.
func role(words, n uintptr) (script string, ours int) {
	first := next(words, 0)
	if first >= n {
		return "", 0
	}
	if begins(words+first, "gnvcc-stage:") {
		// nvlink's word stands in front of its prefix as a rule (stage.Of)
		if second := next(words, first); second < n && begins(words+first, "gnvcc-stage:nvlink") &&
			!begins(words+second, "nvlink\x00") {
			return "exec nvlink \"$@\"\x00", 2
		}
		return asTool, 2
	}
	name := uintptr(0)
	for i := uintptr(0); at(words+i) != 0; i++ {
		if at(words+i) == '/' {
			name = i + 1
		}
	}
	if begins(words+name, "nvcc\x00") {
		return asNvcc, 1
	}
	for i := first; at(words+i) != 0; i++ {
		if c := at(words + i); c != '_' && (c < 'a' || c > 'z') {
			return asNvcc, 1
		}
	}
	return "", 0
}

// mapped is fresh memory, all 0, or 0.
func mapped(size uintptr) uintptr {
	p, _, e := syscall.RawSyscall6(syscall.SYS_MMAP, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE, ^uintptr(0), 0)
	if e != 0 {
		return 0
	}
	return p
}

// slurp reads the first bytes of a file, and says how many.
func slurp(name string, to, most uintptr) (n uintptr) {
	fd, _, e := syscall.RawSyscall6(syscall.SYS_OPENAT, ^uintptr(99), cString(name), syscall.O_RDONLY, 0, 0, 0)
	if e == syscall.EMFILE {
		// files that end with this program anyway
		for n := uintptr(3); n < 64; n++ {
			if flags, _, e := syscall.RawSyscall(syscall.SYS_FCNTL, n, syscall.F_GETFD, 0); e == 0 && flags&syscall.FD_CLOEXEC != 0 {
				syscall.RawSyscall(syscall.SYS_CLOSE, n, 0, 0)
			}
		}
		fd, _, e = syscall.RawSyscall6(syscall.SYS_OPENAT, ^uintptr(99), cString(name), syscall.O_RDONLY, 0, 0, 0)
	}
	if e != 0 {
		return 0
	}
	for n < most {
		r, _, e := syscall.RawSyscall(syscall.SYS_READ, fd, to+n, most-n)
		if e != 0 || r == 0 {
			break
		}
		n += r
	}
	syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0)
	return n
}

// next is where the text behind the one at from begins.
func next(text, from uintptr) uintptr {
	for at(text+from) != 0 {
		from++
	}
	return from + 1
}

func begins(text uintptr, start string) bool {
	for i := range len(start) {
		if at(text+uintptr(i)) != start[i] {
			return false
		}
	}
	return true
}

// switchedOn: the setting is name's, and neither empty nor 0.
func switchedOn(setting uintptr, name string) bool {
	value := setting + uintptr(len(name))
	return begins(setting, name) && at(value) != 0 && !begins(value, "0\x00")
}

// Memory by its number: what is mapped here is none that Go knows of.

//go:nocheckptr
func at(p uintptr) byte { return *(*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))) }

//go:nocheckptr
func put(list, i, value uintptr) {
	p := list + i*unsafe.Sizeof(value)
	*(*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&p))) = value
}

func cString(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }
