package cache

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
)

// Whole database files: publishing a copy, sealing one, making a new one from the snapshot.

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
		if err := syncDir(o.s.dir); err != nil {
			return err
		}
		o.published = now
		for name := range o.merged {
			os.Remove(filepath.Join(o.s.dir, spoolName, name))
		}
		clear(o.merged)
		return o.sealDatabase(now)
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
	if err == nil && found.problem != nil {
		err = corrupt(doing, path, "%w", found.problem)
	}
	return b, recipes, err
}

// A databaseState says whether decisions.db has the content that Publish sealed, and of which
// transaction of which database that was.
type databaseState struct {
	exists, sealed bool
	published      bool // there is a seal, so that something has been published here
	id             string
	tx             uint64
}

// database compares decisions.db with its seal: the hash of its content, the database's id and its
// transaction, in a file beside it.
func (s *Store) database() (state databaseState, err error) {
	text, err := readLimited(filepath.Join(s.dir, sealName), 1024)
	var hash string
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%s %s %d", &hash, &state.id, &state.tx)
		state.published = true
	}
	if err != nil {
		hash = ""
	}
	f, _, err := openRegular(filepath.Join(s.dir, dbName))
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	state.exists = true
	if errors.Is(err, errIrregular) {
		return state, nil
	}
	if err != nil {
		return state, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return state, err
	}
	state.sealed = hash == hex.EncodeToString(sum.Sum(nil))
	return state, nil
}

// sealDatabase notes the content of decisions.db. Where another goroutine writes to it meanwhile
// the seal does not hold, and the next owner makes the database anew.
func (o *Owner) sealDatabase(tx uint64) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(o.file, 0, math.MaxInt64)); err != nil {
		return err
	}
	text := fmt.Sprintf("%x %s %d\n", sum.Sum(nil), o.id, tx)
	return writeFile(o.s.dir, sealName, []byte(text), false)
}

// rebuild makes a new decisions.db from what can be read of the snapshot. The old one is kept under
// another name where the snapshot can't stand for it.
func (o *Owner) rebuild(ctx context.Context, old databaseState, snapErr error) error {
	path := filepath.Join(o.s.dir, dbName)
	kept := ""
	if old.exists && (old.published || !errors.Is(snapErr, fs.ErrNotExist)) && snapErr != nil {
		// No colons: such a name can be copied to any file system.
		kept = path + brokenMark + time.Now().UTC().Format("20060102T150405.000000000Z")
		if err := os.Rename(path, kept); err != nil {
			return failed("keep the damaged database", kept, err)
		}
	}
	taken, err := o.start(ctx)
	if err != nil {
		if kept != "" {
			os.Rename(kept, path)
		}
		return err
	}
	switch {
	case kept != "":
		o.note = append(o.note, fmt.Sprintf("%s: neither it nor the published snapshot is intact (%v): "+
			"kept as %s, a new one was made with the %d records that could be read", path, snapErr,
			filepath.Base(kept), taken))
	case snapErr != nil && !errors.Is(snapErr, fs.ErrNotExist):
		o.note = append(o.note, fmt.Sprintf("%v; %d records could be read", snapErr, taken))
	case old.sealed:
		o.note = append(o.note, path+": older than the published snapshot, from which it was rebuilt")
	}
	return nil
}

// start makes a new decisions.db from the records of the published snapshot that can be read, and
// gives their number.
func (o *Owner) start(ctx context.Context) (taken int, err error) {
	const doing = "make a new database"
	path := filepath.Join(o.s.dir, dbName)
	temp := filepath.Join(o.s.dir, tempMark+"new")
	defer os.Remove(temp)
	os.Remove(temp)
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
			_, err = surveySnapshot(filepath.Join(o.s.dir, snapName),
				func(bucket, key string, stamp int64, raw []byte) error {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					taken++
					return put(tx, bucket, key, stamp, raw)
				})
			if errors.Is(err, errCorrupt) || errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
	})
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err == nil {
		err = syncDir(o.s.dir)
	}
	return taken, failed(doing, path, err)
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
