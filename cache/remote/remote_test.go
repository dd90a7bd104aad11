package remote

import (
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"gnvcc/cache"
)

// decision makes one that was measured.
func decision(identity, device, recipe string, minute, checks int) cache.Decision {
	d := cache.Decision{Identity: identity, Kernel: "_Z1kPf", Target: "sm_90", Recipe: recipe,
		Exactness: "construction", Time: time.Unix(int64(60*minute), 0).UTC()}
	d.Evidence.Device = device
	if checks > 0 {
		d.Evidence.Launches = []cache.Launch{{Checked: checks}}
	}
	return d
}

// id is an identity that begins with a digit.
func id(digit string) string { return digit + strings.Repeat("a", 63) }

// arrive puts an artefact where a pull would.
func arrive(t *testing.T, r *Remote, x *Index, blobs map[string][]byte) []byte {
	t.Helper()
	for digest, b := range blobs {
		if err := os.WriteFile(filepath.Join(Blobs(r.dir), digest), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func packed(t *testing.T, tag string, minute int, all ...cache.Decision) (
	*Index, map[string][]byte) {
	t.Helper()
	x, blobs, err := pack(all)
	if err != nil {
		t.Fatal(err)
	}
	x.Tag, x.Time = tag, time.Unix(int64(60*minute), 0).UTC()
	return x, blobs
}

func opened(t *testing.T) (*cache.Store, *Remote) {
	t.Helper()
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(store, "team", "host/team")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return store, r
}

func every(cache.Decision) bool { return true }

// TestMerge: whichever order publishers come in, the same decision stands.
func TestMerge(t *testing.T) {
	const h200, h100 = "NVIDIA H200", "NVIDIA H100"
	a := decision(id("0"), h200, "maxnreg=40", 1, 3)
	newer := decision(id("0"), h200, "maxnreg=48", 2, 1)
	more := decision(id("0"), h200, "maxnreg=56", 2, 2)
	tie := decision(id("0"), h200, "maxnreg=64", 2, 2)
	unmeasured := decision(id("0"), h200, "", 9, 0)
	other := decision(id("0"), h100, "maxnreg=32", 1, 1)
	var lists [][]cache.Arrived
	for _, list := range [][]cache.Decision{{a}, {newer, other}, {unmeasured}, {more}, {tie}} {
		var arrived []cache.Arrived
		for _, d := range list {
			raw, _ := json.Marshal(d)
			arrived = append(arrived, cache.Arrived{Decision: d, Raw: raw})
		}
		lists = append(lists, arrived)
	}
	for n := range 20 {
		turned := slices.Clone(lists)
		for i := range turned {
			j := (i*7 + n*3) % len(turned)
			turned[i], turned[j] = turned[j], turned[i]
		}
		var got []string
		for _, d := range Merge(turned) {
			got = append(got, d.Evidence.Device+" "+d.Recipe)
		}
		slices.Sort(got)
		if want := []string{h100 + " maxnreg=32", h200 + " maxnreg=56"}; !slices.Equal(got, want) {
			t.Fatalf("turn %d: %q, want %q", n, got, want)
		}
	}
}

// TestRound: what one packs another reads, shard by shard; one more kernel is one more shard.
func TestRound(t *testing.T) {
	store, r := opened(t)
	var all []cache.Decision
	for i := range 200 {
		all = append(all, decision(cache.Hash([]byte{byte(i)}), "NVIDIA H200", "maxnreg=40", i, 1))
	}
	x, blobs := packed(t, "one", 1, all...)
	index := arrive(t, r, x, blobs)
	if _, _, err := r.Check("one", index, "", nil); err != nil {
		t.Fatal(err)
	}
	r.Tags["one"] = Tag{Digest: "sha256:1", Index: index}
	y, more := packed(t, "two", 2, append(all, decision(id("0"), "NVIDIA H200", "maxnreg=56", 9, 1))...)
	changed := 0
	for i := range x.Shards {
		if x.Shards[i] != y.Shards[i] {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d shards have changed, want 1", changed)
	}
	r.Tags["two"] = Tag{Digest: "sha256:2", Index: arrive(t, r, y, more)}
	if n, left, err := r.Publish(every); n != 201 || left != 0 || err != nil {
		t.Fatalf("%d decisions, %d left out, %v", n, left, err)
	}
	for _, dir := range store.Remotes() {
		sn, err := cache.OtherSnapshot(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := sn.AllDecisions()
		sn.Close()
		if err != nil || len(got) != 201 {
			t.Errorf("%d decisions, %v", len(got), err)
		}
	}
	// Without the second, its shard goes, too.
	delete(r.Tags, "two")
	if n, _, err := r.Publish(every); n != 200 || err != nil {
		t.Fatalf("%d decisions, %v", n, err)
	}
	if files, _ := os.ReadDir(Blobs(r.dir)); len(files) != Shards {
		t.Errorf("%d shards are kept, want %d", len(files), Shards)
	}
	again, problems := All(store)
	if len(again) != 1 || problems != nil || len(again[0].Tags) != 1 {
		t.Errorf("%+v, %v", again, problems)
	}
}

// TestForged: each of these is consistent in its hashes, and refused as a whole.
func TestForged(t *testing.T) {
	pack := func(lines string) []byte {
		w, _ := zstd.NewWriter(nil)
		return w.EncodeAll([]byte(lines), nil)
	}
	line := func(d cache.Decision, key string) string {
		raw, _ := json.Marshal(d)
		return fmt.Sprintf("%s %s\n", key, raw)
	}
	d, e := decision(id("3"), "NVIDIA H200", "maxnreg=40", 1, 1),
		decision(id("4"), "NVIDIA H200", "maxnreg=40", 1, 1)
	again := decision(id("3"), "NVIDIA H100", "maxnreg=40", 1, 1)
	both := []string{line(d, d.Key()), line(again, again.Key())}
	slices.Sort(both)
	for name, c := range map[string]struct {
		text      string
		decisions int
		change    func(*Index)
		want      string
	}{
		"sound":             {both[0] + both[1], 2, nil, ""},
		"another's key":     {line(d, e.Key()), 1, nil, "stands under another's key"},
		"another shard":     {line(e, e.Key()), 1, nil, "belongs to another shard"},
		"no identity":       {line(decision("3../../x", "", "", 1, 1), "3../../x"), 1, nil, "another's key"},
		"out of order":      {both[1] + both[0], 2, nil, "out of order"},
		"twice":             {both[0] + both[0], 2, nil, "out of order"},
		"fewer":             {both[0], 2, nil, "1 decisions where the index says 2"},
		"cut line":          {strings.TrimSuffix(both[0], "\n"), 1, nil, "cut off"},
		"no JSON":           {d.Key() + " {\n", 1, nil, "can't be read"},
		"longer than said":  {both[0], 1, func(x *Index) { x.Shards[3].Unpacked = 5 }, "unpacked where"},
		"another size":      {both[0], 1, func(x *Index) { x.Shards[3].Size++ }, "where the index says"},
		"a negative size":   {both[0], 1, func(x *Index) { x.Shards[3].Size = -1 }, "description is wrong"},
		"too large":         {both[0], 1, func(x *Index) { x.Shards[3].Unpacked = 1 << 50 }, "description is wrong"},
		"a path for a hash": {both[0], 1, func(x *Index) { x.Shards[3].Digest = "../../../etc/passwd" }, "description is wrong"},
		"seventeen shards":  {both[0], 1, func(x *Index) { x.Shards = append(x.Shards, x.Shards[0]) }, "no artefact"},
		"another tag's":     {both[0], 1, func(x *Index) { x.Tag = "two" }, `pushed as "two"`},
		"a newer format":    {both[0], 1, func(x *Index) { x.Format = 2 }, "newer gnvcc"},
		"not there":         {both[0], 1, func(x *Index) { x.Shards[3].Digest = id("f") }, "has not arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := opened(t)
			x, blobs := packed(t, "one", 1)
			b := pack(c.text)
			digest := cache.Hash(b)
			blobs[digest] = b
			x.Shards[3] = Shard{digest, int64(len(b)), int64(len(c.text)), c.decisions}
			if c.change != nil {
				c.change(x)
			}
			_, _, err := r.Check("one", arrive(t, r, x, blobs), "", nil)
			if c.want == "" && err != nil || c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("flipped", func(t *testing.T) {
		_, r := opened(t)
		x, blobs := packed(t, "one", 1, d)
		blobs[x.Shards[3].Digest][20] ^= 1
		index := arrive(t, r, x, blobs)
		if _, _, err := r.Check("one", index, "", nil); err == nil {
			t.Error("taken")
		}
		blobs[x.Shards[3].Digest][20] ^= 1 // it comes again, and is sound
		if _, _, err := r.Check("one", arrive(t, r, x, blobs), "", nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		for _, text := range []string{"", "{", "null", "[]", strings.Repeat(" ", MaxIndex+1)} {
			if _, err := ReadIndex([]byte(text), "one"); err == nil {
				t.Errorf("%.20q is taken", text)
			}
		}
	})
}

// TestOlder: what came later is not undone, unless asked.
func TestOlder(t *testing.T) {
	_, r := opened(t)
	x, blobs := packed(t, "one", 5, decision(id("3"), "NVIDIA H200", "maxnreg=40", 1, 1))
	r.Tags["one"] = Tag{Index: arrive(t, r, x, blobs)}
	y, blobs := packed(t, "one", 4)
	index := arrive(t, r, y, blobs)
	if _, _, err := r.Check("one", index, "", nil); err == nil ||
		!strings.Contains(err.Error(), "older than what was pulled before") {
		t.Errorf("taken: %v", err)
	}
}

// TestSign: only a believed key's signature, of this very index, counts.
func TestSign(t *testing.T) {
	dir := t.TempDir()
	file := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))
	private := file("key.pem", "PRIVATE KEY", append(slices.Clone(privateHead), key.Seed()...))
	public := file("team.pub", "PUBLIC KEY", append(slices.Clone(publicHead),
		key.Public().(ed25519.PublicKey)...))
	stranger := file("other.pub", "PUBLIC KEY", append(slices.Clone(publicHead), make([]byte, 32)...))
	index := []byte("{}")
	signature, err := Sign(index, private)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	name, err := keys.Verify(index, signature)
	if err != nil || !keys.Has(name) {
		t.Errorf("%q, %v", name, err)
	}
	others, err := ReadKeys(stranger)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		keys             Keys
		index, signature string
	}{
		"another index": {keys, "{ }", signature}, "another key": {others, "{}", signature},
		"none": {keys, "{}", ""}, "no base64": {keys, "{}", "%"},
		"short": {keys, "{}", signature[:40]}, "no keys": {Keys{}, "{}", signature},
	} {
		if _, err := c.keys.Verify([]byte(c.index), c.signature); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
	if others.Has(name) || others.Has("") {
		t.Error("a key that is none of them counts")
	}
}

// TestAtOnce: one pull of a remote at a time.
func TestAtOnce(t *testing.T) {
	store, r := opened(t)
	if _, err := Open(store, "team", "host/team"); err == nil ||
		!strings.Contains(err.Error(), "another gnvcc pulls") {
		t.Errorf("%v", err)
	}
	r.Close()
	for _, name := range []string{"..", "", "a/b", ".x", strings.Repeat("x", 201)} {
		if other, err := Open(store, name, "host/team"); err == nil {
			other.Close()
			t.Errorf("%q is taken for a name", name)
		}
		if Remove(store, name) == nil {
			t.Errorf("%q is removed", name)
		}
	}
}
