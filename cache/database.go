package cache

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// The owner's database: records.db of bbolt, a bucket for each of ours, with sealed records by their
// keys. Builds read the snapshot, since bbolt holds a lock as long as its file is open.
//
// bbolt trusts its pages, and a damaged one may end the process. So it is given a file only if that has
// the content that was sealed, in a file next to it: hash, the store's ID, publication. A database that has
// not (its owner was killed, or bits flipped) is made anew from the snapshot.

const usingDatabase = "use the database"

// openDatabase has bbolt open the file; faults and panics of its are errors.
func (s *Store) openDatabase(use func(*bbolt.DB) error) (err error) {
	path := filepath.Join(s.dir, dbName)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = corrupt(usingDatabase, path, "%v", r)
		}
	}()
	db, err := bbolt.Open(path, fileMode, &bbolt.Options{Timeout: time.Millisecond, PageSize: 4096,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			return os.OpenFile(name, flag|syscall.O_NOFOLLOW, mode)
		}})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return &Error{Doing: usingDatabase, Path: path, Kind: ErrOwned,
			Err: errors.New("another program has it open"), Advice: "close that program"}
	}
	if err != nil {
		return failed(usingDatabase, path, err)
	}
	return failed(usingDatabase, path, errors.Join(use(db), db.Close()))
}

// databaseSeal is what the file next to the database must hold.
func (s *Store) databaseSeal(id string, tx uint64) (string, error) {
	f, _, err := openRegular(filepath.Join(s.dir, dbName))
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x %s %d\n", sum.Sum(nil), id, tx), nil
}

// readDatabase gives the sealed records by their names, the store's ID and the publication; nil where the
// database is none that can be used.
func (s *Store) readDatabase() (records map[string][]byte, id string, tx uint64, err error) {
	text, err := readLimited(filepath.Join(s.dir, sealName), 1024)
	if err != nil {
		return nil, "", 0, nil
	}
	var hash string
	if _, err := fmt.Sscanf(string(text), "%s %s %d", &hash, &id, &tx); err != nil {
		return nil, "", 0, nil
	}
	if is, err := s.databaseSeal(id, tx); err != nil || is != string(text) {
		return nil, "", 0, nil
	}
	records = map[string][]byte{}
	err = s.openDatabase(func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			return tx.ForEach(func(bucket []byte, b *bbolt.Bucket) error {
				return b.ForEach(func(key, sealed []byte) error {
					records[where(string(bucket), string(key))] = append([]byte(nil), sealed...)
					return nil
				})
			})
		})
	})
	if errors.Is(err, errCorrupt) {
		return nil, "", 0, nil
	}
	return records, id, tx, err
}

// writeDatabase takes what changed since the last publication into the database, and seals it as this one.
func (o *Owner) writeDatabase(publication uint64) error {
	path := filepath.Join(o.s.dir, dbName)
	if !o.inStep { // it is made anew
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for name := range o.records {
			o.dirty[name] = true
		}
	}
	o.inStep = false
	err := o.s.openDatabase(func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			for name := range o.dirty {
				bucket, key, _ := strings.Cut(name, "\x00")
				b, err := tx.CreateBucketIfNotExists([]byte(bucket))
				if err != nil {
					return err
				}
				if sealed, ok := o.records[name]; ok {
					err = b.Put([]byte(key), sealed)
				} else {
					err = b.Delete([]byte(key))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	text, err := o.s.databaseSeal(o.id, publication)
	if err == nil {
		err = writeFile(o.s.dir, sealName, []byte(text), true)
	}
	if err == nil {
		o.inStep = true
		clear(o.dirty)
	}
	return err
}
