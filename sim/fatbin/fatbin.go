package fatbin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A fat binary is a header of 16 bytes (magic, version, its own size, the size of what follows) and
// entries: a header of 64 bytes or more, then the PTX or cubin, compressed or not. As read in what
// fatbinary of 11.8, 12.4, 13.0, 13.3 and 13.5 writes; 12.4's header has 8 bytes more. Compressed
// entries are LZ4 blocks up to 12.x, Zstandard with 13.x.

const (
	magic       = 0xba55ed50
	fileHeader  = 16
	entryHeader = 64

	kindELF = 2 // 1: PTX, 8: NVVM

	flagLZ4  = 0x2000
	flagZstd = 0x8000

	// maxImage is the largest cubin that is unpacked, bytes.
	maxImage = 1 << 30
)

// errForm is wrapped where a fat binary is not as we know it.
var errForm = errors.New("unknown format of a fat binary")

// entries gives the cubins of fat binaries that stand one behind the other, as a linker leaves them
// in a section: with zeroes between.
func entries(content []byte, take func([]byte) error) error {
	le := binary.LittleEndian
	for len(content) >= fileHeader {
		if le.Uint64(content) == 0 {
			content = content[8:]
			continue
		}
		if le.Uint32(content) != magic {
			return fmt.Errorf("%w: it begins with %#x", errForm, le.Uint32(content))
		}
		header, size := uint64(le.Uint16(content[6:])), le.Uint64(content[8:])
		if header < fileHeader || header > uint64(len(content)) ||
			size > uint64(len(content))-header {
			return fmt.Errorf("%w: %d bytes are said to follow, and %d do", errForm, size, len(content))
		}
		if err := one(content[header:header+size], take); err != nil {
			return err
		}
		content = content[header+size:]
	}
	return nil
}

// one gives the cubins of a fat binary's entries.
func one(content []byte, take func([]byte) error) error {
	le := binary.LittleEndian
	for len(content) >= entryHeader {
		kind, header := le.Uint16(content), uint64(le.Uint32(content[4:]))
		size, packed := le.Uint64(content[8:]), uint64(le.Uint32(content[16:]))
		flags, whole := le.Uint64(content[40:]), le.Uint64(content[56:])
		if header < entryHeader || header > uint64(len(content)) ||
			size > uint64(len(content))-header || packed > size {
			return fmt.Errorf("%w: an entry of %d bytes in %d", errForm, size, len(content))
		}
		body := content[header : header+size]
		content = content[header+size:]
		if kind != kindELF {
			continue
		}
		if flags&(flagLZ4|flagZstd) != 0 {
			var err error
			if body, err = unpack(body[:packed], flags, whole); err != nil {
				return err
			}
		}
		if err := take(body); err != nil {
			return err
		}
	}
	return nil
}

var unzstd = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxImage))
})

// unpack gives an entry as it was; whole is the length that it is said to have had.
func unpack(packed []byte, flags, whole uint64) ([]byte, error) {
	if whole > maxImage {
		return nil, fmt.Errorf("%w: an entry of %d bytes", errForm, whole)
	}
	var out []byte
	var err error
	if flags&flagZstd != 0 {
		d, problem := unzstd()
		if problem != nil {
			return nil, problem
		}
		out, err = d.DecodeAll(packed, nil)
	} else {
		out, err = unLZ4(packed, int(whole))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: unpack an entry: %w", errForm, err)
	}
	if uint64(len(out)) != whole {
		return nil, fmt.Errorf("%w: an entry of %d bytes was to have %d", errForm, len(out), whole)
	}
	return out, nil
}
