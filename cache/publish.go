package cache

import (
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

// Whole database files: publishing a copy, checking one, making a new one out of what is left of a damaged one.

// surveyFile checks the database at path; with an error there is nothing sound to work with: fs.ErrNotExist,
// ErrVersion, ErrCorrupt, or what the system said.
func surveyFile(path string, fn func(bucket, key string, stamp int64, raw []byte) error) (*survey, error) {
	const doing = "check the database"
	f, info, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if errors.Is(err, errIrregular) {
		return nil, corrupt(doing, path, "%w", err)
	}
	if err != nil {
		return nil, failed(doing, path, err)
	}
	defer f.Close()
	t, err := openTree(f, info.Size())
	if err != nil {
		return nil, unreadable(doing, path, err)
	}
	s, err := t.survey(fn)
	if err != nil {
		return s, err
	}
	if len(s.Problems) > 0 {
		return s, corrupt(doing, path, "%w", s.Problems[0])
	}
	if err := checkSchema(doing, path, s.Schema); err != nil {
		return s, err
	}
	return s, nil
}

// Publish makes the database as it is now the builds' snapshot: a copy, synced, checked, renamed. A build sees the old
// one or the new one. When nothing changed since the last one it does nothing.
func (o *Owner) Publish() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	const doing = "publish the decisions"
	path := filepath.Join(o.s.dir, roName)
	err := o.ask(doing, path, func() error {
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
		f, err := os.CreateTemp(o.s.dir, tempMark+"*")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name()) // fails when it was renamed
		_, err = tx.WriteTo(f)
		if err == nil {
			err = f.Sync()
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
		if _, err := surveyFile(f.Name(), nil); err != nil {
			return err
		}
		if err := os.Rename(f.Name(), path); err != nil {
			return err
		}
		o.published = now
		return syncDir(o.s.dir)
	})
	return err
}

// mend replaces a damaged decisions.db. It is kept under another name.
func (o *Owner) mend(ctx context.Context, why error) error {
	path := filepath.Join(o.s.dir, dbName)
	// No colons: such a name can be copied to any file system.
	broken := path + brokenMark + time.Now().UTC().Format("20060102T150405.000000000Z")
	// A second name first, so that a kill in between leaves the damaged file for the next owner to find.
	// Some file systems have no second names; there the name is moved, and the next owner would start from the snapshot.
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
	o.note = append(o.note, fmt.Sprintf("%s: %v: kept as %s, a new one was made with the %d records that could be read", path, why, filepath.Base(broken), taken))
	return nil
}

// start makes a new decisions.db from the published snapshot, if that is sound, and from the records that can still be
// read in broken ("" for none). Those are at least as new as the snapshot's; a record that was deleted after the
// snapshot comes back.
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
			ro := filepath.Join(o.s.dir, roName)
			if _, err := surveyFile(ro, nil); err == nil {
				if _, err := surveyFile(ro, take); err != nil {
					return err
				}
			} else if !errors.Is(err, fs.ErrNotExist) {
				o.note = append(o.note, err.Error())
			}
			if broken == "" {
				return nil
			}
			// Its damage is known: only what the reader or bbolt say about writing counts.
			if _, err := surveyFile(broken, take); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
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
