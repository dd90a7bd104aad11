package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Large texts (preprocessed sources: 11 MB for a file that includes <cub/cub.cuh>) lie compressed,
// as HASH.zst, where the object HASH would lie. The hash is that of the text. Cubins and whatever
// else other programs open by its path stay as they are; ObjectFile unpacks an object for those.

const (
	packedExt = ".zst"
	// packFrom: below it a file takes little more than its block on the disk.
	packFrom = 16 << 10
	// packWindow bounds what a file may have us keep in memory to unpack it; the level's own windows
	// have 4 MB.
	packWindow = 64 << 20
)

// packer is made when it is first needed: most runs of gnvcc pack nothing. One goroutine: other
// compiles want the rest. The fastest level: of 10.6 MB that cicc reads for a file with
// <cub/cub.cuh> (13.0) it leaves 1.0, at 420 MB/s.
var packer = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1))
})

var unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxObject),
		zstd.WithDecoderMaxWindow(packWindow))
})

// pack gives b compressed, nil where it had better stay as it is.
func pack(b []byte) []byte {
	if len(b) < packFrom || bytes.HasPrefix(b, []byte("\x7fELF")) {
		return nil
	}
	enc, err := packer()
	if err != nil {
		return nil
	}
	packed := enc.EncodeAll(b, make([]byte, 0, len(b)/6))
	if len(packed) > len(b)/2 {
		return nil
	}
	return packed
}

// unpack gives what pack was given. Its hash is the caller's to compare.
func unpack(packed []byte) ([]byte, error) {
	dec, err := unpacker()
	if err != nil {
		return nil, err
	}
	return dec.DecodeAll(packed, nil)
}

// find gives the path of an object's file in either form: fs.ErrNotExist where there is none.
func (s *Store) find(hash string) (path string, info fs.FileInfo, err error) {
	unpacked := s.ObjectPath(hash)
	if unpacked == "" {
		return "", nil, fs.ErrNotExist
	}
	for _, path := range []string{unpacked, unpacked + packedExt} {
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
	for _, path := range []string{unpacked, unpacked + packedExt} {
		b, err := readLimited(path, maxObject)
		damaged := errors.Is(err, errTooLarge) // nobody of ours writes such
		if err == nil && path != unpacked {
			b, err = unpack(b)
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
