package cache

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
)

// Whole database files: publishing a copy, checking one, making a new one out of what is left of a
// damaged one.

// Publish makes the database as it is now the builds' snapshot: checked, written beside, synced,
// renamed. A build sees the old one or the new one. When nothing changed since the last one it does
// nothing.
func (o *Owner) Publish() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	const doing = "publish the decisions"
	path := filepath.Join(o.s.dir, snapName)
	return o.ask(doing, path, func() error {
		tx, err := o.db.Begin(false)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		now := uint64(tx.ID())
		if now == o.published {
			if _, err := os.Stat(path); err == nil {
				return nil
			}
		}
		b, recipes, err := snapshotOf(tx, o.id, path)
		if err != nil {
			return err
		}
		if err := writeFile(o.s.dir, snapName, b, true); err != nil {
			return err
		}
		// Builds have the new recipes from here on. The caches' file follows: in between a cache may keep
		// a new object under the old recipes, which nobody asks for any more; the other way round it
		// would serve old objects for the new ones.
		if err := o.s.putRecipes(recipes); err != nil {
			return err
		}
		o.published = now
		return syncDir(o.s.dir)
	})
}

// snapshotOf is what tx sees as a snapshot's file, checked, and the text of the file recipes.
func snapshotOf(tx *bbolt.Tx, id, path string) (b []byte, recipes string, err error) {
	const doing = "publish the decisions"
	var list recipeList
	size := int(tx.Size())
	b, head, err := encodeFlat(size, func(add func(bucket, key string, sealed []byte)) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			bucket := string(name)
			if bucket == metaBucket {
				return nil
			}
			return b.ForEach(func(k, v []byte) error {
				key := string(k)
				raw, _, err := unseal(where(bucket, key), v)
				if err == nil {
					err = checkRecord(bucket, key)
				}
				if err != nil {
					return corrupt(doing, path, "bucket %q, record %q: %w", bucket, key, err)
				}
				list.add(bucket, key, raw)
				add(bucket, key, v)
				return nil
			})
		})
	})
	if err != nil {
		return nil, "", err
	}
	recipes = list.text()
	head.ID, head.Tx, head.Recipes = id, uint64(tx.ID()), Hash([]byte(recipes))
	if err := putFlatHead(b, head); err != nil {
		return nil, "", err
	}
	made, err := openFlat(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, "", err
	}
	found, err := made.survey(nil)
	if err == nil && len(found.Problems) > 0 {
		err = corrupt(doing, path, "%w", found.Problems[0])
	}
	return b, recipes, err
}

// mend replaces a damaged decisions.db. It is kept under another name.
func (o *Owner) mend(ctx context.Context, why error) error {
	path := filepath.Join(o.s.dir, dbName)
	// No colons: such a name can be copied to any file system.
	broken := path + brokenMark + time.Now().UTC().Format("20060102T150405.000000000Z")
	// A second name first, so that a kill in between leaves the damaged file for the next owner to
	// find. Some file systems have no second names; there the name is moved, and the next owner would
	// start from the snapshot.
	linked := os.Link(path, broken) == nil
	if !linked {
		if err := os.Rename(path, broken); err != nil {
			return failed("keep the damaged database", broken, err)
		}
	}
	taken, err := o.start(ctx, broken)
	if err != nil {
		if linked {
			os.Remove(broken)
		} else {
			os.Rename(broken, path)
		}
		return err
	}
	var known *Error
	if errors.As(why, &known) {
		why = known.Err
	}
	o.note = append(o.note, fmt.Sprintf(
		"%s: %v: kept as %s, a new one was made with the %d records that could be read", path, why,
		filepath.Base(broken), taken))
	return nil
}

// start makes a new decisions.db from the published snapshot, if that is sound, and from the
// records that can still be read in broken ("" for none). Those are at least as new as the
// snapshot's; a record that was deleted after the snapshot comes back.
func (o *Owner) start(ctx context.Context, broken string) (taken int, err error) {
	const doing = "make a new database"
	path := filepath.Join(o.s.dir, dbName)
	temp := filepath.Join(o.s.dir, tempMark+"new")
	defer os.Remove(temp)
	os.Remove(temp)
	records := map[string]bool{}
	err = guard(doing, path, func() error {
		db, err := bbolt.Open(temp, fileMode, boltOptions())
		if err != nil {
			return err
		}
		defer db.Close()
		return db.Update(func(tx *bbolt.Tx) error {
			meta, err := tx.CreateBucketIfNotExists([]byte(metaBucket))
			if err != nil {
				return err
			}
			id := make([]byte, 16)
			rand.Read(id)
			if err := meta.Put([]byte(schemaKey), []byte(strconv.Itoa(schema))); err != nil {
				return err
			}
			if err := meta.Put([]byte(idKey), []byte(hex.EncodeToString(id))); err != nil {
				return err
			}
			take := func(bucket, key string, stamp int64, raw []byte) error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if checkRecord(bucket, key) != nil {
					return nil
				}
				records[where(bucket, key)] = true
				return put(tx, bucket, key, stamp, raw)
			}
			if err := o.takePublished(take); err != nil {
				return err
			}
			if broken == "" {
				return nil
			}
			// Its damage is known: only what the reader or bbolt say about writing counts.
			if _, err := surveyDatabase(broken, take); err != nil && !errors.Is(err, errCorrupt) &&
				!errors.Is(err, ErrVersion) {
				return err
			}
			return nil
		})
	})
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err == nil {
		err = syncDir(o.s.dir)
	}
	return len(records), failed(doing, path, err)
}

// takePublished gives take the records of the snapshot, if that is sound.
func (o *Owner) takePublished(take func(bucket, key string, stamp int64, raw []byte) error) error {
	path := filepath.Join(o.s.dir, snapName)
	switch _, err := surveySnapshot(path, nil); {
	case err == nil:
		_, err = surveySnapshot(path, take)
		return err
	case !errors.Is(err, fs.ErrNotExist):
		o.note = append(o.note, err.Error())
	}
	return nil
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
