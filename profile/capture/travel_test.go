// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTravel: the files of captures are all that another folder needs, and each that is not what
// its name says is found.
func TestTravel(t *testing.T) {
	s, m := packed(t)
	names, list := s.Files()
	if len(list) != 1 || list[0].ID != m.ID {
		t.Fatalf("%d captures", len(list))
	}
	to := t.TempDir()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(s.Path(), name))
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckFile(to, name, b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := CheckFile("/proc/self", name, b); !errors.Is(err, errFull) { // no room there
			t.Errorf("%s: it is written to a full disk: %v", name, err)
		}
		flipped := append([]byte{}, b...)
		flipped[len(b)/2] ^= 0x20
		if strings.HasPrefix(name, "chunks/") && CheckFile(to, name, flipped) == nil {
			t.Errorf("%s is taken with another bit", name)
		}
		if CheckFile(to, name, b[:len(b)/2]) == nil {
			t.Errorf("%s is taken cut", name)
		}
		path := filepath.Join(to, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"launches/x.json": "{}",
		"launches/" + m.ID + ".json":        `{"version": 1}`,
		"profiles/" + m.ID + ".json":        "{}",
		"chunks/00/" + m.Code.Hash:          "",
		"chunks/zz/" + m.Code.Hash + ".zst": "",
		"launches/../" + m.ID + ".json":     "{}"} {
		if CheckFile(to, name, []byte(content)) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := CheckFolder(to, 1); err != nil {
		t.Error(err)
	}
	if CheckFolder(to, 2) == nil || CheckFolder(t.TempDir(), 0) == nil {
		t.Error("a folder with fewer captures is taken")
	}
	if err := os.Remove(filepath.Join(to, names[0])); err != nil {
		t.Fatal(err)
	}
	if CheckFolder(to, 1) == nil {
		t.Error("a capture is taken of which content is missing")
	}
}
