package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Records come and go over some publications, and the snapshot gives back all that is left.
func TestAgainstModel(t *testing.T) {
	for _, n := range []int{0, 1, 5, 60, 3000, 40000} {
		if n == 40000 && testing.Short() {
			continue
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) { againstModel(t, n) })
	}
}

// someRecords puts, replaces and deletes some, by several owners.
func someRecords(t *testing.T, s *Store, n int) (model map[string]string) {
	random := rand.New(rand.NewPCG(uint64(n), 3))
	model = map[string]string{}
	for range 5 {
		o := own(t, s)
		for range n / 5 {
			key := fmt.Sprintf("%x", random.IntN(4*n))
			size := random.IntN(60)
			if random.IntN(200) == 0 {
				size = random.IntN(30000)
			}
			text := strings.Repeat("x", size) + key
			model[key] = fmt.Sprintf("%q", text)
			ok(t, o.Put(Decisions, key, text))
			ok(t, o.Put(Links, key, 1))
		}
		for key := range model {
			if random.IntN(10) == 0 {
				delete(model, key)
				ok(t, o.Delete(Decisions, key))
			}
		}
		ok(t, o.Publish())
		ok(t, o.Close())
	}
	return model
}

func againstModel(t *testing.T, n int) {
	s := newStore(t)
	model := someRecords(t, s, n)
	for _, name := range []string{snapName, copyName} {
		found, err := surveySnapshot(filepath.Join(s.dir, name), nil)
		ok(t, err)
		if found.Records[Decisions] != len(model) || found.Tx != 5 && n >= 5 {
			t.Fatalf("%s: %+v, want %d records", name, found, len(model))
		}
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

// The owner mends: the damaged file is kept, nothing that its copy has is lost, and what is
// published afterwards is sound.
func TestMendedSnapshot(t *testing.T) {
	const n = 300
	s := newStore(t)
	fill(t, s, n)
	path := filepath.Join(s.dir, snapName)
	// The copy is a publication behind, as a kill between the two leaves it.
	before, err := os.ReadFile(path)
	ok(t, err)
	o := own(t, s)
	ok(t, o.Put(Decisions, hashKey(n), decision(n)))
	ok(t, o.Publish())
	ok(t, o.Close())
	whole, err := os.ReadFile(path)
	ok(t, err)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 8))
			mended, survived := 0, 0
			rounds := 25
			for range rounds {
				b := damage(random, whole)
				ok(t, os.WriteFile(path, b, 0o600))
				ok(t, os.WriteFile(filepath.Join(s.dir, copyName), before, 0o600))
				o, err := s.Own(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				for i := range n {
					var d Decision
					if hit, err := o.Get(Decisions, hashKey(i), &d); !hit || err != nil ||
						d.Recipe != decision(i).Recipe {
						t.Fatalf("record %d: %v %v %+v", i, hit, err, d)
					}
				}
				last, _ := o.Get(Decisions, hashKey(n), nil)
				if last {
					survived++
				}
				broken, _ := filepath.Glob(path + brokenMark + "*")
				if !last && len(broken) == 0 {
					t.Fatal("a record was lost in silence")
				}
				if len(broken) > 0 {
					mended++
					old, err := os.ReadFile(broken[0])
					ok(t, err)
					if !bytes.Equal(old, b) || len(o.Notes()) == 0 {
						t.Fatalf("the damaged file was not kept, or not told: %q", o.Notes())
					}
					ok(t, os.Remove(broken[0]))
				}
				ok(t, o.Close())
				get(t, snapshot(t, s), n-1)
				if _, err := surveySnapshot(path, nil); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("mended %d of %d; the record that the copy has not survived in %d", mended, rounds,
				survived)
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
				for _, file := range []string{copyName, snapName} {
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

// A snapshot that lost its last publications (a disk that lied) is seen by its copy being ahead; one
// that was removed is made from it.
func TestBehindItsCopy(t *testing.T) {
	s := newStore(t)
	fill(t, s, 5)
	path := filepath.Join(s.dir, snapName)
	old, err := os.ReadFile(path)
	ok(t, err)
	fill(t, s, 9)
	for name, hurt := range map[string]func() error{
		"behind": func() error { return os.WriteFile(path, old, 0o600) },
		"gone":   func() error { return os.Remove(path) },
	} {
		ok(t, hurt())
		o := own(t, s)
		get(t, snapshot(t, s), 8)
		ok(t, o.Put(Decisions, hashKey(9), decision(9)))
		ok(t, o.Publish())
		get(t, snapshot(t, s), 9)
		if len(o.Notes()) == 0 {
			t.Error(name, "and mended without a word")
		}
		ok(t, o.Close())
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
