package driver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/standing"
)

// A ccache in front of gnvcc knows nothing of recipes: it would go on giving out objects that were
// built with the old ones. It is to look at the store's file of recipes, too (CCACHE_EXTRAFILES). A
// build that was started by one that does not is remembered, for gnvcc doctor and gnvcc apply to
// tell: a build itself has no words of its own.

const (
	memoCcache cache.Memos[string] = "ccache"

	// ccacheKey: how the last one that ran us was set up, "told", or "untold" and what it does not
	// look at, a list with colons.
	ccacheKey = "last"
)

// noteCcache notes whether a ccache that runs us looks at the recipes. Where none does that is one
// readlink. It tells whether a ccache runs us: an object that it keeps must not depend on what it
// can't see (GNVCC_PREDICT).
func noteCcache(store *cache.Store, env *environment.Environment) (below bool) {
	exe, err := os.Readlink("/proc/" + strconv.Itoa(os.Getppid()) + "/exe")
	if err != nil || filepath.Base(exe) != "ccache" {
		return false
	}
	now := "told"
	dir, _ := os.Getwd()
	if files := standing.Files(store, dir, env); !looksAt(exe, files, env) {
		now = "untold " + strings.Join(files, ":")
	}
	if last, _ := memoCcache.Get(store, ccacheKey); last != now {
		memoCcache.Put(store, ccacheKey, now) // noted by the next build if it can't be kept
	}
	return true
}

// looksAt asks ccache for its extra files: the variable, or what its own configuration says.
func looksAt(ccache string, paths []string, env *environment.Environment) bool {
	files, set := env.Lookup("CCACHE_EXTRAFILES")
	if !set {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, ccache, "-k", "extra_files_to_hash").Output()
		if err != nil {
			return false
		}
		files = strings.TrimSpace(string(out))
	}
	list := filepath.SplitList(files)
	return !slices.ContainsFunc(paths, func(path string) bool { return !slices.Contains(list, path) })
}

// CcacheWarning says what to do where the last build through ccache was one that does not look at
// the recipes, else "".
func CcacheWarning(store *cache.Store) string {
	last, _ := memoCcache.Get(store, ccacheKey)
	files, untold := strings.CutPrefix(last, "untold ")
	if !untold {
		return ""
	}
	return fmt.Sprintf(
		"a ccache in front of gnvcc keeps returning objects with old recipes: set CCACHE_EXTRAFILES=%s",
		files)
}
