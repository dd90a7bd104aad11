// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gnvcc/cache"
)

// Captures travel as decisions do: an index and sixteen shards, here tars of the folder's files by
// the first digit of their names. They have a tag of their own, TAG.captures, so that who pulls
// recipes never gets them; and a last day, in the index, which is what may be signed.

const capturesMark = ".captures"

// CapturesTag is the tag, reference or name of captures beside one of recipes.
func CapturesTag(tag string) string { return strings.TrimSuffix(tag, capturesMark) + capturesMark }

// IsCaptures tells whether one is of captures.
func IsCaptures(reference string) bool { return strings.HasSuffix(reference, capturesMark) }

// PackFiles makes the shards of files of a folder, under their hashes in the folder to.
func PackFiles(folder string, names []string, to string) (*Index, error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, err
	}
	var of [Shards][]string
	for _, name := range names {
		i := shardOf(path.Base(name))
		if i < 0 {
			return nil, fmt.Errorf("pack files: %q has no hash for a name", name)
		}
		of[i] = append(of[i], name)
	}
	x := &Index{Format: format, Shards: make([]Shard, Shards)}
	return x, eachShard(func(i int) error {
		s, err := packShard(folder, of[i], to)
		x.Shards[i] = s
		return err
	})
}

func packShard(folder string, names []string, to string) (s Shard, err error) {
	f, err := os.CreateTemp(to, ".tmp-*")
	if err != nil {
		return s, err
	}
	defer f.Close()
	sum := sha256.New()
	out := tar.NewWriter(io.MultiWriter(f, sum))
	slices.Sort(names)
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = out.WriteHeader(&tar.Header{Name: name, Size: int64(len(b)), Mode: 0o600})
		}
		if err == nil {
			_, err = out.Write(b)
		}
		if err != nil {
			return s, fmt.Errorf("pack files: %w", err)
		}
	}
	if err = out.Close(); err != nil {
		return s, err
	}
	s.Size, err = f.Seek(0, io.SeekCurrent)
	s.Unpacked, s.Decisions, s.Digest = s.Size, len(names), hex.EncodeToString(sum.Sum(nil))
	if err == nil && s.Size > MaxShard {
		err = fmt.Errorf("a shard of %d bytes: at most %d are taken, some 4 GB in all", s.Size, MaxShard)
	}
	return s, cmp.Or(err, os.Rename(f.Name(), filepath.Join(to, s.Digest)))
}

// CapturesDir is where files lie that were pulled.
func (r *Remote) CapturesDir() string { return filepath.Join(r.dir, "captures") }

// unpackFiles puts the files of an artefact whose shards have arrived into the place of those that
// were pulled before, if all of them are sound.
func (r *Remote) unpackFiles(x *Index) error {
	fresh := r.CapturesDir() + ".new"
	defer os.RemoveAll(fresh)
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	err := eachShard(func(i int) error {
		at := BlobPath(r.dir, x.Shards[i].Digest)
		err := x.unpackShard(i, at, fresh, r.Sound.File)
		if err != nil {
			return fmt.Errorf("shard %x: %w", i, err)
		}
		return nil
	})
	if err == nil {
		err = r.Sound.Whole(fresh, x.Captures)
	}
	if err == nil {
		err = os.RemoveAll(r.CapturesDir())
	}
	if err == nil {
		err = os.Rename(fresh, r.CapturesDir())
	}
	return err
}

func (x *Index) unpackShard(i int, at, to string, sound func(string, []byte) error) error {
	b, err := os.ReadFile(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it has not arrived")
	case err != nil:
		return err
	case int64(len(b)) != x.Shards[i].Size || cache.Hash(b) != x.Shards[i].Digest:
		return errors.New("its content has another hash than the index says")
	}
	in := tar.NewReader(bytes.NewReader(b))
	n, last := 0, ""
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := h.Name
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || name <= last ||
			shardOf(path.Base(name)) != i {
			return fmt.Errorf("%q has no place in it", name)
		}
		content, err := io.ReadAll(in)
		if err == nil {
			err = sound(name, content)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		if err := os.MkdirAll(filepath.Join(to, path.Dir(name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o600); err != nil {
			return err
		}
		last, n = name, n+1
	}
	if n != x.Shards[i].Decisions {
		return fmt.Errorf("%d files where the index says %d", n, x.Shards[i].Decisions)
	}
	return nil
}

// expired says that nobody is to use an artefact any more, nil where that may be used.
func (x *Index) expired() error {
	if x.Expires.IsZero() || time.Now().Before(x.Expires) {
		return nil
	}
	return fmt.Errorf("it expired on %s and is not used; who pushed it may push it again",
		x.Expires.Local().Format("2006-01-02 15:04"))
}

// Captured is the index of the captures that are here, nil where there are none.
func (r *Remote) Captured() *Index {
	for name, tag := range r.Tags {
		if x, err := ReadIndex(tag.Index, name); err == nil && IsCaptures(name) {
			return x
		}
	}
	return nil
}

// Expire takes captures away whose last day has passed, and says so.
func (r *Remote) Expire() error {
	x := r.Captured()
	if x == nil || x.expired() == nil {
		return nil
	}
	delete(r.Tags, x.Tag)
	return fmt.Errorf("%s: %w", r.Name, errors.Join(x.expired(), os.RemoveAll(r.CapturesDir()), r.Note()))
}

// Captures is the folder of captures that was pulled under a name, if they may still be used.
func Captures(store *cache.Store, name string) (string, error) {
	name = CapturesTag(name)
	r, err := read(filepath.Join(store.RemotesDir(), name))
	if err != nil {
		return "", fmt.Errorf("no captures were pulled as %q: %w", name, err)
	}
	if err := r.Expire(); err != nil {
		return "", err
	}
	_, err = os.Stat(r.CapturesDir())
	return r.CapturesDir(), err
}
