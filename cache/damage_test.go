package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// bbolt itself writes databases of many shapes; the check must find all that is in them, and the
// snapshot gives it back.
func TestAgainstModel(t *testing.T) {
	for _, n := range []int{0, 1, 5, 60, 3000, 40000} {
		for _, pageSize := range []int{4096, 16384} {
			if n == 40000 && (pageSize != 4096 || testing.Short()) {
				continue
			}
			t.Run(fmt.Sprint(n, "x", pageSize), func(t *testing.T) { againstModel(t, n, pageSize) })
		}
	}
}

// someDatabase has free pages, overflow pages, and for large n deep trees.
func someDatabase(t *testing.T, s *Store, n, pageSize int) (model map[string]string) {
	random := rand.New(rand.NewPCG(uint64(n), 3))
	ok(t, s.Writable())
	db, err := bbolt.Open(filepath.Join(s.dir, dbName), 0o600, &bbolt.Options{PageSize: pageSize,
		NoSync: true})
	ok(t, err)
	model = map[string]string{}
	ok(t, db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte(metaBucket))
		ok(t, err)
		return errors.Join(b.Put([]byte(schemaKey), []byte("1")), b.Put([]byte(idKey), []byte("test")))
	}))
	for range 5 {
		ok(t, db.Update(func(tx *bbolt.Tx) error {
			for range n / 5 {
				key := fmt.Sprintf("%x", random.IntN(4*n))
				size := random.IntN(60)
				if random.IntN(200) == 0 {
					size = random.IntN(30000)
				}
				model[key] = fmt.Sprintf("%q", strings.Repeat("x", size)+key)
				ok(t, put(tx, Decisions, key, 1, []byte(model[key])))
				ok(t, put(tx, Links, key, 1, []byte("1")))
			}
			for key := range model {
				if random.IntN(10) == 0 {
					delete(model, key)
					ok(t, tx.Bucket([]byte(Decisions)).Delete([]byte(key)))
				}
			}
			return nil
		}))
	}
	ok(t, db.Close())
	return model
}

func againstModel(t *testing.T, n, pageSize int) {
	s := newStore(t)
	model := someDatabase(t, s, n, pageSize)
	found, err := surveyDatabase(filepath.Join(s.dir, dbName), nil)
	ok(t, err)
	if found.Records[Decisions] != len(model) || found.ID != "test" {
		t.Fatalf("%+v, want %d records", found, len(model))
	}
	ok(t, own(t, s).Publish())
	published, err := surveySnapshot(filepath.Join(s.dir, snapName), nil)
	ok(t, err)
	if !maps.Equal(published.Records, found.Records) || published.ID != found.ID ||
		published.Tx != found.Tx {
		t.Fatalf("published %+v of %+v", published, found)
	}
	sn := snapshot(t, s)
	for i := range 4 * n {
		key := fmt.Sprintf("%x", i)
		var body string
		hit, err := sn.Get(Decisions, key, &body)
		want, there := model[key]
		if err != nil || hit != there || hit && fmt.Sprintf("%q", body) != want {
			t.Fatalf("%q: %v %v", key, hit, err)
		}
	}
	for _, prefix := range []string{"", "1", "a", "ab", "fff", "zz", "0"} {
		var want, got []string
		for key := range model {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		slices.Sort(want)
		ok(t, sn.Each(Decisions, prefix, func(key string, raw []byte) error {
			if model[key] != string(raw) {
				t.Fatalf("%q is %s", key, raw)
			}
			got = append(got, key)
			return nil
		}))
		if !slices.Equal(got, want) {
			t.Fatalf("prefix %q: %d keys, want %d", prefix, len(got), len(want))
		}
	}
	stop := errors.New("stop")
	if err := sn.Each(Decisions, "", func(string, []byte) error {
		return stop
	}); err != stop && len(model) > 0 {
		t.Errorf("walk ended with %v", err)
	}
}

// filled gives a file of a store with n decisions: the database is deep enough to have branch
// pages.
func filled(t testing.TB, name string, n int) []byte {
	t.Helper()
	s := newStore(t)
	fill(t, s, n)
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	ok(t, err)
	return b
}

// useSnapshot reads everything that a build may read. A record that comes back must be one that was
// written.
func useSnapshot(t testing.TB, path string, n int) (readable int, err error) {
	sn, err := openSnapshot(path)
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	step := max(1, n/50)
	for i := 0; i < n; i += step {
		var d Decision
		hit, err := sn.Get(Decisions, hashKey(i), &d)
		note(err)
		if hit && (err != nil || d.Recipe != decision(i).Recipe || d.Kernel != decision(i).Kernel) {
			t.Errorf("record %d came back wrong: %+v %v", i, d, err)
		}
	}
	note(sn.Each(Decisions, "", func(key string, raw []byte) error { readable++; return nil }))
	return readable, first
}

// damages are what happens to files. Each gives a new slice.
var damages = map[string]func(r *rand.Rand, b []byte) []byte{
	"truncated": func(r *rand.Rand, b []byte) []byte { return bytes.Clone(b[:r.IntN(len(b))]) },
	"bit": func(r *rand.Rand, b []byte) []byte {
		b = bytes.Clone(b)
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		return b
	},
	"bits": func(r *rand.Rand, b []byte) []byte {
		b = bytes.Clone(b)
		for range 200 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return b
	},
	"zeroed page": func(r *rand.Rand, b []byte) []byte {
		b = bytes.Clone(b)
		at := r.IntN(len(b)/4096) * 4096
		clear(b[at : at+4096])
		return b
	},
	"page twice": func(r *rand.Rand, b []byte) []byte {
		b = bytes.Clone(b)
		copy(b[r.IntN(len(b)/4096)*4096:][:4096], b[r.IntN(len(b)/4096)*4096:][:4096])
		return b
	},
	"header": func(r *rand.Rand, b []byte) []byte {
		b = bytes.Clone(b)
		at := r.IntN(len(b)/4096)*4096 + r.IntN(64)
		b[at] = byte(r.Uint32())
		return b
	},
	"noise": func(r *rand.Rand, b []byte) []byte {
		b = bytes.Clone(b)
		at := r.IntN(len(b) / 4096)
		for i := at * 4096; i < at*4096+4096; i++ {
			b[i] = byte(r.Uint32())
		}
		return b
	},
	"zero":  func(r *rand.Rand, b []byte) []byte { return make([]byte, len(b)) },
	"empty": func(r *rand.Rand, b []byte) []byte { return nil },
}

// A damaged snapshot costs a build an error or a missing record, never a crash, never another
// record.
func TestDamagedSnapshot(t *testing.T) {
	const n = 600
	whole := filled(t, snapName, n)
	path := filepath.Join(t.TempDir(), snapName)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, 6))
			rounds, damagedSeen := 60, 0
			for range rounds {
				b := damage(random, whole)
				ok(t, os.WriteFile(path, b, 0o600))
				readable, err := useSnapshot(t, path, n)
				if err != nil {
					damagedSeen++
					if !errors.Is(err, errCorrupt) && !errors.Is(err, ErrVersion) {
						t.Fatalf("%v", err)
					}
				} else if readable != n {
					// Silence is allowed only where the survey sees the damage: doctor tells.
					if _, err := surveySnapshot(path, nil); err == nil {
						t.Fatalf("%d of %d records, and nobody says why", readable, n)
					}
				}
				if _, err := surveySnapshot(path, nil); err != nil && !errors.Is(err, errCorrupt) &&
					!errors.Is(err, ErrVersion) {
					t.Fatal(err)
				}
			}
			t.Logf("reading saw the damage in %d of %d", damagedSeen, rounds)
		})
	}
}

// The owner mends: the damaged file is kept, nothing published is lost, and the database is sound
// afterwards.
func TestDamagedDatabase(t *testing.T) {
	const n = 300
	s := newStore(t)
	fill(t, s, n)
	// One more transaction, so that the database is ahead of the snapshot and has free pages.
	o := own(t, s)
	ok(t, o.Put(Decisions, hashKey(n), decision(n)))
	ok(t, o.Close())
	path := filepath.Join(s.dir, dbName)
	whole, err := os.ReadFile(path)
	ok(t, err)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 8))
			mended, kept := 0, 0
			rounds := 25
			for range rounds {
				b := damage(random, whole)
				ok(t, os.WriteFile(path, b, 0o600))
				o, err := s.Own(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				ok(t, o.Put(Decisions, hashKey(n+1), decision(n+1)))
				for i := range n {
					var d Decision
					if hit, err := o.Get(Decisions, hashKey(i), &d); !hit || err != nil ||
						d.Recipe != decision(i).Recipe {
						t.Fatalf("record %d: %v %v %+v", i, hit, err, d)
					}
				}
				if hit, _ := o.Get(Decisions, hashKey(n), nil); hit {
					kept++
				}
				broken, _ := filepath.Glob(path + brokenMark + "*")
				if hit, _ := o.Get(Decisions, hashKey(n), nil); !hit && len(broken) == 0 {
					t.Fatal("a record was lost in silence")
				}
				if len(broken) > 0 {
					mended++
					old, err := os.ReadFile(broken[0])
					ok(t, err)
					if !bytes.Equal(old, b) || len(o.Notes()) == 0 {
						t.Fatalf("the damaged file was not kept, or not reported: %q", o.Notes())
					}
					ok(t, os.Remove(broken[0]))
				}
				ok(t, o.Close())
				if _, err := surveyDatabase(path, nil); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("mended %d of %d; the unpublished record survived in %d", mended, rounds, kept)
		})
	}
}

// Both damaged: what can be read is taken, the rest is gone, and the store works.
func TestBothDamaged(t *testing.T) {
	const n = 600
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			fill(t, s, n)
			random := rand.New(rand.NewPCG(9, 10))
			for range 5 {
				for _, file := range []string{dbName, snapName} {
					path := filepath.Join(s.dir, file)
					b, err := os.ReadFile(path)
					ok(t, err)
					ok(t, os.WriteFile(path, damage(random, b), 0o600))
				}
				o, err := s.Own(context.Background())
				ok(t, err)
				ok(t, o.Put(Decisions, hashKey(1), decision(1)))
				ok(t, o.Publish())
				ok(t, o.Close())
				get(t, snapshot(t, s), 1)
			}
		})
	}
}

// A database that lost its last transactions (a disk that lied) is seen by the snapshot being
// ahead.
func TestDatabaseBehindSnapshot(t *testing.T) {
	s := newStore(t)
	fill(t, s, 5)
	path := filepath.Join(s.dir, dbName)
	old, err := os.ReadFile(path)
	ok(t, err)
	fill(t, s, 9)
	ok(t, os.WriteFile(path, old, 0o600))
	o := own(t, s)
	for i := range 9 {
		if hit, err := o.Get(Decisions, hashKey(i), nil); !hit || err != nil {
			t.Errorf("record %d: %v %v", i, hit, err)
		}
	}
	if len(o.Notes()) == 0 {
		t.Error("mended without a word")
	}
}

// The database was removed: it starts from the snapshot.
func TestDatabaseGone(t *testing.T) {
	s := newStore(t)
	fill(t, s, 5)
	ok(t, os.Remove(filepath.Join(s.dir, dbName)))
	o := own(t, s)
	ok(t, o.Put(Decisions, hashKey(7), decision(7)))
	ok(t, o.Publish())
	get(t, snapshot(t, s), 4)
	get(t, snapshot(t, s), 7)
}

// patch changes a page's bytes; meta pages get a sum that holds.
func patchPage(b []byte, page int, change func(p []byte)) {
	p := b[page*4096 : page*4096+4096]
	change(p)
	if binary.LittleEndian.Uint16(p[8:]) == metaFlag {
		h := fnv.New64a()
		h.Write(p[pageHeader : pageHeader+metaSize-8])
		binary.LittleEndian.PutUint64(p[pageHeader+metaSize-8:], h.Sum64())
	}
}

// Damage made on purpose: what random bits hardly hit.
func TestHostilePages(t *testing.T) {
	const n = 600
	whole := filled(t, dbName, n)
	le := binary.LittleEndian
	var branch, leaf, free int
	for p := 2; p < len(whole)/4096; p++ {
		switch le.Uint16(whole[p*4096+8:]) {
		case branchFlag:
			branch = p
		case leafFlag: // of records, not of buckets
			if le.Uint16(whole[p*4096+10:]) > 4 {
				leaf = p
			}
		case freelistFlag:
			free = p
		}
	}
	if branch == 0 || leaf == 0 || free == 0 {
		t.Fatalf("branch %d, leaf %d, free list %d", branch, leaf, free)
	}
	metas := func(b []byte, change func(m []byte)) {
		for p := range 2 {
			patchPage(b, p, func(p []byte) { change(p[pageHeader:]) })
		}
	}
	for name, hurt := range map[string]func(b []byte){
		// bbolt's own search ends the process here: its stack overflows, which no recover catches.
		"a branch that leads to itself": func(b []byte) {
			patchPage(b, branch, func(p []byte) {
				for i := range int(le.Uint16(p[10:])) {
					le.PutUint64(p[pageHeader+16*i+8:], uint64(branch))
				}
			})
		},
		"an element behind the page": func(b []byte) {
			patchPage(b, leaf, func(p []byte) {
				le.PutUint32(p[pageHeader+4:], 1<<31)
			})
		},
		"a key of 4 GB": func(b []byte) {
			patchPage(b, leaf, func(p []byte) {
				le.PutUint32(p[pageHeader+8:], ^uint32(0))
			})
		},
		"a value of 4 GB": func(b []byte) {
			patchPage(b, leaf, func(p []byte) {
				le.PutUint32(p[pageHeader+12:], ^uint32(0))
			})
		},
		"65535 elements": func(b []byte) {
			patchPage(b, leaf, func(p []byte) {
				le.PutUint16(p[10:], 0xffff)
			})
		},
		"a branch without children": func(b []byte) {
			patchPage(b, branch, func(p []byte) {
				le.PutUint16(p[10:], 0)
			})
		},
		"an overflow of 16 TB": func(b []byte) {
			patchPage(b, leaf, func(p []byte) {
				le.PutUint32(p[12:], ^uint32(0))
			})
		},
		"a child behind the end": func(b []byte) {
			patchPage(b, branch, func(p []byte) {
				le.PutUint64(p[pageHeader+8:], 1<<50)
			})
		},
		"a child that is a meta page": func(b []byte) {
			patchPage(b, branch, func(p []byte) {
				le.PutUint64(p[pageHeader+8:], 1)
			})
		},
		"a child that is the free list": func(b []byte) {
			patchPage(b, branch, func(p []byte) {
				le.PutUint64(p[pageHeader+8:], uint64(free))
			})
		},
		"a record that is a bucket": func(b []byte) {
			patchPage(b, leaf, func(p []byte) {
				le.PutUint32(p[pageHeader:], bucketFlag)
			})
		},
		"a root behind the end": func(b []byte) {
			metas(b, func(m []byte) {
				le.PutUint64(m[16:], 1<<60)
			})
		},
		"a root that is the free list": func(b []byte) {
			metas(b, func(m []byte) {
				le.PutUint64(m[16:], uint64(free))
			})
		},
		"no pages": func(b []byte) {
			metas(b, func(m []byte) {
				le.PutUint64(m[40:], 0)
			})
		},
		"2^62 pages": func(b []byte) {
			metas(b, func(m []byte) {
				le.PutUint64(m[40:], 1<<62)
			})
		},
		"pages of 3 bytes": func(b []byte) {
			metas(b, func(m []byte) {
				le.PutUint32(m[8:], 3)
			})
		},
		"pages of 4 GB": func(b []byte) {
			metas(b, func(m []byte) {
				le.PutUint32(m[8:], ^uint32(0))
			})
		},
		"a free page in use": func(b []byte) {
			patchPage(b, free, func(p []byte) {
				le.PutUint64(p[pageHeader:], uint64(leaf))
			})
		},
		"a free list longer than itself": func(b []byte) {
			patchPage(b, free, func(p []byte) {
				le.PutUint16(p[10:], 0xfffe)
			})
		},
		"a free list of 2^60": func(b []byte) {
			patchPage(b, free, func(p []byte) {
				le.PutUint16(p[10:], 0xffff)
				le.PutUint64(p[pageHeader:], 1<<60)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(whole)
			hurt(b)
			path := filepath.Join(t.TempDir(), dbName)
			ok(t, os.WriteFile(path, b, 0o600))
			_, err := surveyDatabase(path, nil)
			wants(t, err, errCorrupt)
			// As the database, with no snapshot: bbolt must not be given it.
			s := newStore(t)
			ok(t, s.Writable())
			ok(t, os.WriteFile(filepath.Join(s.dir, dbName), b, 0o600))
			o := own(t, s)
			ok(t, o.Put(Decisions, hashKey(1), decision(1)))
			ok(t, o.Publish())
			if _, err := surveyDatabase(filepath.Join(s.dir, dbName), nil); err != nil {
				t.Error(err)
			}
			if notes := o.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "kept as") {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}

// A database of a later bbolt is somebody's: left alone.
func TestNewerBbolt(t *testing.T) {
	s := newStore(t)
	fill(t, s, 3)
	path := filepath.Join(s.dir, dbName)
	b, err := os.ReadFile(path)
	ok(t, err)
	for p := range 2 {
		patchPage(b, p, func(p []byte) { binary.LittleEndian.PutUint32(p[pageHeader+4:], boltVersion+1) })
	}
	ok(t, os.WriteFile(path, b, 0o600))
	_, err = s.Own(context.Background())
	wants(t, err, ErrVersion)
	if after, _ := os.ReadFile(path); !bytes.Equal(after, b) {
		t.Error("it was changed")
	}
}

// The file shrinks while it is mapped: what would be SIGBUS is an error.
func TestTruncatedUnderOwner(t *testing.T) {
	s := newStore(t)
	fill(t, s, 600)
	o := own(t, s)
	ok(t, os.Truncate(filepath.Join(s.dir, dbName), 8192))
	failedOnce := false
	for i := range 600 {
		if _, err := o.Get(Decisions, hashKey(i), nil); err != nil {
			wants(t, err, errCorrupt)
			failedOnce = true
		}
	}
	if !failedOnce {
		t.Error("nobody noticed")
	}
	o.Close()
	o = own(t, s)
	for i := range 600 {
		if hit, err := o.Get(Decisions, hashKey(i), nil); !hit || err != nil {
			t.Fatalf("record %d: %v %v", i, hit, err)
		}
	}
}

// smallPages is a database with pages of 1 KiB, the smallest that there are: a fuzzer gets around
// in it.
func smallPages(f *testing.F, n int) []byte {
	path := filepath.Join(f.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 1024})
	ok(f, err)
	ok(f, db.Update(func(tx *bbolt.Tx) error {
		for i := range n {
			ok(f, put(tx, Decisions, hashKey(i)[:8], 1, []byte("1")))
			ok(f, put(tx, Links, hashKey(i)[:8], 1, []byte("1")))
		}
		return nil
	}))
	ok(f, db.Close())
	b, err := os.ReadFile(path)
	ok(f, err)
	t, err := openTree(bytes.NewReader(b), int64(len(b)))
	ok(f, err)
	return b[:t.pages*1024]
}

func FuzzPages(f *testing.F) {
	f.Add(smallPages(f, 2))
	f.Add(smallPages(f, 40))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		// The meta page's sum stands in the way of all that lies behind it.
		for p := 0; p < 2 && len(b) >= 2048; p++ {
			m := b[p*1024+pageHeader:]
			binary.LittleEndian.PutUint32(m, boltMagic)
			binary.LittleEndian.PutUint32(m[4:], boltVersion)
			binary.LittleEndian.PutUint32(m[8:], 1024)
			h := fnv.New64a()
			h.Write(m[:metaSize-8])
			binary.LittleEndian.PutUint64(m[metaSize-8:], h.Sum64())
		}
		tr, err := openTree(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		tr.survey(func(string, string, int64, []byte) error { return nil })
	})
}

func FuzzSpoolFile(f *testing.F) {
	b, _ := encodeSpooled(Decisions, "k", 1, decision(1))
	f.Add(b)
	f.Add([]byte(`{"Schema":1,"Bucket":"decision","Key":"k"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeSpooled(Hash(b)+spoolExt, b)
		if err == nil && (checkRecord(r.Bucket, r.Key) != nil || len(r.Record) == 0) {
			t.Errorf("taken: %+v", r)
		}
	})
}

func FuzzUnseal(f *testing.F) {
	f.Add(seal("w", 1, []byte("body")))
	f.Fuzz(func(t *testing.T, b []byte) {
		body, stamp, err := unseal("w", b)
		if err == nil && !bytes.Equal(body, b[bytes.IndexByte(b, '\n')+1:]) {
			t.Errorf("%q gives %q, %d", b, body, stamp)
		}
	})
}
