package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
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

// memoContent keeps the hashes of files' contents.
const memoContent Memos[string] = "content"

// FileKey identifies a file by its path and content. The content is hashed once, and again when the file is
// another one by its size, its inode or its times: that of the last change (ctime) can't be set, so a tool
// that was unpacked with the size and time of the old one is seen. Without a store it is hashed each time.
func (s *Store) FileKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	state := fmt.Sprintf("%s\x00%d\x00%d", path, info.Size(), info.ModTime().UnixNano())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		state += fmt.Sprintf("\x00%d\x00%d\x00%d", st.Dev, st.Ino, st.Ctim.Nano())
	}
	if !info.Mode().IsRegular() {
		return Hash([]byte(state)), nil
	}
	state = Hash([]byte(state))
	if s != nil {
		if content, ok := memoContent.Get(s, state); ok {
			return HashOf(path, content), nil
		}
	}
	content, err := hashFile(path)
	if err != nil {
		return "", err
	}
	if s != nil {
		memoContent.Put(s, state, content) // hashed again if it can't be kept
	}
	return HashOf(path, content), nil
}

func hashFile(path string) (string, error) {
	f, _, err := OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// OwnKey identifies this gnvcc by its content: results of another one's passes are not taken.
var OwnKey = sync.OnceValue(func() string {
	const self = "/proc/self/exe"
	if id := buildID(self); id != "" {
		return Hash([]byte(id))
	}
	content, err := hashFile(self)
	if err != nil {
		return "unknown"
	}
	return content
})

// buildID is what Go's linker writes at the beginning of a program (cmd/internal/buildid): hashes of all that
// went into it and of what came out. "" where there is none, as a linker may be asked for.
func buildID(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 32<<10)
	n, _ := io.ReadFull(f, head)
	// an ELF note: the lengths of name and text and the type, 4 bytes each, then name and text
	at := bytes.Index(head[:n], []byte("\x04\x00\x00\x00Go\x00\x00"))
	if at < 8 {
		return ""
	}
	from := at + 8
	size := int(binary.LittleEndian.Uint32(head[at-4:]))
	if size < 60 || size > n-from || bytes.Count(head[from:from+size], []byte("/")) != 3 {
		return ""
	}
	return string(head[from : from+size])
}
