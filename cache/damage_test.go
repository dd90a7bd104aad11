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

// What is put and deleted in many ways is published, and the next owner has all of it.
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
	next := own(t, s)
	ok(t, next.Put(Bans, "k", 1)) // else nothing is written
	ok(t, next.Publish())
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

// filled gives the snapshot of a store with n decisions.
func filled(t testing.TB, n int) []byte {
	t.Helper()
	s := newStore(t)
	fill(t, s, n)
	b, err := os.ReadFile(filepath.Join(s.dir, snapName))
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
	whole := filled(t, n)
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

// Of a damaged snapshot the next owner has the database's records, or the sound ones where that is damaged,
// too; it says so, and the store works.
func TestDamagedOwner(t *testing.T) {
	const n = 120
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			fill(t, s, n)
			path := filepath.Join(s.dir, snapName)
			whole, err := os.ReadFile(path)
			ok(t, err)
			random := rand.New(rand.NewPCG(9, 10))
			for round := range 4 {
				hurt := damage(random, whole)
				ok(t, os.WriteFile(path, hurt, 0o600))
				both := round%2 == 1
				if both {
					ok(t, os.WriteFile(filepath.Join(s.dir, dbName), hurt, 0o600))
				}
				o, err := s.Own(context.Background())
				ok(t, err)
				if bytes.Equal(whole, hurt) != (len(o.Notes()) == 0) {
					t.Fatalf("notes: %q", o.Notes())
				}
				lost := 0
				for i := range n {
					var d Decision
					hit, err := o.Get(Decisions, hashKey(i), &d)
					if ok(t, err); !hit {
						lost++
					} else if d.Recipe != decision(i).Recipe {
						t.Fatalf("record %d: %+v", i, d)
					}
				}
				if !both && lost > 0 || name == "bit" && lost > 1 {
					t.Errorf("%d records are lost", lost)
				}
				ok(t, o.Put(Decisions, hashKey(1), decision(1)))
				ok(t, o.Publish())
				ok(t, o.Close())
				get(t, snapshot(t, s), 1)
				fill(t, s, n)
			}
		})
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
