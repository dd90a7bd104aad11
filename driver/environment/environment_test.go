package environment

import (
	"slices"
	"testing"
)

// TestAgain: a recorded command sees the variables that were recorded with it, of the present ones
// those that no compile depends on, and what apply tells it.
func TestAgain(t *testing.T) {
	e := Of([]string{"PATH=/now", "CC=clang", "USER=me", "GNVCC_OFF=1", "GNVCC_CHAIN=1:2",
		"GNVCC_DEPTH=3", "GNVCC_STOP=1", "PWD=/now"})
	if !e.Off || e.Depth != 3 || e.Chain != "1:2" || e.Get("CC") != "clang" {
		t.Errorf("%+v", e)
	}
	got := e.Again(Run{Recorded: []string{"PATH=/then"}, Dir: "/d", Hash: "h", Store: "/s",
		Folder: "/f"})
	want := []string{"PATH=/then", "USER=me", "PWD=/d", "GNVCC_STORE=/s", "GNVCC_REUSE=1",
		"GNVCC_APPLY=/f", "GNVCC_COMMAND=h"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if tried := Of(e.Again(Run{Stop: true})); !tried.Stop || tried.Reuse || tried.Off {
		t.Errorf("tried: %+v", tried)
	}
}

// TestStaged: nvcc with stages gets gnvcc's variables, its tools do not; and one that steps aside
// keeps those of a gnvcc above it.
func TestStaged(t *testing.T) {
	above := Of([]string{"A=1", "GNVCC_STAGE=/other", "GNVCC_COMMAND=c"})
	staged := Of(above.Staged("1:2", "/gnvcc", "hash"))
	if staged.Command != "hash" || staged.Get(Stage) != "/gnvcc" || staged.Chain != "1:2" ||
		staged.Depth != 1 {
		t.Errorf("%q", staged.All())
	}
	if tool := Of(staged.Tool()); tool.Get(Stage) != "" || tool.Command != "" || tool.Get("A") != "1" {
		t.Errorf("a tool gets %q", tool.All())
	}
	if as := Of(above.Nvccs("1:2")); as.Get(Stage) != "/other" || as.Command != "c" || as.Depth != 1 {
		t.Errorf("as it is: %q", as.All())
	}
	if un := Of(above.Unstaged("1:2")); un.Get(Stage) != "" || un.Command != "" {
		t.Errorf("unstaged: %q", un.All())
	}
	for value, on := range map[string]bool{"": false, "0": false, "1": true, "no": true} {
		if Of([]string{"GNVCC_STRICT=" + value}).Strict != on {
			t.Errorf("GNVCC_STRICT=%q", value)
		}
	}
}

// TestCompile: what decides a compile is kept, passwords are not.
func TestCompile(t *testing.T) {
	got := Of([]string{"NVCC_APPEND_FLAGS=-O2", "CC=gcc", "USER=me", "SCCACHE_WEBDAV_TOKEN=x",
		"GNVCC_LOCK=/l"}).Compile()
	if want := []string{"CC=gcc", "GNVCC_LOCK=/l", "NVCC_APPEND_FLAGS=-O2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
