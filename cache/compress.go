package cache

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/s2"
)

// Large texts (preprocessed sources: 11 MB for a file that includes <cub/cub.cuh>) lie compressed,
// as HASH.s2, where the object HASH would lie. The hash is that of the text. Cubins and whatever
// else other programs open by its path stay as they are; ObjectFile unpacks an object for those.
//
// S2 for its speed: builds pack. The 1.7 MB that cicc reads for a small file (13.0) take 3 ms of
// processor time in a process that has just started, and 0.30 MB; zstd at its fastest takes 8 ms,
// and 0.22 MB; as they are they take 1 ms.

const (
	packedExt = ".s2"
	// packFrom: below it a file takes little more than its block on the disk.
	packFrom = 16 << 10
)

// objectExts are what may follow a hash in an object's file name: the content lies there as it is,
// or packed.
var objectExts = [...]string{"", packedExt}

// pack gives b compressed, nil where it had better stay as it is.
func pack(b []byte) []byte {
	if len(b) < packFrom || bytes.HasPrefix(b, []byte("\x7fELF")) {
		return nil
	}
	packed := s2.Encode(nil, b)
	if len(packed) > len(b)/2 {
		return nil
	}
	return packed
}

// unpack gives what lies in an object's file. Its hash is the caller's to compare.
func unpack(path string, content []byte) ([]byte, error) {
	if filepath.Ext(path) != packedExt {
		return content, nil
	}
	n, err := s2.DecodedLen(content)
	if err != nil {
		return nil, err
	}
	if n > maxObject {
		return nil, fmt.Errorf("%w: %d bytes when unpacked", errTooLarge, n)
	}
	return s2.Decode(nil, content)
}

// find gives the path of an object's file in either form: fs.ErrNotExist where there is none.
func (s *Store) find(hash string) (path string, info fs.FileInfo, err error) {
	unpacked := s.ObjectPath(hash)
	if unpacked == "" {
		return "", nil, fs.ErrNotExist
	}
	for _, ext := range objectExts {
		path = unpacked + ext
		info, err = os.Lstat(path)
		if err == nil && !info.Mode().IsRegular() {
			err = errIrregular
		}
		if err == nil {
			return path, info, nil
		}
	}
	return "", nil, err
}

// ObjectFile gives a path under which other programs read the object. The content is not looked at.
func (s *Store) ObjectFile(hash string) (string, error) {
	path, info, err := s.find(hash)
	unpacked := s.ObjectPath(hash)
	if err == nil && path == unpacked {
		used(path, info)
		return path, nil
	}
	b, err := s.Object(hash)
	if err != nil {
		return "", err
	}
	if err := s.Writable(); err != nil {
		return "", err
	}
	if err := writeFile(filepath.Dir(unpacked), hash, b, false); err != nil {
		return "", failed("unpack an object", unpacked, err)
	}
	return unpacked, nil
}
