package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A file of a package; its path has no leading slash.
type file struct {
	path string
	mode fs.FileMode
	body []byte
}

// A release is what is packed for one machine.
type release struct {
	version  string // "1.0.0+g0123456"
	arch     string // Go's name
	programs []file // gnvcc and gnvcc-oci
	docs     []file // README.md and what it leads to, from the project's folder
}

// epoch is the time of every file in every package: zip has none before it.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func main() {
	version := flag.String("version", "", "of gnvcc")
	out := flag.String("out", "dist", "`folder` to write to")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: packages -version V -out FOLDER ARCH=PROGRAMS ...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := pack(*version, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func pack(version, out string, programs []string) error {
	r := release{version: version}
	var err error
	if r.docs, err = linked(".", []string{"README.md", "CHANGELOG.md", "LICENSE", "NOTICE",
		"install/gnvcc.cmake", "install/gnvcc-presets.json"}); err != nil {
		return fmt.Errorf("gather the documents: %w", err)
	}
	for _, p := range programs {
		arch, dir, _ := strings.Cut(p, "=")
		r.arch = arch
		if r.programs, err = below(dir); err != nil {
			return err
		}
		for i := range r.programs {
			r.programs[i].mode = 0o755
		}
		for _, form := range []func(release) (string, []byte, error){tarball, wheel} {
			name, body, err := form(r)
			if err != nil {
				return fmt.Errorf("make %s for %s: %w", name, arch, err)
			}
			if err := os.WriteFile(filepath.Join(out, name), body, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// below reads all files of a folder, in the order of their paths.
func below(dir string) ([]file, error) {
	var out []file
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out = append(out, file{filepath.ToSlash(rel), 0o644, body})
		return err
	})
	return out, err
}

// tarball is for those who put the program into PATH themselves.
func tarball(r release) (string, []byte, error) {
	top := fmt.Sprintf("gnvcc-%s-linux-%s", r.version, r.arch)
	files := slices.Concat(r.programs, r.docs)
	for i := range files {
		files[i].path = top + "/" + files[i].path
	}
	body, err := tarred(files)
	return top + ".tar.gz", body, err
}

// tarred packs files and their folders, in order.
func tarred(files []file) ([]byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	made := map[string]bool{".": true}
	var folder func(p string) error
	folder = func(p string) error {
		if made[p] {
			return nil
		}
		made[p] = true
		if err := folder(path.Dir(p)); err != nil {
			return err
		}
		return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: p + "/", Mode: 0o755,
			ModTime: epoch, Format: tar.FormatGNU})
	}
	for _, f := range files {
		if err := folder(path.Dir(f.path)); err != nil {
			return nil, err
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: int64(f.mode),
			Size: int64(len(f.body)), ModTime: epoch, Format: tar.FormatGNU}); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.body); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
