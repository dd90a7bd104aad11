package driver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/standing"
	"gnvcc/driver/toolkit"
)

// A ccache in front of gnvcc looks at gnvcc's own file alone. Which recipes there are, which
// toolkit is found, which lock file counts, or that GNVCC_OFF is set, it knows nothing of: it would
// go on giving out objects that were built otherwise. So it is to ask us, by its compiler_check. A
// build that was started by one that does not is remembered, for gnvcc doctor and gnvcc apply to
// tell: a build itself has no words of its own.

const (
	memoCcache cache.Memos[string] = "ccache"

	ccacheKey = "last" // how the last one that ran us was set up, "configured" or "not configured"

	// asksUs is what ccache is to run.
	asksUs = "gnvcc doctor --key"
)

// keyed are the files of a toolkit that decide what it gives, besides those that a ccache sees: the
// headers.
var keyed = []string{"bin/nvcc", "bin/nvcc.profile", "bin/cudafe++", "bin/cicc", "nvvm/bin/cicc",
	"nvvm/libdevice/libdevice.10.bc", "bin/ptxas", "bin/fatbinary", "bin/nvlink"}

// Key is a hash of all that decides what a build in the present folder gives, besides its command
// and its sources: for caches in front of us.
func Key() (string, error) {
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	env := environment.Read()
	kit, err := toolkit.Find(self, env)
	if err != nil {
		return "", err
	}
	store, _ := env.OpenStore() // nil, without one
	parts := []string{"build 2", cache.OwnKey(), kit.Nvcc}
	for _, name := range keyed {
		id, err := store.FileKey(filepath.Join(kit.Dir(), name))
		if err != nil {
			id = "none"
		}
		parts = append(parts, id)
	}
	return cache.HashOf(append(parts, recipesKey(store, env)...)...), nil
}

// recipesKey is what of it recipes are, nothing where a build takes none.
func recipesKey(store *cache.Store, env *environment.Environment) []string {
	dir, err := os.Getwd()
	if env.Off || err != nil || store == nil {
		return nil
	}
	key, err := standing.Key(store, dir, env)
	if err != nil {
		return nil // a lock file that is wrong: nvcc's own
	}
	return []string{key}
}

// noteCcache notes whether a ccache that runs us asks for the key. Where none does that is one
// readlink. It reports whether a ccache runs us: an object that it keeps must not depend on what it
// can't see (environment.Cached).
func noteCcache(store *cache.Store, env *environment.Environment) (below bool) {
	exe, err := os.Readlink("/proc/" + strconv.Itoa(os.Getppid()) + "/exe")
	if err != nil || filepath.Base(exe) != "ccache" {
		return false
	}
	now := "not configured"
	if asks(exe, env) {
		now = "configured"
	}
	if last, _ := memoCcache.Get(store, ccacheKey); last != now {
		memoCcache.Put(store, ccacheKey, now) // noted by the next build if it can't be kept
	}
	return true
}

// asks reports whether ccache is set up to ask us: by the variable, or by its own configuration.
func asks(ccache string, env *environment.Environment) bool {
	check, set := env.Lookup("CCACHE_COMPILERCHECK")
	if !set {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, ccache, "-k", "compiler_check").Output()
		if err != nil {
			return false
		}
		check = string(out)
	}
	return strings.Contains(check, " doctor --key")
}

// CcacheWarning says what to do where the last build through ccache was one that does not ask us,
// else "".
func CcacheWarning(store *cache.Store) string {
	if last, _ := memoCcache.Get(store, ccacheKey); last != "not configured" {
		return ""
	}
	return fmt.Sprintf("a ccache in front of gnvcc keeps returning objects with old recipes, or of "+
		"another toolkit: set CCACHE_COMPILERCHECK='%s'", asksUs)
}
