package profile

// Frames between the agent and us: u32 length of the body, u16 type, u16 zero, the body; all little
// endian. Strings and byte strings have a u32 length in front. agent/agent.h lists the types and
// their fields.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// protocol is the version that agent and gnvcc must share; agent/agent.h has the same number. They
// come from one binary, so that a difference means an agent built by another gnvcc.
const protocol = 19

type frameType uint16

const (
	fHello frameType = 1 + iota
	fDevice
	fModule
	fLaunch
	fRefused
	fReady
	fSummary
	fNote
	fBye
	fOK
	fError
	fFault
	fHung
	fCaptured
	fWritten
)

const (
	fGo frameType = 64 + iota
	fSession
	fCapture
	fLoad
	fUnload
	fRun
	fGolden
	fCheck
	fRead
)

// The longest frame is a cubin; the largest libraries' have some hundred MB.
const maxFrame = 2 << 30

func readFrame(r io.Reader) (frameType, []byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	t := frameType(binary.LittleEndian.Uint16(head[4:]))
	if n > maxFrame || head[6] != 0 || head[7] != 0 {
		return 0, nil, fmt.Errorf("the agent sent what is no frame (%d bytes of type %d)", n, t)
	}
	// Grow with what really comes: a length alone must not take memory.
	const step = 1 << 20
	body := make([]byte, 0, min(int(n), step))
	for len(body) < int(n) {
		k := min(int(n)-len(body), max(step, len(body)))
		body = append(body, make([]byte, k)...)
		if _, err := io.ReadFull(r, body[len(body)-k:]); err != nil {
			return 0, nil, fmt.Errorf("reading a frame of the agent: %w", err)
		}
	}
	return t, body, nil
}

func writeFrame(w io.Writer, t frameType, body []byte) error {
	head := make([]byte, 8, 8+len(body))
	binary.LittleEndian.PutUint32(head, uint32(len(body)))
	binary.LittleEndian.PutUint16(head[4:], uint16(t))
	_, err := w.Write(append(head, body...))
	return err
}

// A writer puts a body together.
type writer struct{ b []byte }

func (w *writer) u8(v uint8)   { w.b = append(w.b, v) }
func (w *writer) u32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *writer) u64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) bytes(v []byte) {
	w.u32(uint32(len(v)))
	w.b = append(w.b, v...)
}
func (w *writer) str(s string) { w.bytes([]byte(s)) }
func (w *writer) bool(v bool) {
	if v {
		w.u8(1)
	} else {
		w.u8(0)
	}
}

// A Reader takes the body of a frame, or of a record of a capture, apart. The first read over the end
// makes all that follow give zero; Err says why.
type Reader struct {
	b   []byte
	err error
}

// Read takes a body apart.
func Read(b []byte) *Reader { return &Reader{b: b} }

var errShort = errors.New("a frame of the agent is shorter than its fields")

// Take gives the next n bytes; the fields below are made of it.
func (r *Reader) Take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.err = errShort
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *Reader) U8() uint8 {
	if v := r.Take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *Reader) U32() uint32 {
	if v := r.Take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}
func (r *Reader) int() int { return int(int32(r.U32())) }

func (r *Reader) U64() uint64 {
	if v := r.Take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}
func (r *Reader) f64() float64  { return math.Float64frombits(r.U64()) }
func (r *Reader) Bytes() []byte { return r.Take(int(r.U32())) }
func (r *Reader) Str() string   { return string(r.Bytes()) }

// Rest is what is left.
func (r *Reader) Rest() []byte { return r.Take(len(r.b)) }

// Err gives the error of any read.
func (r *Reader) Err() error { return r.err }

// End is Err that complains about bytes that are left.
func (r *Reader) End() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("a frame of the agent has %d bytes too many", len(r.b))
	}
	return r.err
}
