package capturetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// A Launch is one to be made up: of a kernel with one array of floats, and scalars behind it.
type Launch struct {
	Program, Kernel string
	Cubin           []byte
	Params          [][2]int // offset and size of each
	Grid, Block     int
	Seconds         float64 // what its launches took in the program, 1 ms each
	Made            time.Time
}

// array is where the first argument points to.
const array = 0x7f2000000000

// Keep makes it up and keeps it.
func Keep(s *capture.Store, l Launch) (*capture.Manifest, error) {
	m := capture.Manifest{Made: l.Made, Program: l.Program, Driver: 13000, Device: "Simulated H200",
		UUID:  strings.Repeat("0a", 16),
		Major: 9, Kernel: l.Kernel, Shape: profile.Shape{Grid: [3]int{l.Grid, 1, 1}, Block: [3]int{l.Block, 1, 1}}, Nth: 1,
		Use: capture.Use{Count: max(int(l.Seconds*1e3), 1), Seconds: l.Seconds, Sampled: 4, Sets: 1}}
	sum := sha256.Sum256(l.Cubin)
	m.Cubin = hex.EncodeToString(sum[:])
	return s.Pack(bytes.NewReader(l.raw()), l.Cubin, m)
}

// raw is the file as the agent would write it (profile/capture/raw.go has the form).
func (l Launch) raw() []byte {
	size := 0
	for _, p := range l.Params {
		size = max(size, p[0]+p[1])
	}
	args := make([]byte, size)
	for i, p := range l.Params {
		if i == 0 && p[1] == 8 {
			binary.LittleEndian.PutUint64(args[p[0]:], array)
		} else if p[1] >= 4 {
			binary.LittleEndian.PutUint32(args[p[0]:], 1024)
		}
	}
	var kernel []byte
	u32 := func(v ...uint32) {
		for _, x := range v {
			kernel = binary.LittleEndian.AppendUint32(kernel, x)
		}
	}
	u32(uint32(len(l.Kernel)))
	kernel = append(kernel, l.Kernel...)
	u32(uint32(l.Grid), 1, 1, uint32(l.Block), 1, 1, 0, 49152, 0xffffffff, 0, 255)
	kernel = binary.LittleEndian.AppendUint64(kernel, 1024)
	u32(uint32(len(l.Params)))
	for _, p := range l.Params {
		u32(uint32(p[0]), uint32(p[1]))
	}
	u32(uint32(size))
	kernel = append(kernel, args...)
	var out []byte
	record := func(kind uint32, body []byte) {
		out = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(out, uint64(kind)),
			uint64(len(body)))
		out = append(out, body...)
	}
	record(1, kernel)
	var place []byte
	place = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(place, array), 4096)
	record(3, append(place, 0, 0, 0, 0))
	record(7, nil)
	return out
}
