package toolkit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A toolkit of links: a folder that is the toolkit but for its nvcc, which is gnvcc. It is for builds that know
// no other way to nvcc than CUDA_HOME/bin/nvcc (PyTorch's extensions without ninja), or that look where a link
// called nvcc leads to. gnvcc is copied there: a link would lead them to gnvcc's own folder.

// Links makes one in a folder that is new, empty, or one already.
func Links(dir, self string, kit Toolkit) error {
	bin := filepath.Join(dir, "bin")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if here, err := os.Readlink(filepath.Join(bin, "ptxas")); len(entries) > 0 && (err != nil || here == "") {
		return fmt.Errorf("%s holds something else: name a new folder", dir)
	}
	real, err := filepath.EvalSymlinks(kit.Dir())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, folder := range []string{"", "bin"} {
		list, err := os.ReadDir(filepath.Join(real, folder))
		if err != nil {
			return err
		}
		for _, e := range list {
			if folder == "" && e.Name() == "bin" || folder == "bin" && e.Name() == "nvcc" {
				continue
			}
			to := filepath.Join(dir, folder, e.Name())
			if _, err := os.Readlink(to); err == nil {
				os.Remove(to)
			}
			if err := os.Symlink(filepath.Join(real, folder, e.Name()), to); err != nil {
				return err
			}
		}
	}
	return copyProgram(self, filepath.Join(bin, "nvcc"))
}

// copyProgram puts a copy of a program under a name, whole or not at all: a build may be running the old one.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".nvcc-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(0o755)
	}
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		os.Remove(out.Name())
	}
	return err
}

// behind is the nvcc of the toolkit that a gnvcc in such a folder stands for, "" elsewhere.
func behind(self string) string {
	ptxas := filepath.Join(filepath.Dir(self), "ptxas")
	if to, err := os.Readlink(ptxas); err == nil && filepath.IsAbs(to) && filepath.Base(to) == "ptxas" {
		return filepath.Join(filepath.Dir(to), "nvcc")
	}
	return ""
}
