package compile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// errAmbiguous is wrapped where it isn't known which build a program came from.
var errAmbiguous = errors.New("it is not known which build asks for the approximation")

// Askers names what a kernel of a program was built into, of all that the same code was built into.
// That is the program itself; else what lies nearest to it; else what lies nearest to the folder
// that gnvcc was called in. Two folders that are as near as each other are an error.
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
		return nil,
			fmt.Errorf("%w: no record of what %s was built into; name the builds with --for FOLDER",
				errAmbiguous, s.Kernel)
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
	return nil, fmt.Errorf("%w: the same code was built into %s; name the builds with --for FOLDER",
		errAmbiguous, strings.Join(all, " and "))
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
	best := common(slices.MaxFunc(files, func(a, b string) int { return common(a) - common(b) }))
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return common(f) < best })
}

func sameFolder(files []string) bool {
	return !slices.ContainsFunc(files, func(f string) bool {
		return filepath.Dir(f) != filepath.Dir(files[0])
	})
}
