package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
)

// Which build asks for a recipe. An approximate decision belongs to the files that the tuned program was built from: it
// is taken where one of these is built again, and nowhere else. Such a file is named by its path, with symbolic links followed.

// An asker is a build that looks recipes up: what it writes, and the GPU that it is for.
type asker struct {
	files  func() []string // what the command writes; asked for only where it matters
	device string          // GNVCC_DEVICE, "" if it is not set
}

// askerOf is the asker for a recorded command; getenv reads the build's environment.
func askerOf(store *cache.Store, command string, getenv func(string) string) asker {
	return asker{device: getenv(varDevice), files: sync.OnceValue(func() []string {
		c, err := loadCommand(store, command)
		if err != nil {
			return nil
		}
		return writes(c)
	})}
}

// covered tells whether a build is one of those that a decision is for.
func (a asker) covered(list []string) bool {
	for _, file := range a.files() {
		for _, of := range list {
			if of == file || strings.HasSuffix(of, "/") && strings.HasPrefix(file, of) {
				return true
			}
		}
	}
	return false
}

// writes names the files that a command writes. Where it has no -o they are named as nvcc names them.
func writes(c cache.Command) []string {
	l := lineOf(c)
	if l.Output != "" {
		return []string{followed(l.Target(c.Dir))}
	}
	dir := toolcmd.Inside(c.Dir, l.OutDir)
	extension := map[string]string{"compile": ".o", "cubin": ".cubin", "fatbin": ".fatbin", "ptx": ".ptx"}[l.Phase]
	if extension == "" {
		return []string{followed(filepath.Join(dir, "a.out"))}
	}
	var out []string
	for _, in := range l.Inputs {
		base := filepath.Base(in)
		out = append(out, followed(filepath.Join(dir, strings.TrimSuffix(base, filepath.Ext(base))+extension)))
	}
	return out
}

// followed is a path with the symbolic links of its folder followed: one file may be reached by several ways.
func followed(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, filepath.Base(path))
}

// errAmbiguous is wrapped where it can't be told which build a program came from.
var errAmbiguous = errors.New("it can't be told which build approximates")

// Askers names what a kernel of a program was built into, of all that the same code was built into. That is the program itself; else what lies
// nearest to it; else what lies nearest to the folder that gnvcc was called in. Two folders that are as near as each other are an error.
func (s *Source) Askers(program, dir string) ([]string, error) {
	all := s.outputs
	var there []string
	for _, file := range all {
		if _, err := os.Stat(file); err == nil {
			there = append(there, file)
		}
	}
	if len(there) > 0 {
		all = there
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: it is not on record what %s was built into; -for FOLDER says whose builds may", errAmbiguous, s.Kernel)
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	if slices.Contains(all, program) {
		return []string{program}, nil
	}
	for _, from := range []string{filepath.Dir(program), dir} {
		if all = nearest(all, from); sameFolder(all) {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%w: the same code was built into %s; -for FOLDER says whose builds may", errAmbiguous, strings.Join(all, " and "))
}

// nearest are the files that have most folders in common with one.
func nearest(files []string, dir string) []string {
	common := func(file string) int {
		a, b := strings.Split(filepath.Dir(file), "/"), strings.Split(dir, "/")
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		return n
	}
	var out []string
	best := -1
	for _, f := range files {
		switch n := common(f); {
		case n > best:
			best, out = n, []string{f}
		case n == best:
			out = append(out, f)
		}
	}
	return out
}

func sameFolder(files []string) bool {
	return !slices.ContainsFunc(files, func(f string) bool { return filepath.Dir(f) != filepath.Dir(files[0]) })
}

// outputsOf lists what a cubin was built into, by all commands on record.
func (ix *index) outputsOf(store *cache.Store, cubin string) []string {
	var out []string
	for _, a := range ix.assemblies[cubin] {
		if c, err := loadCommand(store, a.Command); err == nil {
			out = append(out, writes(c)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
