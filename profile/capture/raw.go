package capture

// The file of one captured launch, as the agent writes it (profile/agent/source/capture.c) and the
// replayer reads it (profile/replay/source/capture.c). Little endian: 16 bytes of magic in front of
// the replayer's, then records of u32 type, u32 zero, u64 length, body. Strings have a u32 length
// in front. The agent leaves out what is known here: the cubin, the device.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const magic = "gnvcc capture 1\x00"

type recordType uint32

const (
	recKernel    recordType = 1 + iota // see Launch
	recAttribute                       // u32 CUlaunchAttributeID, 64 bytes of value
	recRange                           // u64 base, u64 size, u32 0: on the device, 1: on the host
	// u64 address within a range before it, or place in the last array, up to 1 MiB; what is left out is
	// zero. What was copied aside comes at the end (agent/source/out.c)
	recData
	recVariable // str name, u8 constant and, twice, as in recNumbers, content
	// str variable's name or "", u64 range's base or array's number, 16 bytes of hash for each MiB
	recAfter
	recEnd
	recCubin   // content
	recDevice  // str name, 16 bytes UUID
	recNumbers // u64 range's base, u32 as in kinds; variations put others there
	recArray   // u64 number, below any address, u64 bytes, CUDA_ARRAY3D_DESCRIPTOR
	// of a texture or surface: u64 handle, u32 surface, u32 with a view, u64 its array's number or 0,
	// CUDA_RESOURCE_DESC and CUDA_TEXTURE_DESC with a length in front, CUDA_RESOURCE_VIEW_DESC
	recObject
	// of the last range, for each whole MiB: u8 1: an earlier capture of this process has it, and no
	// data comes; 16 bytes of hash
	recBefore
	recScalar // u32 argument, u32 offset, u32 as in recNumbers; variations put other numbers there
	recPart   // u64 address in a range, u64 bytes, u32 as in recNumbers
	recTexels // variations put other numbers into arrays
)

const (
	chunkSize = 1 << 20   // bytes; the agent has the same number
	mostBody  = 1 << 30   // bytes of a cubin, the longest record
	mostShort = 256 << 20 // of any other: hashes of a range of 16 TiB
)

var errDamaged = errors.New("the capture is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(format, args...))
}

// readRecord reads the next record. Memory grows with what really comes: a length alone takes none.
func readRecord(r io.Reader) (recordType, []byte, error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, damaged("it ends early (%v)", err)
	}
	t, n := recordType(binary.LittleEndian.Uint32(head[:])), binary.LittleEndian.Uint64(head[8:])
	most := uint64(mostShort)
	if t == recCubin {
		most = mostBody
	}
	if binary.LittleEndian.Uint32(head[4:]) != 0 || n > most {
		return 0, nil, damaged("a record of type %d with %d bytes", t, n)
	}
	body := make([]byte, 0, min(n, chunkSize+64))
	for uint64(len(body)) < n {
		k := min(int(n)-len(body), max(chunkSize, len(body)))
		body = append(body, make([]byte, k)...)
		if _, err := io.ReadFull(r, body[len(body)-k:]); err != nil {
			return 0, nil, damaged("it ends early (%v)", err)
		}
	}
	return t, body, nil
}

func writeRecord(w io.Writer, t recordType, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	head := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(t)),
		uint64(n))
	for _, p := range append([][]byte{head}, parts...) {
		if _, err := w.Write(p); err != nil {
			return fmt.Errorf("writing a capture: %w", err)
		}
	}
	return nil
}

func str(s string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...)
}
func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
