package buildsystems

// A compiler cache above gnvcc: ccache with CCACHE_COMPILERTYPE=nvcc and
// CCACHE_COMPILERCHECK='gnvcc doctor --key'. What gnvcc builds depends on its store, which a cache knows
// nothing of: a recipe that changed must not be served stale. (sccache runs cicc and ptxas by itself,
// from what nvcc's --dryrun prints, which is nvcc's own.)

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/compile"
)

// decide puts a recipe for the kernels of the site's last build into its store, and publishes it,
// as a tuner does.
func (s *site) decide(recipe string) {
	s.t.Helper()
	store, err := cache.Open(s.store())
	if err != nil {
		s.t.Fatal(err)
	}
	if err := store.PublishSpooled(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	snapshot, err := store.Snapshot()
	if err != nil {
		s.t.Fatal(err)
	}
	identities := map[string]cache.Kernel{}
	err = snapshot.Each("assembly", "", func(_ string, raw []byte) error {
		var a cache.Assembly
		if err := json.Unmarshal(raw, &a); err != nil {
			return err
		}
		for _, k := range a.Kernels {
			identities[k.Identity] = k
		}
		return nil
	})
	snapshot.Close()
	if err != nil {
		s.t.Fatal(err)
	}
	if len(identities) == 0 {
		s.t.Fatal("the store knows no kernel: the build went past gnvcc")
	}
	for identity, k := range identities {
		decision, err := compile.Assume(context.Background(), store, identity, recipe)
		if err != nil {
			s.t.Fatal(k.Name, err)
		}
		if err := store.Spool(cache.Decisions, identity, decision); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := store.PublishSpooled(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

// publish merges what builds have noted, and publishes it.
func (s *site) publish() {
	s.t.Helper()
	store, err := cache.Open(s.store())
	if err != nil {
		s.t.Fatal(err)
	}
	owner, err := store.Own(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	defer owner.Close()
	if n, err := owner.Merge(); err != nil || n == 0 {
		s.t.Fatalf("%d notes merged: %v", n, err)
	}
	if err := owner.Publish(); err != nil {
		s.t.Fatal(err)
	}
}

func TestCcache(t *testing.T) { onKits(t, tryCcache) }

func tryCcache(s *site) {
	t := s.t
	ccache := tool(t, "ccache")
	want := s.want()
	args := []string{"-O3", "-arch=sm_90", "-Icommon", "-c", "longthreads/longthreads.cu", "-o",
		"out.o"}
	s.fresh("../longthreads", "../stencil", "../common")

	// A store with something in it: before the first decision there is no snapshot, and nothing to be
	// stale.
	s.run(gnvcc, args...)
	plain := s.cubins("out.o")
	s.decide("maxnreg=40")

	// A ccache that was not told: doctor and apply tell the user, until one was.
	const warning = "set CCACHE_COMPILERCHECK='gnvcc doctor --key'"
	doctor := func() string { out, _ := s.try(gnvcc, "doctor"); return out }
	if out := doctor(); strings.Contains(out, warning) {
		t.Errorf("doctor warns of a ccache that never ran:\n%s", out)
	}
	s.set("CCACHE_COMPILERTYPE=nvcc")
	s.run(ccache, append([]string{gnvcc}, args...)...)
	if out := doctor(); !strings.Contains(out, warning) {
		t.Errorf("doctor says nothing of the ccache in front:\n%s", out)
	}
	if out := s.run(gnvcc, "apply"); !strings.Contains(out, warning) {
		t.Errorf("apply says nothing of the ccache in front:\n%s", out)
	}

	s.set("CCACHE_COMPILERTYPE=nvcc", "CCACHE_COMPILERCHECK="+gnvcc+" doctor --key")
	hits := func() string {
		out := s.run(ccache, "--print-stats")
		for _, line := range strings.Split(out, "\n") {
			if f := strings.Fields(line); len(f) == 2 && f[0] == "direct_cache_hit" {
				return f[1]
			}
		}
		t.Fatalf("ccache --print-stats says nothing of hits:\n%s", out)
		return ""
	}
	through := func() []string {
		t.Helper()
		os.Remove(filepath.Join(s.dir, "out.o"))
		s.run(ccache, append([]string{gnvcc}, args...)...)
		return s.cubins("out.o")
	}
	forty := through()
	if got := hits(); got != "0" {
		t.Fatalf("ccache has %s hits before it has seen anything", got)
	}
	if out := doctor(); strings.Contains(out, warning) {
		t.Errorf("doctor still warns of a ccache that looks at the recipes:\n%s", out)
	}
	if got := through(); !equal(got, forty) || hits() != "1" {
		t.Errorf("the second build: %s hits, same cubins: %v", hits(), equal(got, forty))
	}

	// What other builds note, and a publication of it, changes no recipe: ccache goes on as it was.
	s.run(gnvcc, "-O3", "-arch=sm_90", "-Icommon", "-c", "stencil/stencil.cu", "-o", "other.o")
	s.publish()
	if got := through(); !equal(got, forty) || hits() != "2" {
		t.Errorf("after another file's build was noted: %s hits, same cubins: %v", hits(),
			equal(got, forty))
	}

	s.decide("maxnreg=64")
	sixtyFour := through()
	if equal(sixtyFour, forty) {
		t.Errorf("the recipe changed, and ccache serves what was built with the old one (%s hits)",
			hits())
	}
	if direct := s.run(gnvcc, args...); !equal(s.cubins("out.o"), sixtyFour) {
		t.Errorf("through ccache another result than without it\n%s", direct)
	}
	if equal(sixtyFour, want) {
		t.Error("no recipe was applied: this test shows nothing")
	}

	tryCcacheKey(s, through, hits, plain, forty, sixtyFour)
}

// tryCcacheKey tries what else a build depends on, and back: a switch, a lock file that a file of
// settings names, and its content, another toolkit.
func tryCcacheKey(s *site, through func() []string, hits func() string,
	plain, forty, sixtyFour []string) {
	t := s.t
	s.set("GNVCC_OFF=1")
	if !equal(through(), plain) {
		t.Error("GNVCC_OFF=1: ccache serves what was built with a recipe")
	}
	s.set("GNVCC_OFF")
	if !equal(through(), sixtyFour) {
		t.Error("after GNVCC_OFF=1 ccache serves what was built without recipes")
	}
	s.run(gnvcc, "export", "-o", "own.lock")
	settings := filepath.Join(s.dir, "gnvcc.toml")
	if err := os.WriteFile(settings, []byte("lock = \"own.lock\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.decide("maxnreg=40")
	if !equal(through(), sixtyFour) {
		t.Error("another recipe than the lock file has")
	}
	s.run(gnvcc, "export", "-o", "own.lock")
	if !equal(through(), forty) {
		t.Error("the lock file has changed, and ccache serves what was built by the old one")
	}
	os.Remove(settings)
	before, moved := hits(), filepath.Join(t.TempDir(), "kit")
	if err := os.Symlink(s.kit, moved); err != nil {
		t.Fatal(err)
	}
	s.set("GNVCC_NVCC=" + filepath.Join(moved, "bin/nvcc"))
	if through(); hits() != before {
		t.Error("ccache serves what another toolkit gave")
	}
}
