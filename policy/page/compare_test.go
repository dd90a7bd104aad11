package page

import (
	"strings"
	"testing"

	"gnvcc/cache"
)

// TestCompareNames: kernels of one name are told apart by their identities, also where their code
// or the file's name has changed; what can't be told apart is not called changed.
func TestCompareNames(t *testing.T) {
	d := func(kernel, identity, recipe string) cache.Decision {
		return cache.Decision{Kernel: kernel, Identity: strings.Repeat(identity, 8), Target: "sm_90",
			Recipe: recipe, Pinned: recipe != ""}
	}
	const anon, renamed = "_ZN31_GLOBAL__N__51ec0c57_4_a_cu_cee4anonEPf",
		"_ZN31_GLOBAL__N__61ec0c57_4_a_cu_cee4anonEPf"
	for name, c := range map[string]struct {
		old, now []cache.Decision
		want     string
	}{
		"two of a name, as they were": {
			[]cache.Decision{d("walk", "aa", ""), d("walk", "bb", "maxnreg=32")},
			[]cache.Decision{d("walk", "bb", "maxnreg=32"), d("walk", "aa", "")},
			"2 kernels as they were\n"},
		"one of two has a recipe now": {
			[]cache.Decision{d("walk", "aa", ""), d("walk", "bb", "")},
			[]cache.Decision{d("walk", "bb", "maxnreg=32"), d("walk", "aa", "")},
			"walk (bbbbbbbbbbbb): pinned: maxnreg=32; was left alone\n1 kernels as they were\n"},
		"one of two was edited": {
			[]cache.Decision{d("walk", "aa", ""), d("walk", "bb", "maxnreg=32")},
			[]cache.Decision{d("walk", "cc", "maxnreg=40"), d("walk", "aa", "")},
			"walk (cccccccccccc): pinned: maxnreg=40; was pinned: maxnreg=32\n1 kernels as they were\n"},
		"both were edited, one says the same": {
			[]cache.Decision{d("walk", "aa", ""), d("walk", "bb", "maxnreg=32")},
			[]cache.Decision{d("walk", "cc", "maxnreg=40"), d("walk", "dd", "")},
			"walk (cccccccccccc): new, pinned: maxnreg=40\nwalk (bbbbbbbbbbbb): gone; was pinned: maxnreg=32\n1 kernels as they were\n"},
		"a file's own kernel after an edit": {
			[]cache.Decision{d(anon, "aa", "")}, []cache.Decision{d(renamed, "bb", "maxnreg=32")},
			"anon: pinned: maxnreg=32; was left alone\n0 kernels as they were\n"},
	} {
		var b strings.Builder
		if err := Compare(&b, c.old, c.now); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("%s:\n%swant:\n%s", name, b.String(), c.want)
		}
	}
}
