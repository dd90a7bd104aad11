package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Which folders are stores. GNVCC_STORE is a list with colons, as PATH is: the first one is the
// user's own, the others are read only, and may belong to anybody: an image's, a team's on a
// network file system. Of theirs nothing but the snapshot is ever opened, and of that no more than
// decisions and bans (package driver): no object, no memo, no compiled code.

// storeVariable is the list.
const storeVariable = "GNVCC_STORE"

// Dir says which folder the store is: the first of GNVCC_STORE, else gnvcc in XDG_CACHE_HOME, else
// ~/.cache/gnvcc. A list that begins with a colon leaves the first place to the latter two.
func Dir() (string, error) {
	first, _, _ := strings.Cut(os.Getenv(storeVariable), ":")
	if first != "" {
		if !filepath.IsAbs(first) {
			// Relative, it would be another store in each folder that a build runs in.
			return "", fmt.Errorf("find the store: GNVCC_STORE is %q: give it an absolute path", first)
		}
		return filepath.Clean(first), nil
	}
	// The XDG base directory specification: a path that is not absolute is invalid and is ignored.
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gnvcc"), nil
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "gnvcc"), nil
	}
	return "",
		errors.New(
			"find the store: none of GNVCC_STORE, XDG_CACHE_HOME and HOME is set to an absolute path: set GNVCC_STORE")
}

// Others are the stores behind one's own, in their order, each once. What is no absolute path is
// left out; the error names it.
func Others() (dirs []string, err error) {
	_, rest, _ := strings.Cut(os.Getenv(storeVariable), ":")
	own, _ := Dir()
	for _, dir := range strings.Split(rest, ":") {
		switch {
		case dir == "":
		case !filepath.IsAbs(dir):
			err = errors.Join(err, fmt.Errorf(
				"find the shared stores: %q in GNVCC_STORE: give it an absolute path", dir))
		case filepath.Clean(dir) != own && !slices.Contains(dirs, filepath.Clean(dir)):
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	return dirs, err
}

// Folders is the value of GNVCC_STORE that names a store and, behind it, those of others that are
// named now.
func Folders(own string) string {
	others, _ := Others()
	return strings.Join(append([]string{own}, others...), ":")
}

// OtherSnapshot opens a snapshot that is not one's own, on a disk of this machine (Store.Other: on
// any).
func OtherSnapshot(dir string) (*Snapshot, error) {
	return openSnapshot(filepath.Join(dir, snapName))
}
