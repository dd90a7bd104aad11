// Copies of a program, with its surroundings.

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree makes root/<source's name>/<folder> a copy of source/<folder>, and links everything that stands beside it, and
// beside source, since programs refer to ../common.h, ../other-program/reference.h and ../../data.
func copyTree(source, folder, root string) error {
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
