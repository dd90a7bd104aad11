package cache

import (
	"fmt"
	"os"
	"sync"
)

// Keys of memos: what a result depends on, hashed.

// HashOf hashes a list of texts so that no two lists are alike.
func HashOf(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = fmt.Appendf(b, "%d:%s,", len(p), p)
	}
	return Hash(b)
}

// FileKey identifies a file's content without reading it: path, size and time of modification. A
// tool that was replaced within the same nanosecond by another of the same size is taken for the
// old one.
func FileKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return Hash(fmt.Appendf(nil, "%s\x00%d\x00%d", path, info.Size(), info.ModTime().UnixNano())), nil
}

// OwnKey identifies this gnvcc: results of another one's passes are not taken.
var OwnKey = sync.OnceValue(func() string {
	self, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	key, err := FileKey(self)
	if err != nil {
		return "unknown"
	}
	return key
})
