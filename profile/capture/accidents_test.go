package capture

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestPoisonedChunk: a chunk that a crash of the machine has cut, or a disk has changed, harms the
// captures that have it, and none that is made after that was noticed.
func TestPoisonedChunk(t *testing.T) {
	encoder, _ := coders()
	for name, content := range map[string][]byte{"empty": nil, "no zstd": []byte("x"),
		"another": encoder.EncodeAll([]byte("another"), nil)} {
		s, m := packed(t)
		for _, c := range m.chunks() {
			if err := os.WriteFile(s.chunkPath(c.Hash), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 8 { // a chunk is noticed when it is read; reading ends with the first
			if _, err := s.Bytes(m); err == nil || i == 0 && !errors.Is(err, errDamaged) {
				t.Fatalf("%s: what is damaged was read", name)
			}
		}
		if _, err := s.Code(m); err == nil {
			t.Fatalf("%s: a damaged cubin was read", name)
		}
		for _, c := range m.chunks() {
			if _, err := s.get(c); err == nil {
				t.Fatalf("%s: a damaged chunk was read", name)
			}
		}
		again, err := s.Pack(bytes.NewReader(raw()), []byte("a cubin"), known())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Bytes(again); err != nil {
			t.Errorf("%s: the next capture is damaged, too: %v", name, err)
		}
	}
	// A manifest that is wrong about a chunk's size takes it from nobody.
	s, m := packed(t)
	wrong := m.Code
	wrong.Size++
	if _, err := s.get(wrong); !errors.Is(err, errDamaged) {
		t.Errorf("a chunk of another size: %v", err)
	}
	if _, err := s.Bytes(m); err != nil {
		t.Errorf("a chunk is gone: %v", err)
	}
}

// TestReadersEnd: who has stopped reading removes nothing any more.
func TestReadersEnd(t *testing.T) {
	s, m := packed(t)
	encoder, _ := coders()
	other := encoder.EncodeAll(make([]byte, 8<<20), nil) // takes a while to be found damaged
	list := []Chunk{{Hash: strings.Repeat("0", 64)}}     // is not there
	for i := range 2 * workers() {
		c, err := s.put([]byte{byte(i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.chunkPath(c.Hash), other, 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	there := func() string {
		files, _ := filepath.Glob(filepath.Join(s.dir, "chunks", "*", "*"))
		return strings.Join(files, "\n")
	}
	next, stop := s.ahead(append(list, m.Code))
	if _, err := next(list[0]); err == nil {
		t.Error("what is not there was read")
	}
	stop()
	before := there()
	time.Sleep(100 * time.Millisecond)
	if after := there(); after != before {
		t.Errorf("a reader was left behind: first\n%s\nthen\n%s", before, after)
	}
}

// TestLeftAside: what a kill left half written is removed, when nobody can be writing it any more.
func TestLeftAside(t *testing.T) {
	s, m := packed(t)
	if _, err := s.Observed("/bin/app", Run{}); err != nil {
		t.Fatal(err)
	}
	var old, young []string
	for _, dir := range []string{"launches", "profiles", filepath.Join("chunks", m.Code.Hash[:2])} {
		old = append(old, filepath.Join(s.dir, dir, aside+"1"))
		young = append(young, filepath.Join(s.dir, dir, aside+"2"))
	}
	for _, path := range append(old, young...) {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-2 * time.Hour)
	for _, path := range old {
		if err := os.Chtimes(path, before, before); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Trim(Usual); err != nil {
		t.Fatal(err)
	}
	for _, path := range old {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range young {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s was being written: %v", path, err)
		}
	}
	if _, err := s.Bytes(m); err != nil || len(s.Profiles()) != 1 {
		t.Errorf("%v, %d profiles", err, len(s.Profiles()))
	}
}

// TestRunsAtOnce: runs of one program that end at the same time are all in its profile.
func TestRunsAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			s, err := Open(dir)
			if err == nil {
				_, err = s.Observed("/bin/app", Run{Lines: []Line{{Kernel: "k", Count: 1}}})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	s, _ := Open(dir)
	if p, err := s.Profile("/bin/app"); err != nil || p.Runs != 20 || p.Shapes[0].Count != 20 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestGone: a chunk that is gone, since another process trimmed it, is found when a capture is kept
// that names it, and no such capture stays.
func TestGone(t *testing.T) {
	s, m := packed(t)
	path := filepath.Join(s.dir, "launches", m.ID+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(m.ID); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.chunkPath(m.Ranges[1].Chunks[0].Hash)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time a manifest is there
		if err := s.keep(m); err == nil || !strings.Contains(err.Error(), "removed by another process") {
			t.Errorf("%v", err)
		}
		if list, skipped := s.List(); len(list)+skipped > 0 {
			t.Error("a capture is there whose content is not")
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTrimBeside: captures that are made while another process trims stay, all of them, and a
// manifest that can't be read just now is none that is damaged.
func TestTrimBeside(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		other, _ := Open(dir)
		for {
			select {
			case <-stop:
				return
			default:
				if err := other.Trim(Usual); err != nil {
					t.Error(err)
				}
			}
		}
	})
	var made []*Manifest
	for n := range 60 {
		m := known()
		m.Nth = n
		kept, err := s.Pack(bytes.NewReader(raw()), []byte("a cubin"), m)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, kept)
	}
	close(stop)
	wait.Wait()
	for _, m := range made {
		if _, err := s.Bytes(m); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
		if _, err := s.Load(m.ID); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
	}
	if os.Geteuid() == 0 { // who reads everything: a folder in a file's place
		path := filepath.Join(dir, "launches", made[0].ID+".json")
		text, _ := os.ReadFile(path)
		os.Remove(path)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		defer func() {
			os.Remove(path)
			os.WriteFile(path, text, 0o600)
		}()
	} else if err := os.Chmod(filepath.Join(dir, "launches", made[0].ID+".json"), 0); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, c := range made[0].chunks() {
		os.Chtimes(s.chunkPath(c.Hash), old, old)
	}
	for _, m := range made[1:] {
		s.Drop(m.ID)
	}
	if err := s.Trim(Usual); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "launches", made[0].ID+".json")); err != nil {
		t.Error("a manifest that could not be read was removed")
	}
	if _, err := s.Bytes(made[0]); err != nil {
		t.Errorf("its content was: %v", err)
	}
}
