package toolkit

import (
	"fmt"
	"os/exec"
	"regexp"
	"sync"

	"gnvcc/cache"
)

const memoVersion cache.Memos[string] = "version"

// Regular expressions are compiled when they are needed: most stages are over in less time than
// that takes.
var versionText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bV(\d+\.\d+\.\d+)\b`)
})

// VersionOf asks a tool for its version, once in the life of its file.
func VersionOf(store *cache.Store, tool, id string) (string, error) {
	if store != nil {
		if version, ok := memoVersion.Get(store, id); ok {
			return version, nil
		}
	}
	out, err := exec.Command(tool, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", tool, err)
	}
	m := versionText().FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("ask %s for its version: no V1.2.3 in what it says", tool)
	}
	if store != nil {
		memoVersion.Put(store, id, string(m[1])) // asked again if it can't be kept
	}
	return string(m[1]), nil
}
