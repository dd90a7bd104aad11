package cache

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Whole snapshots: publishing one, reading the one there is, making a new one out of what is left
// of a damaged one.

// Publish makes the records as they are now the builds' snapshot: written beside, synced, checked,
// renamed. A build sees the old one or the new one. When nothing changed since the last one it does
// nothing.
func (o *Owner) Publish() error {
	const doing = "publish the decisions"
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.closed(doing); err != nil {
		return err
	}
	path := filepath.Join(o.s.dir, snapName)
	if _, err := os.Stat(path); err != nil || o.changed {
		if err := o.publish(path); err != nil {
			return failed(doing, path, err)
		}
	}
	// Their records are on the disk: whatever Merge has taken was published.
	for name := range o.merged {
		os.Remove(filepath.Join(o.s.dir, spoolName, name))
	}
	clear(o.merged)
	return nil
}

func (o *Owner) publish(path string) error {
	f, err := os.CreateTemp(o.s.dir, tempMark+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails when it was renamed
	defer f.Close()
	recipes, err := o.write(f)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return err
	}
	if _, err := surveySnapshot(f.Name(), nil); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	o.turn++
	// Builds have the new recipes from here on. The caches' file follows: in between a cache may keep
	// a new object under the old recipes, which nobody asks for any more; the other way round it
	// would serve old objects for the new ones.
	if err := o.s.putRecipes(recipes); err != nil {
		return err
	}
	if err := o.copy(f); err != nil {
		return err
	}
	for _, name := range oldNames {
		os.Remove(filepath.Join(o.s.dir, name))
	}
	o.changed = false
	return syncDir(o.s.dir)
}

// write writes the snapshot to f, and gives the text of the file recipes.
func (o *Owner) write(f *os.File) (recipes string, err error) {
	var list recipeList
	head := flatHeader{ID: o.id, Tx: o.turn + 1}
	err = writeFlat(f, &head, func(add func(bucket, key string, sealed []byte) error) error {
		for _, name := range slices.Sorted(maps.Keys(o.records)) {
			bucket, key, _ := strings.Cut(name, "\x00")
			k := o.records[name]
			list.add(bucket, key, k.raw)
			if err := add(bucket, key, seal(name, k.stamp, k.raw)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	// The header, which holds the recipes' hash, is written when all records have been seen.
	recipes = list.text()
	head.Recipes = Hash([]byte(recipes))
	return recipes, writeFlatHead(f, head)
}

// copy writes what was published once more: should the disk lose one of the two files, or a part of
// it, the next owner has the other.
func (o *Owner) copy(published *os.File) error {
	f, err := os.CreateTemp(o.s.dir, tempMark+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := io.Copy(f, io.NewSectionReader(published, 0, 1<<62)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(o.s.dir, copyName))
}

// open reads what was published last, and mends it where that is needed.
func (o *Owner) open() error {
	removeTemps(o.s.dir, 0) // only owners write in this folder itself
	path := filepath.Join(o.s.dir, snapName)
	second, copyErr := surveySnapshot(filepath.Join(o.s.dir, copyName), nil)
	snap, err := surveySnapshot(path, o.keep)
	switch {
	case errors.Is(err, ErrVersion):
		return err
	case err == nil && copyErr == nil && second.ID == snap.ID && second.Tx > snap.Tx:
		// The copy, which is made later, is newer: the disk lost something.
		err = corrupt(readDoing, path, "it is publication %d, the copy already %d", snap.Tx,
			second.Tx)
	case err == nil:
		o.id, o.turn = snap.ID, snap.Tx
		o.changed = !o.s.recipesAre(snap.Recipes) || copyErr != nil || second.ID != snap.ID ||
			second.Tx != snap.Tx
		return nil
	}
	id := make([]byte, 16)
	rand.Read(id)
	o.id, o.changed = hex.EncodeToString(id), true
	if missing := errors.Is(err, fs.ErrNotExist); missing && errors.Is(copyErr, fs.ErrNotExist) {
		return nil
	} else if missing || errors.Is(err, errCorrupt) {
		return o.mend(path, err)
	}
	return err
}

// keep is take for a file's records, which are only valid during the call.
func (o *Owner) keep(bucket, key string, stamp int64, raw []byte) error {
	o.take(bucket, key, stamp, slices.Clone(raw))
	return nil
}

// mend replaces a damaged snapshot, or one that is gone (fs.ErrNotExist), by a new one: of the
// records that could be read in it, which o has, and of its copy's. A record that was deleted
// between the two comes back. The damaged file is kept under another name.
func (o *Owner) mend(path string, why error) error {
	// No colons: such a name can be copied to any file system.
	broken := path + brokenMark + time.Now().UTC().Format("20060102T150405.000000000Z")
	missing := errors.Is(why, fs.ErrNotExist)
	// A second name, so that a kill from here on leaves the damaged file for the next owner to find.
	// Some file systems have no second names; there the name is moved, and the next owner would have
	// the copy alone.
	if !missing && os.Link(path, broken) != nil {
		if err := os.Rename(path, broken); err != nil {
			return failed("keep the damaged snapshot", broken, err)
		}
	}
	copied := filepath.Join(o.s.dir, copyName)
	if _, err := surveySnapshot(copied, o.keep); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.note = append(o.note, err.Error())
	}
	if err := o.publish(path); err != nil {
		unkeep(broken, path)
		return failed("make a new snapshot", path, err)
	}
	if missing {
		o.note = append(o.note, fmt.Sprintf("%s was missing: made from its copy, %d records", path,
			len(o.records)))
		return nil
	}
	var known *Error
	if errors.As(why, &known) {
		why = known.Err
	}
	o.note = append(o.note, fmt.Sprintf(
		"%s: %v: kept as %s, a new one was made with the %d records that could be read", path, why,
		filepath.Base(broken), len(o.records)))
	return nil
}

// unkeep takes a damaged file's second name away where it is still what it was.
func unkeep(broken, path string) {
	kept, err := os.Lstat(broken)
	if err != nil {
		return
	}
	switch now, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		os.Rename(broken, path)
	case err == nil && os.SameFile(kept, now):
		os.Remove(broken)
	}
}

// PublishSpooled merges and publishes what is spooled. That another is the owner just now is no
// failure: what was published counts.
func (s *Store) PublishSpooled(ctx context.Context) error {
	owner, err := s.Own(ctx)
	if errors.Is(err, ErrOwned) {
		return nil
	}
	if err != nil {
		return err
	}
	defer owner.Close()
	if _, err := owner.Merge(); err != nil {
		return err
	}
	return owner.Publish()
}
