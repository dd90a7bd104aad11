package compile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/job"
	"gnvcc/driver/scratch"
	"gnvcc/driver/toolkit"
	"gnvcc/rewrite"
)

// Advanced Controls Files (ptxas --apply-controls, 13.3 and later): small binary files, about 2 KB,
// with which NVIDIA's CompileIQ changes decisions of the compiler. ptxas takes one a call, of its
// own release only (one made for 13.3 is "Invalid compiler controls file" for 13.5), on every
// target (tried from sm_75 to sm_120), and writes its name into the cubin. NVIDIA says of them that
// they may make a compile fail or hang, or results wrong; so they come from the user alone, and are
// compared like everything that is not exact by construction.
//
// The store keeps the content, and recipes name its hash. What the user does to his file later
// changes nothing; where the store does not have the content (another machine, or it was trimmed),
// the build is nvcc's own.

// maxControls is the largest file that is taken, bytes.
const maxControls = 1 << 20

// limitControls bounds the trial of a file on an empty kernel.
const limitControls = 20 * time.Second

// KeepControls puts controls files of the user's into the store, and returns the hashes of their
// contents. A file that the toolkit's ptxas does not take is an error.
func KeepControls(ctx context.Context, store *cache.Store, kit toolkit.Toolkit,
	paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	tool, err := kit.Tool("ptxas")
	if err != nil {
		return nil, err
	}
	id, err := cache.FileKey(tool)
	if err != nil {
		return nil, fmt.Errorf("look at ptxas: %w", err)
	}
	version, err := toolkit.VersionOf(store, tool, id)
	if err != nil {
		return nil, err
	}
	if err := takesControls(version); err != nil {
		return nil, fmt.Errorf("%w (%s)", err, tool)
	}
	scratch, err := scratch.New()
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	defer scratch.Remove()
	dir := scratch.Path
	var hashes []string
	for _, path := range paths {
		content, err := readControls(path)
		if err != nil {
			return nil, fmt.Errorf("controls file: %w", err)
		}
		if err := tryControls(ctx, tool, dir, content); err != nil {
			return nil,
				fmt.Errorf(
					"controls file %s: ptxas %s does not take it: %w (such a file is for one release of ptxas)",
					path, version, err)
		}
		hash, err := store.PutObject(content)
		if err != nil {
			return nil, fmt.Errorf("keep %s: %w", path, err)
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

// readControls reads a file of the user's.
func readControls(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxControls:
		return nil, fmt.Errorf("%s has %d bytes: controls files have a few thousand", path, info.Size())
	}
	return os.ReadFile(path)
}

// takesControls says why a version of ptxas takes no controls files, nil if it does.
func takesControls(version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil || a < 13 || a == 13 && b < 3 {
		return fmt.Errorf("ptxas %s takes no controls files: 13.3 and later do", version)
	}
	return nil
}

// tryControls has ptxas assemble an empty kernel with a controls file.
func tryControls(ctx context.Context, tool, dir string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, limitControls)
	defer cancel()
	in, controls := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "controls")
	const empty = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"
	if err := errors.Join(os.WriteFile(in, []byte(empty), 0o600), os.WriteFile(controls, content,
		0o600)); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, tool, "-arch=sm_90", in, "-o",
		filepath.Join(dir, "out.cubin"), rewrite.Controls+"="+controls).CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return errors.New(last)
	}
	return err
}

// resolve puts the files that flags of a recipe name by hash in the place of the hashes.
func (b *Workbench) resolve(j *job.Job, flags []string) ([]string, error) {
	out := make([]string, len(flags))
	for i, flag := range flags {
		out[i] = flag
		hash, ok := strings.CutPrefix(flag, rewrite.Controls+"=")
		if !ok {
			continue
		}
		if err := takesControls(j.Version); err != nil {
			return nil, err
		}
		_, err := b.Store.Object(hash) // compares the content
		var path string
		if err == nil {
			path, err = b.Store.ObjectFile(hash)
		}
		if err != nil {
			return nil,
				fmt.Errorf(
					"the controls file of the recipe is not in the store (gnvcc tune --controls puts it there): %w", err)
		}
		out[i] = rewrite.Controls + "=" + path
	}
	return out, nil
}
