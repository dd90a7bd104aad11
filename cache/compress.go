package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
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
	zstdExt   = ".zst" // what earlier versions packed
	// packFrom: below it a file takes little more than its block on the disk.
	packFrom = 16 << 10
	// packWindow bounds what a .zst may have us keep in memory to unpack it; those that we wrote have
	// windows of 4 MB.
	packWindow = 64 << 20
)

// objectExts are what may follow a hash in an object's file name: the content lies there as it is,
// or packed in one of two ways.
var objectExts = [...]string{"", packedExt, zstdExt}

var unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxObject),
		zstd.WithDecoderMaxWindow(packWindow))
})

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
	switch filepath.Ext(path) {
	case packedExt:
		n, err := s2.DecodedLen(content)
		if err != nil {
			return nil, err
		}
		if n > maxObject {
			return nil, fmt.Errorf("%w: %d bytes when unpacked", errTooLarge, n)
		}
		return s2.Decode(nil, content)
	case zstdExt:
		dec, err := unpacker()
		if err != nil {
			return nil, err
		}
		return dec.DecodeAll(content, nil)
	}
	return content, nil
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
	if err := s.writable(); err != nil {
		return "", err
	}
	if err := writeFile(filepath.Dir(unpacked), hash, b, false); err != nil {
		return "", failed("unpack an object", unpacked, err)
	}
	return unpacked, nil
}

// readObject reads an object's content from where it lies, unpacked and compared with its hash. A
// file that is damaged is removed, so that the object can be put again.
func (s *Store) readObject(hash string) ([]byte, error) {
	const doing = "read an object"
	unpacked := s.ObjectPath(hash)
	var first error
	for _, ext := range objectExts {
		path := unpacked + ext
		b, err := readLimited(path, maxObject)
		damaged := errors.Is(err, errTooLarge) // nobody of ours writes such
		if err == nil {
			b, err = unpack(path, b)
			damaged = err != nil
		}
		if err == nil && Hash(b) != hash {
			err = fmt.Errorf("the content (%d bytes) has another hash", len(b))
			damaged = true
		}
		if damaged { // it must not stand in the way of what it should be
			os.Remove(path)
			err = corrupt(doing, path, "%w; removed", err)
		}
		if err == nil {
			if info, err := os.Stat(path); err == nil {
				used(path, info)
			}
			return b, nil
		}
		if first == nil || errors.Is(first, fs.ErrNotExist) {
			first = err
		}
	}
	if errors.Is(first, fs.ErrNotExist) {
		return nil, &Error{Doing: doing, Path: unpacked, Kind: ErrNone, Err: fs.ErrNotExist,
			Advice: "it was trimmed, or never kept: build again"}
	}
	return nil, failed(doing, unpacked, first)
}
