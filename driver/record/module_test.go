package record

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
)

// TestModules: the last ids of each source of a command, and no others.
func TestModules(t *testing.T) {
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	command, other := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	keep := func(m Module) {
		t.Helper()
		if err := KeepModule(store, command, m); err != nil {
			t.Fatal(err)
		}
	}
	keep(Module{Source: "/b.cu", Text: "0", ID: "b"})
	if HostModules(store, command) {
		t.Error("cudafe++ made none of them")
	}
	for n := range maxModules + 3 {
		keep(Module{Source: "/a.cu", Text: fmt.Sprint(n), ID: fmt.Sprint("a", n), Host: true})
	}
	keep(Module{Source: "/a.cu", Text: "5", ID: "again", Host: true})
	var ids []string
	for _, m := range Modules(store, command) {
		ids = append(ids, m.ID)
	}
	if got := strings.Join(ids, " "); got != "b a3 a4 a6 a7 a8 a9 a10 again" {
		t.Errorf("%s", got)
	}
	if !HostModules(store, command) || HostModules(store, other) || HostModules(store, "") {
		t.Error("which command has ids of cudafe++'s")
	}
}
