package tuner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/policy"
)

// What an order needs, brought into a folder that workers on other machines see: captures, and as
// much of the store as the kernel was built from. Everything is called by its hash, so that what
// several kernels need lies there once, and a worker notices what is not what it should be.

// bundle puts what a task needs into the folder.
func (s *spreading) bundle(t *task, shared string) (*bundle, error) {
	b := &bundle{Objects: filepath.Join(shared, "objects"), Agent: filepath.Join(shared, "agent"),
		Notebooks: map[string][]byte{}}
	store := s.Store
	if err := os.MkdirAll(b.Objects, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for workers: %w", err)
	}
	if err := bringFiles(filepath.Join(store.Path(), "agent"), b.Agent); err != nil {
		return nil, fmt.Errorf("bring the agent to the workers: %w", err)
	}
	ix := record.Read(store)
	had := map[string]bool{}
	object := func(hash string) error {
		if hash == "" || had[hash] {
			return nil
		}
		had[hash] = true
		content, err := store.Object(hash)
		if err != nil {
			return nil // it was trimmed, or is none: the search says what it misses
		}
		b.Hashes = append(b.Hashes, hash)
		if _, err := os.Stat(filepath.Join(b.Objects, hash)); err == nil {
			return nil
		}
		return cache.WriteFile(b.Objects, hash, content)
	}
	cubins := map[string]bool{}
	for _, j := range t.jobs {
		if err := s.capture(j, shared); err != nil {
			return nil, err
		}
		if cubins[j.Capture.Cubin] {
			continue
		}
		cubins[j.Capture.Cubin] = true
		var err error
		if s.Edited != nil {
			err = b.assembly(store, s.Edited.Assembly, j.Capture.Cubin, object)
		} else if a, ok := ix.Assembly(j.Capture.Cubin); ok {
			err = b.assembly(store, a, j.Capture.Cubin, object)
		} else if l, ok := ix.Link(j.Capture.Cubin); ok {
			err = b.link(store, ix, l, j.Capture.Cubin, object)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := b.past(store, t.kernel.Identity); err != nil {
		return nil, err
	}
	return b, b.notebooks(store)
}

// bringFiles copies the files of a folder that are not in another one yet.
func bringFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(to, e.Name())
		if _, err := os.Stat(path); err == nil || !e.Type().IsRegular() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err == nil {
			err = cache.WriteFile(to, e.Name(), b)
		}
		if err == nil {
			err = os.Chmod(path, 0o700)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// capture brings one, and those that its job names.
func (s *spreading) capture(j Job, shared string) error {
	to := filepath.Join(shared, "captures")
	err := s.w.Captures.Copy(j.Capture, to)
	if err == nil && j.Leader != nil {
		err = s.w.Captures.Copy(j.Leader, to)
	}
	if err == nil && j.Before != nil {
		err = s.w.Captures.Copy(j.Before, to)
	}
	return err
}

func (b *bundle) record(bucket, key string, value any) error {
	raw, err := json.Marshal(value)
	b.Records = append(b.Records, bundleRecord{bucket, key, raw})
	return err
}

// assembly is what a cubin was made from.
func (b *bundle) assembly(store *cache.Store, a cache.Assembly, key string,
	object func(string) error) error {
	err := errors.Join(b.record(cache.Assemblies, key, a), object(a.Command), object(a.PTX),
		object(a.Cubin))
	if t, ok := record.LoadTranslation(store, a.PTX); ok {
		b.Translations = append(b.Translations, t)
		err = errors.Join(err, object(t.Command), object(t.Input), object(t.PTX))
	}
	return err
}

// link is a device link with all that went into it.
func (b *bundle) link(store *cache.Store, ix *record.Index, l cache.Link, key string,
	object func(string) error) error {
	err := errors.Join(b.record(cache.Links, key, l), object(l.Command))
	for _, in := range l.Inputs {
		err = errors.Join(err, object(in.Object))
		if a, ok := ix.Assembly(in.Object); ok {
			err = errors.Join(err, b.assembly(store, a, in.Object, object))
		}
	}
	return err
}

// past are the decisions on a kernel that stand, and the bans.
func (b *bundle) past(store *cache.Store, identity string) error {
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer sn.Close()
	take := func(bucket string) func(key string, raw []byte) error {
		return func(key string, raw []byte) error {
			b.Records = append(b.Records, bundleRecord{bucket, key, bytes.Clone(raw)})
			return nil
		}
	}
	return errors.Join(sn.Each(cache.Decisions, identity, take(cache.Decisions)),
		sn.Each(cache.Bans, "", take(cache.Bans)))
}

// maxNotebooks bounds what of earlier searches' notes travels, bytes.
const maxNotebooks = 16 << 20

// notebooks are the notes of earlier searches. Which of them a search will ask for it alone knows.
func (b *bundle) notebooks(store *cache.Store) error {
	size := 0
	err := filepath.WalkDir(filepath.Join(store.Path(), "memo", policy.Notebooks),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || size > maxNotebooks {
				return nil
			}
			if text, ok := store.Memo(policy.Notebooks, d.Name()); ok {
				b.Notebooks[d.Name()] = text
				size += len(text)
			}
			return nil
		})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
