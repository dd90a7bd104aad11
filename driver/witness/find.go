package witness

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"

	"gnvcc/cache"
	"gnvcc/sim/fatbin"
)

// maxLinked is the largest program or shared library that Find lists, bytes: a folder may have
// hundreds of megabytes of somebody's CUDA libraries in it.
const maxLinked = 256 << 20

// Find lists the regular files in and below a folder that may hold device code, by their first
// bytes, whatever they are called. A path that is a file is that file alone, however large. Below
// skip, and in other stores, nothing is looked at. What can't be read is left out: it is somebody
// else's. ctx ends it.
func Find(ctx context.Context, folder, skip string) (out []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil
		case d.IsDir() && path != folder && (path == skip || d.Name() == ".git" ||
			slices.Contains(systems, path) || cache.IsStore(path)):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		kind := KindOf(path)
		if kind == fatbin.Linked && path != folder {
			if info, err := d.Info(); err != nil || info.Size() > maxLinked {
				return nil
			}
		}
		if kind != fatbin.None {
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// systems are folders of the kernel's, where nothing is built.
var systems = []string{"/proc", "/sys", "/dev", "/run"}

// KindOf looks at how a file begins.
func KindOf(path string) fatbin.Kind {
	f, _, err := cache.OpenRegular(path)
	if err != nil {
		return fatbin.None
	}
	defer f.Close()
	begin := make([]byte, fatbin.Enough)
	n, _ := f.ReadAt(begin, 0)
	return fatbin.KindOf(begin[:n])
}
