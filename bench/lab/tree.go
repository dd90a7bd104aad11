// Copies of a program, with its surroundings, and the list of programs in a folder.

package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CopyProgram makes root/<source's name>/<folder> a copy of source/<folder>, and links everything that
// stands beside it, and beside source, since programs refer to ../common.h,
// ../other-program/reference.h and ../../data.
func CopyProgram(source, folder, root string) error {
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	inside := filepath.Join(root, filepath.Base(source))
	if err := os.MkdirAll(inside, 0o755); err != nil {
		return err
	}
	if err := linkAll(filepath.Dir(source), root, filepath.Base(source)); err != nil {
		return err
	}
	if err := linkAll(source, inside, folder); err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(inside, folder), os.DirFS(filepath.Join(source, folder)))
}

// linkAll links every entry of a folder into another, but for one.
func linkAll(from, into, except string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrPermission) {
		return nil // the folder above need not be ours to read
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(into, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Programs lists the programs of a source folder by name: those of a file, one a line, or else
// every folder that has a Makefile. folder is what a folder is called, % standing for the name;
// skip are names to leave out, with commas.
func Programs(source, file, folder, skip string) ([]string, error) {
	left := map[string]bool{}
	for _, name := range strings.Split(skip, ",") {
		left[strings.TrimSpace(name)] = true
	}
	var out []string
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(string(text), "\n") {
			line, _, _ = strings.Cut(line, "#")
			if name := strings.TrimSpace(line); name != "" && !left[name] {
				if strings.ContainsAny(name, "/ \t") {
					return nil, fmt.Errorf("%s: %q is no name of a folder", file, name)
				}
				out = append(out, name)
			}
		}
	} else {
		entries, err := os.ReadDir(source)
		if err != nil {
			return nil, err
		}
		before, after, _ := strings.Cut(folder, "%")
		for _, e := range entries {
			name, ok := strings.CutPrefix(e.Name(), before)
			if !ok {
				continue
			}
			if name, ok = strings.CutSuffix(name, after); !ok || name == "" || left[name] {
				continue
			}
			if _, err := os.Stat(filepath.Join(source, e.Name(), "Makefile")); err == nil {
				out = append(out, name)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no programs in %s", source)
	}
	return out, nil
}
