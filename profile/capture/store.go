package capture

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A Store is a folder of captures:
//
//	launches/ID.json       a manifest
//	chunks/ab/HASH.zst     content, by its SHA-256, compressed
//
// Files are written aside and renamed. Two processes may write, and one trim meanwhile: a chunk's
// age begins anew when it is used, and a capture is kept only while all of its chunks are there
// (keep). A chunk that has other content than its name says is removed when it is read, so that the
// next capture of the same content writes it anew.
type Store struct{ dir string }

// Open opens a folder of captures, and makes it if need be. Where it may not be made (a store on a
// read-only file system) there are none, and whoever writes one gets an error.
func Open(dir string) (*Store, error) {
	for _, d := range []string{"launches", "chunks"} {
		err := os.MkdirAll(filepath.Join(dir, d), 0o700)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return nil, fmt.Errorf("opening the folder of captures: %w", err)
		}
	}
	return &Store{dir}, nil
}

var coders = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	d, _ := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(mostBody), zstd.WithDecoderConcurrency(0))
	return e, d
})

var hashes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })
var ids = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{16}$`) })

// Path is the folder.
func (s *Store) Path() string { return s.dir }

func (s *Store) chunkPath(hash string) string {
	return filepath.Join(s.dir, "chunks", hash[:2], hash+".zst")
}

// put keeps content, and gives its chunk.
func (s *Store) put(b []byte) (Chunk, error) {
	sum := sha256.Sum256(b)
	c := Chunk{Size: int64(len(b)), Hash: hex.EncodeToString(sum[:])}
	path := s.chunkPath(c.Hash)
	if _, err := os.Stat(path); err == nil {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // in use: its age begins anew
		return c, nil
	}
	e, _ := coders()
	return c, s.write(path, e.EncodeAll(b, nil))
}

// write is writeAside where the disk has room.
func (s *Store) write(path string, b []byte) error {
	if err := RoomFor(s.dir, int64(len(b))); err != nil {
		return fmt.Errorf("keeping a capture: %w", err)
	}
	return writeAside(path, b)
}

// get gives a chunk's content, which is what its hash says.
func (s *Store) get(c Chunk) ([]byte, error) {
	if !hashes().MatchString(c.Hash) {
		return nil, damaged("a chunk called %q", c.Hash)
	}
	path := s.chunkPath(c.Hash)
	was, err := os.Stat(path)
	var b []byte
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a capture's content: %w", err)
	}
	if b, err = unpacked(c.Hash, b); err != nil {
		if now, e := os.Stat(path); e == nil && os.SameFile(was, now) { // it was not written anew
			os.Remove(path)
		}
		return nil, err
	}
	if int64(len(b)) != c.Size { // which is the manifest's fault
		return nil, damaged("a chunk has %d bytes, not %d", len(b), c.Size)
	}
	return b, nil
}

// unpacked is what a chunk's file holds, if it is what its name says.
func unpacked(hash string, packed []byte) ([]byte, error) {
	_, d := coders()
	b, err := d.DecodeAll(packed, nil)
	if err != nil {
		return nil, damaged("a chunk can't be decompressed (%v)", err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != hash {
		return nil, damaged("a chunk has other content than its name says")
	}
	return b, nil
}

// aside begins the names of files that are being written; a kill leaves them.
const aside = ".new-"

func writeAside(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keeping a capture: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), aside)
	if err != nil {
		return fmt.Errorf("keeping a capture: %w", err)
	}
	_, err = f.Write(b)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("keeping a capture: %w", err)
	}
	return nil
}

// Pack takes the agent's file into the store. m has what else is known; code is the cubin.
func (s *Store) Pack(raw io.Reader, code []byte, m Manifest) (*Manifest, error) {
	return s.pack(raw, code, m, nil)
}

// pack takes a file of a run that has others, which know of each other's content.
func (s *Store) pack(raw io.Reader, code []byte, m Manifest, have kept) (*Manifest, error) {
	m.Version = version
	r := bufio.NewReaderSize(raw, 1<<20)
	p := s.packer()
	p.known = have
	for whole := false; !whole; {
		t, body, err := readRecord(r)
		if err == nil {
			if whole = t == recEnd; whole {
				break
			}
			err = p.record(&m, t, body)
		}
		if err != nil {
			_ = p.finish(&m)
			return nil, err
		}
	}
	err := p.finish(&m)
	if err != nil {
		return nil, err
	}
	if m.Code, err = s.put(code); err != nil {
		return nil, err
	}
	slices.SortFunc(m.Ranges, func(a, b Range) int { return cmp.Compare(a.Base, b.Base) })
	if err := m.check(); err != nil {
		return nil, err
	}
	m.ID = ""
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("keeping a capture: %w", err)
	}
	sum := sha256.Sum256(text)
	m.ID = hex.EncodeToString(sum[:8])
	return &m, s.keep(&m)
}

// keep writes a manifest, also one that is there already, if all of its content is there: another
// process may have trimmed what is older than an hour, or found it damaged. No capture stays that
// names what is not there.
func (s *Store) keep(m *Manifest) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("keeping a capture: %w", err)
	}
	path := filepath.Join(s.dir, "launches", m.ID+".json")
	if err = s.hold(m); err == nil {
		if err = s.write(path, text); err != nil {
			return err
		}
		err = s.hold(m) // who trims may have looked before it was named
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}

// hold begins the age of a capture's content anew.
func (s *Store) hold(m *Manifest) error {
	now := time.Now()
	for _, h := range m.hashes() {
		if errors.Is(os.Chtimes(s.chunkPath(h), now, now), os.ErrNotExist) {
			return damaged("a part of its content was removed by another process, or found damaged")
		}
	}
	return nil
}

// Load reads a manifest.
func (s *Store) Load(id string) (*Manifest, error) {
	if !ids().MatchString(id) {
		return nil, fmt.Errorf("no such capture: %q (gnvcc doctor --captures lists them)", id)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "launches", id+".json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no such capture: %q (gnvcc doctor --captures lists them)", id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a capture: %w", err)
	}
	return decode(text, id)
}

func decode(text []byte, id string) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, damaged("%v", err)
	}
	m.ID = id
	return &m, m.check()
}

// List gives all captures that can be read, the heaviest first; skipped counts the others.
func (s *Store) List() (list []*Manifest, skipped int) {
	files, _ := os.ReadDir(filepath.Join(s.dir, "launches"))
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		if m, err := s.Load(id); err == nil {
			list = append(list, m)
		} else {
			skipped++
		}
	}
	slices.SortStableFunc(list, func(a, b *Manifest) int { return cmp.Compare(b.Weight(), a.Weight()) })
	return list, skipped
}

// Write writes the replayer's file of a capture.
func (s *Store) Write(m *Manifest, w io.Writer) error {
	if err := m.check(); err != nil {
		return err
	}
	uuid, err := hex.DecodeString(m.UUID)
	if err != nil || len(uuid) != 16 {
		return damaged("the device's UUID")
	}
	if _, _, _, err := settingsOf(m.Settings); err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<20)
	next, stop := s.ahead(m.chunks())
	defer stop()
	if err := m.write(b, uuid, next); err != nil {
		return err
	}
	return b.Flush()
}

// Code gives a capture's cubin.
func (s *Store) Code(m *Manifest) ([]byte, error) { return s.get(m.Code) }

// Drop removes a capture; its chunks go with the next Trim.
func (s *Store) Drop(id string) error {
	if !ids().MatchString(id) {
		return fmt.Errorf("no such capture: %q (gnvcc doctor --captures lists them)", id)
	}
	if err := os.Remove(filepath.Join(s.dir, "launches", id+".json")); err != nil {
		return fmt.Errorf("dropping a capture: %w", err)
	}
	return nil
}

// Trim removes captures that are too old, the oldest beyond the total, those that can't be read,
// and chunks that no capture names and that are older than an hour (a younger one may belong to a
// capture that is being packed); of files that are written aside, too, those older than that.
func (s *Store) Trim(l Limits) error {
	// What is written from here on is not to be removed.
	files, err := os.ReadDir(filepath.Join(s.dir, "launches"))
	if err != nil {
		return fmt.Errorf("trimming the captures: %w", err)
	}
	var list []*Manifest
	keep, unread := map[string]bool{}, false
	for _, f := range files {
		id, _ := strings.CutSuffix(f.Name(), ".json")
		m, err := s.Load(id)
		var reading *os.PathError
		if err == nil {
			list = append(list, m)
		} else if errors.As(err, &reading) { // no memory, no descriptors: it may be whole
			keep[f.Name()], unread = true, true
		}
	}
	slices.SortStableFunc(list, func(a, b *Manifest) int { return b.Made.Compare(a.Made) })
	used := map[string]int64{}
	var total int64
	for _, m := range list {
		var more int64
		fresh := map[string]int64{}
		for _, h := range m.hashes() {
			if info, err := os.Stat(s.chunkPath(h)); err == nil && used[h] == 0 && fresh[h] == 0 {
				fresh[h] = info.Size()
				more += info.Size()
			}
		}
		if time.Since(m.Made) > l.Age || total+more > l.Total {
			continue
		}
		total += more
		for h, n := range fresh {
			used[h] = n
		}
		keep[m.ID+".json"] = true
	}
	for _, f := range files {
		if !keep[f.Name()] && !strings.HasPrefix(f.Name(), aside) {
			os.Remove(filepath.Join(s.dir, "launches", f.Name()))
		}
	}
	// What was half written among the chunks is no chunk that anybody names.
	for _, pattern := range []string{"launches/" + aside + "*", "profiles/" + aside + "*", "chunks/??/*"} {
		left, _ := filepath.Glob(filepath.Join(s.dir, pattern))
		for _, path := range left {
			name := strings.TrimSuffix(filepath.Base(path), ".zst")
			kept := used[name] > 0 || unread && !strings.HasPrefix(name, aside)
			if info, err := os.Lstat(path); err == nil && !kept && time.Since(info.ModTime()) > time.Hour {
				os.Remove(path)
			}
		}
	}
	return nil
}

// chunks are those that a capture consists of, in the order in which its file has them.
func (m *Manifest) chunks() []Chunk {
	out := []Chunk{m.Code}
	for _, r := range m.Ranges {
		out = append(out, r.Chunks...)
	}
	for _, a := range m.Arrays {
		out = append(out, a.Chunks...)
	}
	for _, v := range m.Variables {
		out = append(out, v.Content)
	}
	return out
}

func (m *Manifest) hashes() []string {
	var out []string
	for _, c := range m.chunks() {
		if hashes().MatchString(c.Hash) {
			out = append(out, c.Hash)
		}
	}
	return out
}

// Bytes writes a capture's file into memory: for tests, and small ones.
func (s *Store) Bytes(m *Manifest) ([]byte, error) {
	var b bytes.Buffer
	err := s.Write(m, &b)
	return b.Bytes(), err
}

// Held is the memory of a captured launch: of each range its bytes, of each variable its content.
func (s *Store) Held(m *Manifest) (ranges [][]byte, variables map[string][]byte, err error) {
	for _, r := range m.Ranges {
		b := make([]byte, r.Size)
		for _, c := range r.Chunks {
			content, err := s.get(c)
			if err != nil {
				return nil, nil, err
			}
			copy(b[c.At:], content)
		}
		ranges = append(ranges, b)
	}
	variables = map[string][]byte{}
	for _, v := range m.Variables {
		if variables[v.Name], err = s.get(v.Content); err != nil {
			return nil, nil, err
		}
	}
	return ranges, variables, nil
}

// Arguments are a launch's, as they stand behind each other, with offset and size of each.
func (m *Manifest) Arguments() (args []byte, params [][2]int, err error) {
	_, spans, args, err := settingsOf(m.Settings)
	for _, p := range spans {
		params = append(params, [2]int{p.Offset, p.Size})
	}
	return args, params, err
}
