package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestPutPublishGet(t *testing.T) {
	s := newStore(t)
	o := own(t, s)
	ok(t, o.Put(Decisions, hashKey(1), decision(1)))
	_, err := s.Snapshot()
	wants(t, err, ErrNone)
	ok(t, o.Publish())
	sn := snapshot(t, s)
	get(t, sn, 1)
	ok(t, o.Put(Decisions, hashKey(2), decision(2)))
	ok(t, o.Delete(Decisions, hashKey(1)))
	ok(t, o.Publish())
	get(t, sn, 1) // an open snapshot stays what it was
	if found, err := sn.Get(Decisions, hashKey(2), nil); found || err != nil {
		t.Errorf("an open snapshot has a later record: %v %v", found, err)
	}
	later := snapshot(t, s)
	get(t, later, 2)
	if found, err := later.Get(Decisions, hashKey(1), nil); found || err != nil {
		t.Errorf("a deleted record is there: %v %v", found, err)
	}
	var d Decision
	if found, err := o.Get(Decisions, hashKey(2), &d); !found || err != nil ||
		d.Recipe != decision(2).Recipe {
		t.Errorf("owner's get: %v %v", d, err)
	}
	// Nothing changed: nothing is written.
	before, _ := os.Stat(filepath.Join(s.dir, snapName))
	ok(t, o.Publish())
	after, _ := os.Stat(filepath.Join(s.dir, snapName))
	if !os.SameFile(before, after) {
		t.Error("published again without a change")
	}
}

func TestNilSnapshot(t *testing.T) {
	var sn *Snapshot
	found, err := sn.Get(Decisions, "x", nil)
	if found || err != nil || sn.Close() != nil || sn.Each(Decisions, "", nil) != nil {
		t.Error("a nil snapshot is not an empty one")
	}
}

func TestTwoOwners(t *testing.T) {
	s := newStore(t)
	o := own(t, s)
	start := time.Now()
	_, err := s.Own(context.Background())
	wants(t, err, ErrOwned)
	if d := time.Since(start); d > time.Second {
		t.Errorf("waited %v", d)
	}
	if want := fmt.Sprintf("process %d since", os.Getpid()); !strings.Contains(err.Error(), want) {
		t.Errorf("who? %v", err)
	}
	inChild, err := syscall.Dup(int(o.lock.Fd())) // as a forked child has it until it calls exec
	ok(t, err)
	defer syscall.Close(inChild)
	ok(t, o.Close())
	own(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = s.Own(ctx)
	wants(t, err, context.Canceled)
}

func TestMerge(t *testing.T) {
	s := newStore(t)
	for i := range 50 {
		ok(t, s.Spool(Decisions, hashKey(i), decision(i)))
	}
	ok(t, s.Spool(Assemblies, hashKey(7), Assembly{Target: "sm_90"}))
	seen := 0
	ok(t, s.EachPending(Decisions, func(string, []byte) error { seen++; return nil }))
	if seen != 50 {
		t.Errorf("%d records pending", seen)
	}
	o := own(t, s)
	if n, err := o.Merge(); n != 51 || err != nil {
		t.Fatalf("merged %d: %v", n, err)
	}
	if n, err := o.Merge(); n != 0 || err != nil {
		t.Fatalf("merged %d again: %v", n, err)
	}
	ok(t, o.Publish())
	if names, _ := s.pending(); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
	sn := snapshot(t, s)
	for i := range 50 {
		get(t, sn, i)
	}
	var a Assembly
	if found, err := sn.Get(Assemblies, hashKey(7), &a); !found || err != nil || a.Target != "sm_90" {
		t.Errorf("%v %v %v", found, err, a)
	}
}

// Any order, any repetition, any interruption of merging gives the same.
func TestMergeIsIdempotent(t *testing.T) {
	var files [][]byte
	base := time.Now().Add(-time.Hour).UnixNano()
	for i := range 40 {
		// ten keys, four versions of each, some with one stamp, some from the future
		stamp := base + int64(i/20)
		if i%7 == 0 {
			stamp += int64(100 * 365 * 24 * time.Hour)
		}
		b, err := encodeSpooled(Decisions, hashKey(i%10), stamp, decision(i))
		ok(t, err)
		files = append(files, b)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var want map[string]string
	for round := range 10 {
		s := newStore(t)
		ok(t, s.Writable())
		random.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		o := own(t, s)
		for part := range slices.Chunk(files, 1+random.IntN(len(files))) {
			for _, b := range part {
				ok(t, writeFile(filepath.Join(s.dir, spoolName), Hash(b)+spoolExt, b, false))
			}
			_, err := o.Merge()
			ok(t, err)
			// and once more what an interrupted merge would have left
			b := files[random.IntN(len(files))]
			if slices.ContainsFunc(part, func(p []byte) bool { return string(p) == string(b) }) {
				ok(t, writeFile(filepath.Join(s.dir, spoolName), Hash(b)+spoolExt, b, false))
			}
			_, err = o.Merge()
			ok(t, err)
		}
		ok(t, o.Publish())
		got := map[string]string{}
		ok(t, snapshot(t, s).Each(Decisions, "", func(k string, raw []byte) error { got[k] = string(raw); return nil }))
		if len(got) != 10 {
			t.Fatalf("%d records", len(got))
		}
		if round == 0 {
			want = got
		}
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("round %d: %s is %s, was %s", round, k, got[k], v)
			}
		}
	}
}

// What is put after an observation is not undone by merging it late.
func TestPutWins(t *testing.T) {
	s := newStore(t)
	future := time.Now().Add(24 * time.Hour).UnixNano()
	for i, stamp := range []int64{time.Now().UnixNano(), future} {
		b, err := encodeSpooled(Decisions, hashKey(i), stamp, Decision{Recipe: "spooled"})
		ok(t, err)
		ok(t, s.Writable())
		ok(t, writeFile(filepath.Join(s.dir, spoolName), Hash(b)+spoolExt, b, false))
	}
	o := own(t, s)
	for i := range 2 {
		ok(t, o.Put(Decisions, hashKey(i), decision(i)))
	}
	if _, err := o.Merge(); err != nil {
		t.Fatal(err)
	}
	ok(t, o.Publish())
	for i := range 2 {
		get(t, snapshot(t, s), i)
	}
	// The clock went back since something was stored: what is spooled now wins.
	o.put(Decisions, hashKey(3), future, []byte(`{"Recipe":"old"}`))
	ok(t, s.Spool(Decisions, hashKey(3), decision(3)))
	if _, err := o.Merge(); err != nil {
		t.Fatal(err)
	}
	ok(t, o.Publish())
	get(t, snapshot(t, s), 3)
}

func TestPoisonedSpool(t *testing.T) {
	s := newStore(t)
	ok(t, s.Spool(Decisions, hashKey(1), decision(1)))
	dir := filepath.Join(s.dir, spoolName)
	write := func(name string, b []byte) { ok(t, os.WriteFile(filepath.Join(dir, name), b, 0o600)) }
	named := func(v any) {
		b, err := json.Marshal(v)
		ok(t, err)
		write(Hash(b)+spoolExt, b)
	}
	write(Hash([]byte("x"))+spoolExt, []byte("y"))   // torn
	write(Hash([]byte("no"))+spoolExt, []byte("no")) // no JSON
	write("readme.txt", []byte("not ours"))
	named(spooled{Schema: schema + 1, Bucket: Decisions, Key: "newer", Record: []byte("1")})
	named(spooled{Schema: schema, Bucket: "../../x", Key: "k", Record: []byte("1")})
	named(spooled{Schema: schema, Bucket: Decisions, Key: "", Record: []byte("1")})
	named(map[string]any{"Schema": 1, "Bucket": Decisions, "Key": "k"})
	ok(t, os.Mkdir(filepath.Join(dir, Hash(nil)+spoolExt), 0o700))
	o := own(t, s)
	n, err := o.Merge()
	if n != 1 || err != nil {
		t.Fatalf("merged %d: %v", n, err)
	}
	ok(t, o.Publish())
	get(t, snapshot(t, s), 1)
	entries, err := os.ReadDir(dir)
	ok(t, err)
	bad, waiting := 0, 0
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case badExt:
			bad++
		case spoolExt:
			waiting++
		}
	}
	if bad != 6 || waiting != 1 {
		t.Errorf("%d set aside, %d waiting: %v", bad, waiting, entries)
	}
}

// setHead changes the header of a store's snapshot.
func setHead(t *testing.T, s *Store, change func(h *flatHeader)) {
	t.Helper()
	path := filepath.Join(s.dir, snapName)
	b, err := os.ReadFile(path)
	ok(t, err)
	ok(t, os.WriteFile(path, mendSum(t, b, change), 0o600))
}

// A later gnvcc's store is no error of the store's: it is said so, and nothing of it is read or changed.
func TestOtherVersion(t *testing.T) {
	for what, later := range map[string]func(h *flatHeader){
		"schema": func(h *flatHeader) { h.Schema = schema + 1 },
		"format": func(h *flatHeader) { h.Format = flatFormat + 1 },
	} {
		s := newStore(t)
		fill(t, s, 5)
		setHead(t, s, later)
		before, err := os.ReadFile(filepath.Join(s.dir, snapName))
		ok(t, err)
		_, err = s.Snapshot()
		wants(t, err, ErrVersion)
		_, err = s.Own(context.Background())
		wants(t, err, ErrVersion)
		ok(t, s.Spool(Decisions, "k", 1))
		if after, err := os.ReadFile(filepath.Join(s.dir, snapName)); err != nil || !bytes.Equal(before, after) {
			t.Errorf("a store of another %s was changed", what)
		}
	}
}

// Database and snapshot stand for each other, whichever is damaged, missing or behind.
func TestDatabase(t *testing.T) {
	write := func(s *Store, name string, b []byte) { ok(t, os.WriteFile(filepath.Join(s.dir, name), b, 0o600)) }
	read := func(s *Store, name string) []byte {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		ok(t, err)
		return b
	}
	for name, hurt := range map[string]func(s *Store, old map[string][]byte){
		"as it is":            func(*Store, map[string][]byte) {},
		"database is garbage": func(s *Store, _ map[string][]byte) { write(s, dbName, []byte("pages")) },
		"database has a flip": func(s *Store, _ map[string][]byte) { b := read(s, dbName); b[5000] ^= 1; write(s, dbName, b) },
		"no database":         func(s *Store, _ map[string][]byte) { ok(t, os.Remove(filepath.Join(s.dir, dbName))) },
		"no seal":             func(s *Store, _ map[string][]byte) { ok(t, os.Remove(filepath.Join(s.dir, sealName))) },
		"seal is garbage":     func(s *Store, _ map[string][]byte) { write(s, sealName, []byte("x y z")) },
		"snapshot is garbage": func(s *Store, _ map[string][]byte) { write(s, snapName, []byte("records")) },
		"no snapshot":         func(s *Store, _ map[string][]byte) { ok(t, os.Remove(filepath.Join(s.dir, snapName))) },
		"snapshot is behind":  func(s *Store, old map[string][]byte) { write(s, snapName, old[snapName]) },
		"database is behind": func(s *Store, old map[string][]byte) {
			write(s, dbName, old[dbName])
			write(s, sealName, old[sealName])
		},
		"database of 4fbd0a03 beside it": func(s *Store, _ map[string][]byte) {
			path := filepath.Join(s.dir, "decisions.db")
			write(s, "decisions.db", read(s, dbName))
			db, err := bbolt.Open(path, 0o600, nil)
			ok(t, err)
			ok(t, db.Update(func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucket([]byte("gnvcc"))
				return errors.Join(err, b.Put([]byte("id"), []byte("no record of ours")))
			}))
			ok(t, db.Close())
			_, state, _ := bytes.Cut(read(s, sealName), []byte(" "))
			write(s, "decisions.db.seal", fmt.Appendf(nil, "%x %s", sha256.Sum256(read(s, "decisions.db")), state))
		},
		"database of another": func(s *Store, _ map[string][]byte) {
			other := newStore(t)
			fill(t, other, 2)
			write(s, dbName, read(other, dbName))
			write(s, sealName, read(other, sealName))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			fill(t, s, 40)
			old := map[string][]byte{}
			for _, name := range []string{snapName, dbName, sealName} {
				old[name] = read(s, name)
			}
			o := own(t, s)
			ok(t, o.Delete(Decisions, hashKey(0)))
			ok(t, o.Put(Decisions, hashKey(40), decision(40)))
			ok(t, o.Publish())
			ok(t, o.Close())
			hurt(s, old)
			for range 2 { // and the owner after that one
				o = own(t, s)
				ok(t, o.Put(Links, "x", time.Now()))
				ok(t, o.Publish())
				ok(t, o.Close())
				for i := 1; i <= 40; i++ {
					get(t, snapshot(t, s), i)
				}
				if hit, err := snapshot(t, s).Get(Decisions, hashKey(0), nil); hit || err != nil {
					t.Errorf("a deleted record is back: %v %v", hit, err)
				}
				if records, _, _, err := s.readDatabase(); len(records) != 41 || err != nil {
					t.Errorf("the database has %d records: %v", len(records), err)
				}
			}
		})
	}
}

func TestPublishFailure(t *testing.T) {
	s := newStore(t)
	fill(t, s, 5)
	o := own(t, s)
	ok(t, o.Put(Decisions, hashKey(9), decision(9)))
	// Something that is no file stands where the snapshot belongs.
	ok(t, os.Remove(filepath.Join(s.dir, snapName)))
	ok(t, os.MkdirAll(filepath.Join(s.dir, snapName, "x"), 0o700))
	if err := o.Publish(); err == nil {
		t.Fatal("published over a folder")
	}
	_, err := s.Snapshot()
	wants(t, err, errCorrupt)
	ok(t, os.RemoveAll(filepath.Join(s.dir, snapName)))
	ok(t, o.Publish())
	get(t, snapshot(t, s), 9)
	if temps, _ := filepath.Glob(filepath.Join(s.dir, "*"+tempMark+"*")); len(temps) != 0 {
		t.Errorf("left: %v", temps)
	}
}

func TestClosedOwner(t *testing.T) {
	s := newStore(t)
	o := own(t, s)
	ok(t, o.Close())
	ok(t, o.Close())
	if err := o.Put(Decisions, "k", 1); err == nil {
		t.Error("put after close")
	}
	if err := o.Publish(); err == nil {
		t.Error("published after close")
	}
	if _, err := o.Get(Decisions, "k", nil); err == nil {
		t.Error("got after close")
	}
}
