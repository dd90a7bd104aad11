package toolkit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gnvcc/driver/environment"
)

// Finding the real nvcc: GNVCC_NVCC, then the toolkit that gnvcc stands in as nvcc (links.go), then CUDA_HOME and CUDA_PATH, then PATH, then NVIDIA's Python
// packages where gnvcc itself is installed as one, then /usr/local/cuda, then what install/toolkit
// put here, its default first. Whatever is gnvcc itself is passed by (the
// same file: a link to us, a hard link), since gnvcc may well be called nvcc and stand first in
// PATH.
//
// Two things that a look at one's own file does not find: another copy of gnvcc, and a script
// called nvcc that calls gnvcc. Both would go round for ever. So the chain of what was run in
// nvcc's place travels in GNVCC_CHAIN, and what stands there is passed by too; maxDepth ends
// whatever goes round in spite of it.

// A Toolkit is a CUDA toolkit's compiler.
type Toolkit struct {
	// the path to run it by; its folder is what nvcc takes its tools and its nvcc.profile from
	Nvcc string
	// what named it: "GNVCC_NVCC", "links" (next to gnvcc, links.go), "CUDA_HOME", "CUDA_PATH", "PATH", "Python packages",
	// "/usr/local/cuda", "install/toolkit"
	From string
}

// Dir is the toolkit's root: nvcc lies in its bin.
func (t Toolkit) Dir() string { return filepath.Dir(filepath.Dir(t.Nvcc)) }

// Tool is the path of a tool of the toolkit, such as ptxas or cuobjdump: beside nvcc, else from
// PATH.
func (t Toolkit) Tool(name string) (string, error) {
	dir := filepath.Dir(t.Nvcc)
	for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, "..", "nvvm", "bin",
		name)} {
		if executable(path) {
			return path, nil
		}
	}
	if path := LookPath(name, os.Getenv("PATH")); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("%s is neither next to %s nor in PATH", name, t.Nvcc)
}

// errNotFound is what Find says when there is no nvcc.
var errNotFound = errors.New(
	"no nvcc was found (looked at GNVCC_NVCC, CUDA_HOME, CUDA_PATH, PATH, Python packages next to gnvcc, /usr/local/cuda, and GNVCC_TOOLKITS or ~/.local/share/gnvcc/toolkits); set GNVCC_NVCC to the real one, or install one with install/toolkit")

// defaultToolkit is where NVIDIA's installer puts the toolkit.
const defaultToolkit = "/usr/local/cuda"

// Find finds the real nvcc. self is gnvcc's own file, as os.Executable gives it. A variable that is
// set to something that can't be used is passed by like an empty one, save GNVCC_NVCC: whoever sets
// that wants it, and nothing else.
func Find(self string, env *environment.Environment) (Toolkit, error) {
	selfInfo, _ := os.Stat(self)
	// unfit says why a file is not to be run as nvcc, "" if it may be.
	unfit := func(path string) string {
		info, err := os.Stat(path)
		switch {
		case err != nil || info.IsDir() || info.Mode()&0o111 == 0:
			return "not a program that can be run"
		case selfInfo != nil && os.SameFile(info, selfInfo):
			return "that is gnvcc itself"
		case passes(env.Chain, info):
			return "that calls gnvcc again"
		}
		return ""
	}
	usable := func(path string) bool { return unfit(path) == "" }
	if path := env.Nvcc; path != "" {
		why := ""
		if strings.Contains(path, "/") {
			why = unfit(path)
		} else if path = lookPathFunc(path, env.Get("PATH"), usable); path == "" {
			why = "no such program in PATH"
		}
		if why != "" {
			return Toolkit{}, fmt.Errorf("GNVCC_NVCC is %q: %s; set it to the real nvcc", env.Nvcc, why)
		}
		return Toolkit{home(path), "GNVCC_NVCC"}, nil
	}
	nvccIn := func(dirs ...string) (paths []string) {
		for _, dir := range dirs {
			if dir != "" {
				paths = append(paths, filepath.Join(dir, "bin", "nvcc"))
			}
		}
		return paths
	}
	for _, place := range []struct {
		from  string
		paths func() []string
	}{
		{"links", func() []string { return []string{behind(self)} }},
		{"CUDA_HOME", func() []string { return nvccIn(env.Get("CUDA_HOME")) }},
		{"CUDA_PATH", func() []string { return nvccIn(env.Get("CUDA_PATH")) }},
		{"PATH", func() []string { return []string{lookPathFunc("nvcc", env.Get("PATH"), usable)} }},
		{"Python packages", func() []string { return inPython(self) }},
		{defaultToolkit, func() []string { return nvccIn(defaultToolkit) }},
		{"install/toolkit", func() []string { return nvccIn(installed(env)...) }},
	} {
		for _, path := range place.paths() {
			if usable(path) {
				return Toolkit{home(path), place.from}, nil
			}
		}
	}
	return Toolkit{}, notFound(env)
}

// inPython lists, the newest first, the nvcc of NVIDIA's packages for Python (nvidia-cuda-nvcc 13 and
// later, which with nvidia-nvvm, nvidia-cuda-crt and nvidia-cuda-runtime unpack into one folder) in
// the environment that gnvcc is installed in: ENV/bin/gnvcc, ENV/lib/python3.11/site-packages/nvidia/cu13.
func inPython(self string) []string {
	env := filepath.Dir(filepath.Dir(self))
	list, _ := filepath.Glob(filepath.Join(escaped(env), "lib", "python3*", "site-packages", "nvidia",
		"cu[0-9]*", "bin", "nvcc"))
	slices.Reverse(list)
	return list
}

// escaped is a path as a pattern of filepath.Glob that only it matches.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// installed gives the folders of the toolkits that install/toolkit put onto this machine: the one that its
// link "default" names, which is the one that builds had when a second came, then the newest first. It has the
// same words for the place.
func installed(env *environment.Environment) []string {
	root := env.Get(environment.Toolkits)
	if root == "" {
		data := env.Get("XDG_DATA_HOME")
		if data == "" && env.Get("HOME") != "" {
			data = filepath.Join(env.Get("HOME"), ".local", "share")
		}
		if data == "" {
			return nil
		}
		root = filepath.Join(data, "gnvcc", "toolkits")
	}
	entries, err := os.ReadDir(root)
	if err != nil || !filepath.IsAbs(root) {
		return nil
	}
	type release struct {
		dir          string
		major, minor int
	}
	var found []release
	for _, e := range entries {
		r := release{dir: filepath.Join(root, e.Name())}
		// none that is being put together
		if n, err := fmt.Sscanf(e.Name(), "%d.%d", &r.major, &r.minor); n == 2 && err == nil {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b release) int { return cmp.Or(b.major-a.major, b.minor-a.minor) })
	var dirs []string
	chosen, _ := os.Readlink(filepath.Join(root, "default"))
	for _, r := range found {
		if filepath.Base(r.dir) == filepath.Base(chosen) {
			dirs = append([]string{r.dir}, dirs...)
		} else {
			dirs = append(dirs, r.dir)
		}
	}
	return dirs
}

// home gives the path that nvcc is to be started by. nvcc looks for its tools in the folder of its
// argv[0] and does not follow links: a link that stands elsewhere (/usr/local/bin/nvcc) is followed
// here, unless its folder is a toolkit of its own.
func home(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for range 40 { // the kernel's own limit on links is 40
		if _, err := os.Lstat(filepath.Join(filepath.Dir(path), "nvcc.profile")); err == nil {
			return path
		}
		target, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return path
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// LookPath finds a program as a shell does; "" if there is none. exec.LookPath refuses relative
// folders of PATH, sh does not.
func LookPath(name, path string) string { return lookPathFunc(name, path, executable) }

func lookPathFunc(name, path string, usable func(string) bool) string {
	if strings.Contains(name, "/") {
		if usable(name) {
			return name
		}
		return ""
	}
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		if candidate := filepath.Join(dir, name); usable(candidate) {
			if !strings.Contains(candidate, "/") {
				candidate = "./" + candidate // Join has cleaned the "." away; exec would search PATH again
			}
			return candidate
		}
	}
	return ""
}

// Passed is what was run in nvcc's place so far, gnvcc's own copies and scripts, with a face of
// ours (self) and what it is about to run. Of each it has "device:inode", for a script with "pid/"
// in front, since a script is passed by only where it has just called us: elsewhere below it may
// rightly be the user's nvcc.
func Passed(env *environment.Environment, self, nvcc string) string {
	var links []string
	if env.Chain != "" {
		links = strings.Split(env.Chain, ",")
	}
	put := func(link string) {
		if !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	if info, err := os.Stat(self); err == nil {
		put(identify(info))
	}
	if info, err := os.Stat(nvcc); err == nil && IsScript(nvcc) {
		put(strconv.Itoa(os.Getpid()) + "/" + identify(info))
	}
	return strings.Join(links, ",")
}

func identify(info os.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return info.Name()
}

// passes tells whether a file stands in such a chain.
func passes(chain string, info os.FileInfo) bool {
	id := identify(info)
	for _, link := range strings.Split(chain, ",") {
		pid, file, script := strings.Cut(link, "/")
		if !script {
			file = link
		}
		if file != id {
			continue
		}
		if n, err := strconv.Atoi(pid); !script || err == nil && (n == os.Getpid() || n == os.Getppid()) {
			return true
		}
	}
	return false
}

// IsScript tells whether a file begins with #!.
func IsScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var start [2]byte
	_, err = io.ReadFull(f, start[:])
	return err == nil && string(start[:]) == "#!"
}
