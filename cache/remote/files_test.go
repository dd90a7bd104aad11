// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
)

// files makes an artefact of files, under a tag of captures.
func files(t *testing.T, r *Remote, has map[string]string) *Index {
	t.Helper()
	dir := t.TempDir()
	for name, text := range has {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	x, err := PackFiles(dir, slices.Collect(maps.Keys(has)), Blobs(r.dir))
	if err != nil {
		t.Fatal(err)
	}
	x.Tag, x.Time, x.Captures = "one.captures", time.Unix(60, 0).UTC(), 1
	x.Expires = time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	return x
}

// TestFiles: what is packed comes out of it again, in the place of what was there; the same files
// make the same shards; and no artefact that is wrong in one place takes that place.
func TestFiles(t *testing.T) {
	store, r := opened(t)
	r.Name, r.Reference = "one.captures", "host/team:one.captures"
	r.dir = filepath.Join(store.RemotesDir(), r.Name)
	if err := os.MkdirAll(Blobs(r.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	whole := error(nil)
	r.Sound.File = func(name string, content []byte) error {
		if string(content) == "wrong" {
			return errors.New("unsound")
		}
		return nil
	}
	r.Sound.Whole = func(string, int) error { return whole }
	check := func(x *Index) error {
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = r.Check("one.captures", text, "", nil)
		if err == nil {
			r.Tags["one.captures"] = Tag{Index: text}
		}
		return err
	}
	has := map[string]string{"launches/0a": "first", "chunks/0b": "second", "chunks/f": "third"}
	x := files(t, r, has)
	if y := files(t, r, has); !slices.Equal(x.Shards, y.Shards) {
		t.Error("the same files make other shards")
	}
	if err := check(x); err != nil {
		t.Fatal(err)
	}
	stands := func() {
		t.Helper()
		for name, text := range has {
			if b, err := os.ReadFile(filepath.Join(r.CapturesDir(), name)); string(b) != text {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	}
	stands()
	// A shard with one entry, as a forger may write it: its hash is right.
	forged := func(h tar.Header, content string) func(*Index) {
		return func(x *Index) {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			h.Size = int64(len(content))
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			w.Write([]byte(content))
			w.Close()
			x.Shards[0] = Shard{cache.Hash(b.Bytes()), int64(b.Len()), int64(b.Len()), 1}
			os.WriteFile(filepath.Join(Blobs(r.dir), x.Shards[0].Digest), b.Bytes(), 0o600)
		}
	}
	damaged := func(change func(b []byte) []byte) func(*Index) {
		return func(x *Index) {
			path := filepath.Join(Blobs(r.dir), x.Shards[0].Digest)
			b, _ := os.ReadFile(path)
			os.WriteFile(path, change(b), 0o600)
		}
	}
	for want, change := range map[string]func(*Index){
		"another hash":          damaged(func(b []byte) []byte { b[600] ^= 1; return b }),
		"another hash than":     damaged(func(b []byte) []byte { return b[:512] }),
		"has not arrived":       func(x *Index) { os.Remove(filepath.Join(Blobs(r.dir), x.Shards[0].Digest)) },
		`"../0a" has no place`:  forged(tar.Header{Name: "../0a", Typeflag: tar.TypeReg}, "x"),
		`"/0a" has no place`:    forged(tar.Header{Name: "/0a", Typeflag: tar.TypeReg}, "x"),
		`"0a" has no place`:     forged(tar.Header{Name: "0a", Typeflag: tar.TypeSymlink, Linkname: "/"}, ""),
		`"1a" has no place`:     forged(tar.Header{Name: "1a", Typeflag: tar.TypeReg}, "x"),
		"unsound":               forged(tar.Header{Name: "0a", Typeflag: tar.TypeReg}, "wrong"),
		"files where the index": func(x *Index) { x.Shards[0].Decisions++ },
		"incomplete":            func(x *Index) { whole = errors.New("incomplete") },
		"it expired on":         func(x *Index) { x.Expires = time.Now().Add(-time.Second) },
		"a day on which":        func(x *Index) { x.Expires = time.Time{} },
		"older than what":       func(x *Index) { x.Time = x.Time.Add(-time.Second) },
		`pushed as "two`:        func(x *Index) { x.Tag = "two.captures" },
	} {
		whole = nil
		y := files(t, r, map[string]string{"0a": "other"})
		change(y)
		if err := check(y); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		stands()
	}
	whole = nil
	// No recipes' tag takes captures, or has them.
	if text, err := json.Marshal(x); err != nil {
		t.Fatal(err)
	} else if _, err := ReadIndex(bytes.ReplaceAll(text, []byte("one.captures"), []byte("one")),
		"one"); err == nil {
		t.Error("captures stand as recipes")
	}
	// The last day passes.
	if err := r.Note(); err != nil {
		t.Fatal(err)
	}
	if dir, err := Captures(store, "one"); err != nil || dir != r.CapturesDir() {
		t.Errorf("%s, %v", dir, err)
	}
	x.Expires = time.Now().Add(-time.Second)
	text, _ := json.Marshal(x)
	r.Tags["one.captures"] = Tag{Index: text}
	if err := r.Note(); err != nil {
		t.Fatal(err)
	}
	if _, err := Captures(store, "one"); err == nil || !strings.Contains(err.Error(), "it expired on") {
		t.Errorf("expired: %v", err)
	}
	if _, err := os.Stat(r.CapturesDir()); err == nil {
		t.Error("what has expired lies there still")
	}
}
