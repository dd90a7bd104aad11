package cache

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// mendSum gives b's header the checksum that its content has, so that damage is behind the header's
// back.
func mendSum(t testing.TB, b []byte, change func(h *flatHeader)) []byte {
	t.Helper()
	f, err := openFlat(bytes.NewReader(b), int64(len(b)))
	ok(t, err)
	change(&f.head)
	f.head.Sum = crc32.Checksum(b[flatHead:], castagnoli)
	ok(t, putFlatHead(b, f.head))
	return b
}

// Damage made on purpose, where the seals agree: what random bits hardly hit.
func TestHostileSnapshot(t *testing.T) {
	const n = 60
	whole := filled(t, n)
	le := binary.LittleEndian
	offset := func(b []byte, i int) []byte { return b[len(b)-flatEntry*n+flatEntry*i:] }
	same := func(*flatHeader) {}
	for name, hurt := range map[string]struct {
		bytes func(b []byte)
		head  func(h *flatHeader)
	}{
		"a name's start that is another's": {func(b []byte) {
			copy(offset(b, 30)[8:], "decision\x00zz")
		}, same},
		"two records exchanged": {func(b []byte) {
			first, second := le.Uint64(offset(b, 20)), le.Uint64(offset(b, 40))
			le.PutUint64(offset(b, 20), second)
			le.PutUint64(offset(b, 40), first)
		}, same},
		"an offset before the records": {func(b []byte) { le.PutUint64(offset(b, 30), 0) }, same},
		"an offset behind the end":     {func(b []byte) { le.PutUint64(offset(b, 30), 1<<62) }, same},
		"an offset in the table": {func(b []byte) {
			le.PutUint64(offset(b, n-1), uint64(len(b)-flatEntry))
		}, same},
		"all offsets alike": {func(b []byte) { copy(offset(b, 1), offset(b, 0)[:8]) }, same},
		"a name of 64 KB": {func(b []byte) {
			le.PutUint16(b[le.Uint64(offset(b, 30)):], 0xffff)
		}, same},
		"a name without a bucket": {func(b []byte) {
			le.PutUint16(b[le.Uint64(offset(b, 30)):], 0)
		}, same},
		"fewer records than there are":  {func([]byte) {}, func(h *flatHeader) { h.Records-- }},
		"more records than there are":   {func([]byte) {}, func(h *flatHeader) { h.Records = 1 << 60 }},
		"less than no record":           {func([]byte) {}, func(h *flatHeader) { h.Records = -1 }},
		"a table in the header":         {func([]byte) {}, func(h *flatHeader) { h.Table = 8 }},
		"a table behind the end":        {func([]byte) {}, func(h *flatHeader) { h.Table = 1 << 62 }},
		"a size that is not the file's": {func([]byte) {}, func(h *flatHeader) { h.Size++ }},
		"format 0":                      {func([]byte) {}, func(h *flatHeader) { h.Format = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(whole)
			hurt.bytes(b)
			path := filepath.Join(t.TempDir(), snapName)
			ok(t, os.WriteFile(path, mendSum(t, b, hurt.head), 0o600))
			useSnapshot(t, path, n)
			_, err := surveySnapshot(path, nil)
			wants(t, err, errCorrupt)
		})
	}
}

// What a build reads of any bytes is a record that was written, or an error.
func FuzzSnapshot(f *testing.F) {
	whole := filled(f, 20)
	f.Add(whole[flatHead:], 20)
	f.Add(filled(f, 0)[flatHead:], 0)
	f.Add([]byte{}, 1)
	want := map[string]string{}
	for i := range 20 {
		raw, err := encodeRecord(Decisions, hashKey(i), decision(i))
		ok(f, err)
		want[hashKey(i)] = string(raw)
	}
	head, err := openFlat(bytes.NewReader(whole), int64(len(whole)))
	ok(f, err)
	f.Fuzz(func(t *testing.T, b []byte, records int) {
		// The header is sealed, and stands in the way of all that lies behind it.
		flat := &flat{head: head.head, data: bytes.NewReader(append(bytes.Clone(whole[:flatHead]), b...))}
		flat.table = flat.data
		flat.head.Size = int64(flatHead + len(b))
		if records < 0 || records > len(b)/flatEntry {
			return // openFlat refuses it
		}
		flat.head.Table, flat.head.Records = flat.head.Size-flatEntry*int64(records), records
		sn := &Snapshot{path: "fuzz", flat: flat}
		for i := range 20 {
			var d Decision
			hit, err := sn.Get(Decisions, hashKey(i), &d)
			if hit && (err != nil || d.Recipe != decision(i).Recipe) {
				t.Errorf("record %d: %+v, %v", i, d, err)
			}
		}
		sn.Each(Decisions, "1", func(key string, raw []byte) error {
			if text, known := want[key]; known && text != string(raw) {
				t.Errorf("%s is %s", key, raw)
			}
			return nil
		})
		flat.survey(nil)
	})
}

func FuzzSnapshotHead(f *testing.F) {
	f.Add(filled(f, 2))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		flat, err := openFlat(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			flat.survey(nil)
		}
	})
}

// The file for compiler caches stays as it is, byte for byte, unless a build may give something
// else.
func TestRecipesFile(t *testing.T) {
	s := newStore(t)
	o := own(t, s)
	now := func() string {
		ok(t, o.Publish())
		b, err := os.ReadFile(s.RecipesPath())
		ok(t, err)
		return string(b)
	}
	put := func(d Decision) { ok(t, o.Put(Decisions, d.Identity, d)) }
	empty := now()
	ok(t, o.Put(Assemblies, hashKey(1), Assembly{Target: "sm_90"}))
	ok(t, o.Put(Translations, hashKey(1), Translation{}))
	ok(t, o.Put(Links, hashKey(1), Link{}))
	nothing := decision(2)
	nothing.Recipe = ""
	put(nothing)
	if now() != empty {
		t.Error("a note of a build, or a kernel for which nothing was found, changed it")
	}
	put(decision(1))
	one := now()
	if one == empty {
		t.Error("a recipe did not change it")
	}
	again := decision(1)
	again.Kernel, again.Evidence.Note, again.Time = "_Z1other", "measured again",
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	put(again)
	if now() != one {
		t.Error("new evidence for the same recipe changed it")
	}
	again.Evidence.Normals = map[string]string{"unroll=2": "hash"}
	put(again)
	two := now()
	if two == one {
		t.Error("what a build compares a source variant with did not change it")
	}
	ok(t, o.Put("pinned", hashKey(1), "maxnreg=32"))
	if now() == two {
		t.Error("a record of a kind that is not known did not change it")
	}
	ok(t, o.Delete("pinned", hashKey(1)))
	// A second word on the kernel counts, even that there is nothing better; which is the newer one,
	// not by how much.
	second := decision(1)
	second.Recipe, second.Time = "", again.Time.AddDate(1, 0, 0)
	second.Evidence.Device, second.Evidence.Launches = "NVIDIA H200", []Launch{{Count: 1}}
	key := hashKey(1) + ".d1"
	ok(t, o.Put(Decisions, key, second))
	three := now()
	if three == two {
		t.Error("a later decision on the same kernel did not change it")
	}
	second.Time = second.Time.AddDate(1, 0, 0)
	ok(t, o.Put(Decisions, key, second))
	if now() != three {
		t.Error("the same, measured later, changed it")
	}
	second.Time = second.Time.AddDate(-5, 0, 0)
	ok(t, o.Put(Decisions, key, second))
	if now() == three {
		t.Error("which one is newer did not change it")
	}
	ok(t, o.Delete(Decisions, key))
	ban := Ban{Levers: []string{"hint"}}
	ok(t, o.Put(Bans, hashKey(1), ban))
	banned := now()
	ban.Time = again.Time.AddDate(9, 0, 0)
	ok(t, o.Put(Bans, hashKey(1), ban))
	if now() != banned || banned == two {
		t.Error("a ban counts, and when it was said does not")
	}
	ok(t, o.Delete(Bans, hashKey(1)))
	ok(t, o.Delete(Decisions, hashKey(1)))
	if now() != empty {
		t.Error("without recipes it is not what it was")
	}
	// A kill between the snapshot and this file: the next owner mends it.
	put(decision(1))
	put(decision(3))
	whole := now()
	ok(t, o.Close())
	ok(t, os.WriteFile(s.RecipesPath(), []byte(empty), 0o600))
	o = own(t, s)
	if now() != whole {
		t.Error("a stale one stays")
	}
}
