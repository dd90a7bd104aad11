package standing

import (
	"errors"
	"fmt"
	"os"

	"gnvcc/cache"
	"gnvcc/cache/lock"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// A lock file in a build: its decisions by the kernels' identities. A file of some hundred lines is
// read in some milliseconds.

// openLock gives a lock file's decisions.
func openLock(path string) (map[string][]cache.Decision, error) {
	text, err := ReadLock(path)
	var lines []lock.Line
	if err == nil {
		lines, err = ParseLock(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock file %s: %w", path, err)
	}
	out := map[string][]cache.Decision{}
	for _, l := range lines {
		d := l.Decision()
		d.From = path
		out[l.Identity] = append(out[l.Identity], d)
	}
	return out, nil
}

// ReadLock reads a lock file's text. The errors are without the path.
func ReadLock(path string) ([]byte, error) {
	text, err := cache.ReadRegular(path, 64<<20) // as package lock takes
	var known *os.PathError
	if errors.As(err, &known) {
		err = known.Err
	}
	return text, err
}

// ParseLock reads a lock file, recipes included. A recipe of a lever that this gnvcc does not know
// stays: its kernel alone is nvcc's own, with the reason.
func ParseLock(text []byte) ([]lock.Line, error) {
	return lock.Parse(text, func(l lock.Line) error {
		r, err := recipe.Parse(l.Recipe)
		if err != nil {
			return fmt.Errorf("recipe=%q: %w", l.Recipe, err)
		}
		if rewrite.Check(r) != nil {
			return nil // of another gnvcc; no build takes it
		}
		level, err := rewrite.ParseExactness(l.Exact)
		if exact := rewrite.ExactnessOf(r); err != nil || exact != rewrite.Approximate && level < exact {
			return fmt.Errorf("exact=%s: the recipe %q is %s at best", l.Exact, l.Recipe, exact)
		}
		if rewrite.ExactnessOf(r) == rewrite.Approximate {
			return fmt.Errorf(
				"recipe=%q approximates: approximate recipes are per user, and never in a lock file", l.Recipe)
		}
		return nil
	})
}
