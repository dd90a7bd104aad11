package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"gnvcc/cache"
)

// The form of an artefact. A shard is text, a decision a line: its key, a space, its JSON; sorted
// by key, zstd around it. Sixteen shards, by the first digit of the kernel's identity: with one
// more kernel a push carries a sixteenth (registries answer a request in 3 to 9 ms, so that a blob
// for each kernel would take seconds).

const (
	format = 1
	// Shards is how many an artefact has: one for each first digit of an identity.
	Shards = 16

	// What an artefact may have, so that a hostile one can't eat a machine. Measured: 10,000
	// decisions with their evidence have 13 MB.
	MaxIndex    = 64 << 10 // bytes
	MaxShard    = 256 << 20
	maxUnpacked = 1 << 30
)

// Several is the publisher of a tag that several stores add to.
const Several = "several"

// An Index says what an artefact holds.
type Index struct {
	Format    int
	Tag       string // that it was pushed under: another's can't be passed off as this one
	Publisher string // the store that it was pushed from (cache.Snapshot.ID)
	Host      string // for people
	Gnvcc     string
	Time      time.Time // later with each push under a tag
	Shards    []Shard
}

// A Shard is one of the sixteen.
type Shard struct {
	Digest    string // sha256 of the packed form, hexadecimal
	Size      int64  // of that, bytes
	Unpacked  int64
	Decisions int
}

// Decisions is how many there are in all.
func (x *Index) Decisions() (n int) {
	for _, s := range x.Shards {
		n += s.Decisions
	}
	return n
}

// pack makes the shards of decisions: the index without a name, and the blobs by their hashes.
func pack(decisions []cache.Decision) (x *Index, blobs map[string][]byte, err error) {
	byKey := map[string]cache.Decision{}
	for _, d := range decisions {
		if !cache.IsHash(d.Identity) {
			return nil, nil, fmt.Errorf("pack decisions: %q is no kernel's identity", d.Identity)
		}
		byKey[d.Key()] = d
	}
	var text [Shards]bytes.Buffer
	var count [Shards]int
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		raw, err := json.Marshal(byKey[key])
		if err != nil {
			return nil, nil, fmt.Errorf("pack decisions: %w", err)
		}
		i := shardOf(key)
		fmt.Fprintf(&text[i], "%s %s\n", key, raw)
		count[i]++
	}
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, nil, err
	}
	defer pack.Close()
	x, blobs = &Index{Format: format}, map[string][]byte{}
	for i := range text {
		packed := pack.EncodeAll(text[i].Bytes(), nil)
		if len(packed) > MaxShard || text[i].Len() > maxUnpacked {
			return nil, nil, fmt.Errorf("pack decisions: a shard of %d bytes: at most %d are taken",
				len(packed), MaxShard)
		}
		digest := cache.Hash(packed)
		blobs[digest] = packed
		x.Shards = append(x.Shards, Shard{Digest: digest, Size: int64(len(packed)),
			Unpacked: int64(text[i].Len()), Decisions: count[i]})
	}
	return x, blobs, nil
}

// Pack is pack into a folder of blobs.
func Pack(folder string, decisions []cache.Decision) (*Index, error) {
	x, blobs, err := pack(decisions)
	for _, b := range blobs {
		if err == nil {
			_, err = put(folder, b)
		}
	}
	return x, err
}

// Read reads all shards from a folder of blobs.
func (x *Index) Read(folder string) (lists [][]cache.Arrived, err error) {
	for i, s := range x.Shards {
		packed, err := os.ReadFile(BlobPath(folder, s.Digest))
		if err != nil {
			return nil, err
		}
		list, err := x.Unpack(i, packed)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// shardOf says which shard a key belongs to, from 0; -1: none.
func shardOf(key string) int { return strings.IndexByte("0123456789abcdef", key[0]) }

var tagText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
})

// IsTag reports whether a word may be a registry's tag. It becomes the name of a file, too.
func IsTag(s string) bool { return tagText().MatchString(s) }

// errVersion is wrapped where an artefact is of a newer gnvcc.
var errVersion = errors.New("of a newer gnvcc: use one version in a team")

// ReadIndex reads an index that is to stand under a tag.
func ReadIndex(text []byte, tag string) (*Index, error) {
	var x Index
	if len(text) > MaxIndex {
		return nil, fmt.Errorf("an index of %d bytes: at most %d are taken", len(text), MaxIndex)
	}
	if err := json.Unmarshal(text, &x); err != nil {
		return nil, fmt.Errorf("its index can't be read: %w", err)
	}
	switch {
	case x.Format > format:
		return nil, errVersion
	case x.Format != format || len(x.Shards) != Shards:
		return nil, fmt.Errorf("format %d with %d shards: no artefact of gnvcc push", x.Format,
			len(x.Shards))
	case x.Tag != tag:
		return nil, fmt.Errorf("it was pushed as %q, and stands as %q", x.Tag, tag)
	}
	for i, s := range x.Shards {
		if !cache.IsHash(s.Digest) || s.Size < 0 || s.Size > MaxShard || s.Unpacked < 0 ||
			s.Unpacked > maxUnpacked || s.Decisions < 0 {
			return nil, fmt.Errorf("shard %x: its description is wrong", i)
		}
	}
	return &x, nil
}

// Unpack gives the decisions of shard i, from its packed form. Everything is compared.
func (x *Index) Unpack(i int, packed []byte) ([]cache.Arrived, error) {
	s := x.Shards[i]
	wrong := func(f string, args ...any) ([]cache.Arrived, error) {
		return nil, fmt.Errorf("shard %x: %w", i, fmt.Errorf(f, args...))
	}
	if int64(len(packed)) != s.Size {
		return wrong("%d bytes where the index says %d", len(packed), s.Size)
	}
	if cache.Hash(packed) != s.Digest {
		return wrong("its content has another hash than the index says")
	}
	const window = 64 << 20
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(uint64(s.Unpacked)+window), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return wrong("%w", err)
	}
	defer reader.Close()
	text, err := reader.DecodeAll(packed, make([]byte, 0, min(s.Unpacked, window)))
	if err != nil {
		return wrong("unpack: %w", err)
	}
	if int64(len(text)) != s.Unpacked {
		return wrong("%d bytes unpacked where the index says %d", len(text), s.Unpacked)
	}
	out := make([]cache.Arrived, 0, min(s.Decisions, 1<<20))
	last := ""
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		key, raw, ok := bytes.Cut(line, []byte(" "))
		d := cache.Arrived{Raw: raw}
		switch {
		case !whole || !ok:
			return wrong("a line is cut off")
		case json.Unmarshal(raw, &d.Decision) != nil:
			return wrong("a decision can't be read")
		case !cache.IsHash(d.Identity) || d.Key() != string(key):
			return wrong("a decision stands under another's key")
		case shardOf(d.Identity) != i:
			return wrong("a decision belongs to another shard")
		case d.Key() <= last:
			return wrong("a decision stands out of order")
		}
		last = d.Key()
		out = append(out, d)
	}
	if len(out) != s.Decisions {
		return wrong("%d decisions where the index says %d", len(out), s.Decisions)
	}
	return out, nil
}
