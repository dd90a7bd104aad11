package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is put and deleted in many ways is published, and a database made anew from the snapshot has
// all of it.
func TestAgainstModel(t *testing.T) {
	for _, n := range []int{0, 1, 5, 60, 3000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { againstModel(t, n) })
	}
}

// fillModel puts and deletes records of many sizes, and returns what is left.
func fillModel(t *testing.T, o *Owner, n int) (model map[string]string) {
	random := rand.New(rand.NewPCG(uint64(n), 3))
	model = map[string]string{}
	for range 5 {
		records := map[string]any{}
		for range n / 5 {
			key := fmt.Sprintf("%x", random.IntN(4*n))
			size := random.IntN(60)
			if random.IntN(200) == 0 {
				size = random.IntN(30000)
			}
			text := strings.Repeat("x", size) + key
			model[key], records[key] = fmt.Sprintf("%q", text), text
		}
		ok(t, o.PutAll(Decisions, records))
		ok(t, o.PutAll(Links, records))
		var gone []string
		for key := range model {
			if random.IntN(10) == 0 {
				delete(model, key)
				gone = append(gone, key)
			}
		}
		ok(t, o.Delete(Decisions, gone...))
	}
	return model
}

func againstModel(t *testing.T, n int) {
	s := newStore(t)
	o := own(t, s)
	model := fillModel(t, o, n)
	ok(t, o.Publish())
	ok(t, o.Close())
	ok(t, os.Remove(filepath.Join(s.dir, dbName)))
	ok(t, own(t, s).Publish())
	published, err := surveySnapshot(filepath.Join(s.dir, snapName), nil)
	ok(t, err)
	if published.Records[Decisions] != len(model) {
		t.Fatalf("published %+v, want %d decisions", published, len(model))
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

// A damaged database is made anew: nothing published is lost, and it is as the snapshot.
func TestDamagedDatabase(t *testing.T) {
	const n = 300
	s := newStore(t)
	fill(t, s, n)
	path := filepath.Join(s.dir, dbName)
	whole, err := os.ReadFile(path)
	ok(t, err)
	hostile := maps.Clone(damages)
	hostile["page that leads to itself"] = leadsToItself
	for name, damage := range hostile {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 8))
			for range 25 {
				ok(t, os.WriteFile(path, damage(random, whole), 0o600))
				o, err := s.Own(context.Background())
				ok(t, err)
				for i := range n {
					var d Decision
					if hit, err := o.Get(Decisions, hashKey(i), &d); !hit || err != nil ||
						d.Recipe != decision(i).Recipe {
						t.Fatalf("record %d: %v %v %+v", i, hit, err, d)
					}
				}
				if len(o.Notes()) > 0 {
					t.Fatalf("nothing is missing: %q", o.Notes())
				}
				ok(t, o.Close())
			}
		})
	}
}

// leadsToItself makes every child of every branch page that page itself: bbolt's own search for a
// key would end the process, since its stack overflows, which no recover catches.
func leadsToItself(_ *rand.Rand, b []byte) []byte {
	b, le, pages := bytes.Clone(b), binary.LittleEndian, 0
	for p := 2; p < len(b)/4096; p++ {
		page := b[p*4096:][:4096]
		if le.Uint16(page[8:]) != 1 { // bbolt's flag of a branch page
			continue
		}
		for i := range int(le.Uint16(page[10:])) {
			le.PutUint64(page[16+16*i+8:], uint64(p))
		}
		pages++
	}
	if pages == 0 {
		panic("no branch page")
	}
	return b
}

// What was put and not published goes with the owner; what was merged comes again from the spool.
func TestUnpublished(t *testing.T) {
	s := newStore(t)
	fill(t, s, 3)
	ok(t, s.Spool(Decisions, hashKey(3), decision(3)))
	o := own(t, s)
	ok(t, o.Put(Decisions, hashKey(4), decision(4)))
	if n, err := o.Merge(); n != 1 || err != nil {
		t.Fatalf("merged %d: %v", n, err)
	}
	ok(t, o.Close())
	o = own(t, s)
	if hit, err := o.Get(Decisions, hashKey(4), nil); hit || err != nil {
		t.Errorf("a record that nobody published: %v %v", hit, err)
	}
	if n, err := o.Merge(); n != 1 || err != nil {
		t.Fatalf("merged %d: %v", n, err)
	}
	ok(t, o.Publish())
	for i := range 4 {
		get(t, snapshot(t, s), i)
	}
	if names, _ := s.pending(); len(names) != 0 {
		t.Errorf("left in the spool: %v", names)
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
				damaged := 0
				for _, file := range []string{dbName, snapName} {
					path := filepath.Join(s.dir, file)
					b, err := os.ReadFile(path)
					ok(t, err)
					after := damage(random, b)
					ok(t, os.WriteFile(path, after, 0o600))
					if !bytes.Equal(b, after) {
						damaged++
					}
				}
				o, err := s.Own(context.Background())
				ok(t, err)
				ok(t, o.Put(Decisions, hashKey(1), decision(1)))
				ok(t, o.Publish())
				ok(t, o.Close())
				get(t, snapshot(t, s), 1)
				if damaged == 2 && len(o.Notes()) != 1 {
					t.Fatalf("notes: %q", o.Notes())
				}
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
	seal, err := os.ReadFile(filepath.Join(s.dir, sealName))
	ok(t, err)
	fill(t, s, 9)
	ok(t, os.WriteFile(path, old, 0o600))
	ok(t, os.WriteFile(filepath.Join(s.dir, sealName), seal, 0o600))
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
