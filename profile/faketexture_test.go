package profile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// textured gives a file with a cubin whose kernel k reads a texture.
func textured(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cubin")
	code := append([]byte{0x60, 0x7f}, make([]byte, 14)...) // TEX
	if err := os.WriteFile(path, smallELF(code...), 0o600); err != nil {
		t.Fatal(err)
	}
	return "CUBIN=" + path
}

// TestTextures: of the objects that there are a capture has those whose handles the launch is given
// or finds in memory, with what they are over: an array with what it holds, which is hashed behind
// the launch where a surface may write it; or memory. What can't be had is said, and no array is
// touched of a kernel that reads no texture.
func TestTextures(t *testing.T) {
	f := newFakeDriver(t)
	reads := textured(t)
	for what, want := range map[string]struct {
		arrays, objects, ranges, hashed int
		why                             string
	}{
		"textures":                          {1, 1, 0, 0, ""},
		"textures in memory":                {1, 1, 1, 1, ""},
		"textures linear":                   {0, 1, 1, 1, ""},
		"textures surface":                  {1, 1, 0, 1, ""},
		"textures both":                     {1, 2, 0, 1, ""},
		"textures linear nowhere":           {why: "over memory that is not known"},
		"textures linear nowhere in memory": {why: "no handle of one is among its arguments"},
		"textures mipmapped":                {why: "over a mipmapped array"},
		"textures gone":                     {why: "no handle of one is among its arguments"},
		"textures sparse":                   {why: "over an array that can't be copied"},
		"textures destroyed":                {why: "no handle of one is among its arguments"},
		"textures not read":                 {},
		"textures unread":                   {why: "array that the launch reaches can't be read"},
	} {
		h := &capturing{}
		h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
		env := []string{reads}
		switch what {
		case "textures not read":
			env = nil
		case "textures unread":
			env = append(env, "FAIL=cuMemcpy3DAsync_v2")
		}
		exit, log := f.run(t, h, what, true, env...)
		why := strings.Join(h.why, "\n")
		if exit.Code != 7 || (want.why == "") != (why == "") || !strings.Contains(why, want.why) {
			t.Errorf("%s: %+v, %s, %q, %q", what, exit, log, why, h.events)
		}
		if want.why != "" {
			if _, err := os.Stat(h.verdict.Capture); err == nil {
				t.Errorf("%s: a part of a capture is left", what)
			}
			continue
		}
		if len(h.got) != 1 || h.got[0].Why != "" {
			t.Fatalf("%s: %+v", what, h.got)
		}
		b, err := os.ReadFile(h.verdict.Capture)
		if err != nil {
			t.Fatal(err)
		}
		got := want
		got.arrays, got.objects, got.ranges, got.hashed = 0, 0, 0, 0
		in := false // data is an array's
		for len(b) >= 16 {
			n := binary.LittleEndian.Uint64(b[8:])
			body := b[16 : 16+n]
			switch binary.LittleEndian.Uint32(b) {
			case 3:
				got.ranges, in = got.ranges+1, false
			case 4:
				for i, v := range body[8:] {
					if in && (v != byte(i*5+1) || len(body) != 8+600) {
						t.Fatalf("%s: %d at %d of %d", what, v, i, len(body)-8)
					}
				}
			case 6:
				if got.hashed++; got.ranges == 0 && binary.LittleEndian.Uint64(body[4:]) != 1 {
					t.Errorf("%s: hashes of %#x", what, binary.LittleEndian.Uint64(body[4:]))
				}
			case 11:
				got.arrays, in = got.arrays+1, true
				if binary.LittleEndian.Uint64(body) != 1 || binary.LittleEndian.Uint64(body[8:]) != 600 ||
					len(body) != 16+40 {
					t.Errorf("%s: an array %v", what, body)
				}
			case 12:
				got.objects++
				if binary.LittleEndian.Uint64(body) != 5 || len(body) != 24+4+144+4+104+112 ||
					(binary.LittleEndian.Uint64(body[16:]) == 1) != (want.arrays == 1) {
					t.Errorf("%s: an object %v", what, body)
				}
			}
			b = b[16+n:]
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
}

// TestSurfaces: in a replay arrays that surfaces may write are put back before each run, and what a
// candidate leaves there is compared with what the original leaves. In a program nothing is done
// where there are surfaces.
func TestSurfaces(t *testing.T) {
	f := newFakeDriver(t)
	for more, same := range map[string]bool{"1": true, "2": false} {
		h := &scripted{}
		h.tune = func(l *Launch, s Session) Verdict {
			w, err := s.Golden()
			if err != nil || w.Allocations != 2 || w.Bytes != 1<<20+600 {
				t.Errorf("%+v, %v", w, err)
			}
			c, _, err := s.Load("/some/cubin", "")
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if own, err := s.Check(Original); err != nil || !own.Same {
					t.Errorf("the original differs from itself: %v, %v", own, err)
				}
				if _, err := s.Measure(c, 3, Measurement{}); err != nil {
					t.Error(err)
				}
				d, err := s.Check(c)
				if err != nil || d.Same != same || !same && !strings.Contains(d.Where, "(array)") {
					t.Errorf("%s more: %+v, %v", more, d, err)
				}
			}
			return Verdict{}
		}
		if exit, log := f.run(t, h, "replay surfaces", false, "SURFACE="+more); exit.Code != 7 || log != "" ||
			len(h.launch) != 1 || h.launch[0].LeaveAlone != "" {
			t.Errorf("%+v, %q, %q", exit, log, h.events)
		}
	}
}
