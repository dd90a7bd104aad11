// What an agent may send, fuzzed.

package profile

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// Whatever bytes come, decoding gives an error and no more.
func FuzzFrames(f *testing.F) {
	f.Add(uint16(fLaunch), []byte{1, 0, 0, 0})
	f.Add(uint16(fModule), append([]byte{1, 0, 0, 0, 4, 0, 0, 0}, "\x7fELF"...))
	f.Fuzz(func(t *testing.T, kind uint16, body []byte) {
		p := &process{run: &run{dir: t.TempDir(), options: Options{Log: func(string, ...any) {}}},
			info:    &Process{},
			devices: map[int]*Device{}, modules: map[uint32]*module{},
			shapes: map[uint32]*Seen{1: {Launch: &Launch{Params: []Param{{Size: 4}}}}}}
		in := &Reader{b: body}
		switch frameType(kind % 16) {
		case fDevice:
			p.device(in)
		case fModule:
			p.module(in)
		case fLaunch:
			p.launch(in)
		case fSummary:
			p.counts(in)
		default:
			readFrame(bytes.NewReader(body))
		}
	})
}

// everything asks for all that a session has.
func everything(_ *Launch, s Session) {
	s.Golden()
	c, _, err := s.Load("/a/candidate", "")
	if err == nil {
		s.Measure(c, 3, Measurement{})
		s.Check(c)
		s.Unload(c)
	}
}

// conversation writes frames, "type length body" each, as an agent sends them.
func conversation(frames ...any) []byte {
	var out bytes.Buffer
	for i := 0; i+1 < len(frames); i += 2 {
		writeFrame(&out, frames[i].(frameType), frames[i+1].([]byte))
	}
	return out.Bytes()
}

// FuzzConversation has an agent say untrusted bytes from its greeting on, to a host that tunes
// whatever it is asked about. It ends when the bytes do.
func FuzzConversation(f *testing.F) {
	device := writer{}
	device.u32(0)
	device.str("NVIDIA Test")
	device.bytes([]byte{1, 2})
	device.u64(1 << 30)
	for range 10 {
		device.u32(9)
	}
	cubin := writer{}
	cubin.u32(1)
	cubin.bytes(smallELF())
	launch := writer{}
	for _, v := range []uint32{7, 0, 1} {
		launch.u32(v)
	}
	launch.str("k")
	for range 7 + 7 + 1 {
		launch.u32(1)
	}
	launch.u64(1)
	launch.u32(1)
	launch.u32(0)
	launch.u32(4)
	launch.bytes([]byte{5, 0, 0, 0})
	launch.bytes([]byte{1, 1, 1, 1})
	launch.u8(2)
	launch.u32(0)
	launch.u32(0)
	launch.str("")
	launch.u64(64)
	launch.u32(0)
	launch.u8(0)
	ready := make([]byte, 16)
	golden := make([]byte, 4+8+8+4)
	f.Add(conversation(fDevice, device.b, fModule, cubin.b, fLaunch, launch.b, fReady, ready, fOK,
		golden, fOK, make([]byte, 4+7*4), fOK, make([]byte, 24),
		fOK, make([]byte, 1+8+4+8*8), fOK, []byte{}, fOK, []byte{}, fSummary, make([]byte, 25), fBye,
		[]byte{}))
	f.Add(conversation(fDevice, device.b, fModule, cubin.b, fLaunch, launch.b, fReady, ready, fHung,
		[]byte{}))
	f.Add(conversation(fNote, []byte{1, 0, 0, 0, 'x'}, fLaunch, launch.b, fRefused,
		[]byte{0, 0, 0, 0}))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, said []byte) {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Skip(err)
		}
		ends := make([]*net.UnixConn, 2)
		for i, fd := range fds {
			file := os.NewFile(uintptr(fd), "agent")
			c, err := net.FileConn(file)
			file.Close()
			if err != nil {
				t.Fatal(err)
			}
			ends[i] = c.(*net.UnixConn)
			defer c.Close()
		}
		go func() {
			ends[1].Write(said)
			ends[1].CloseWrite()
			io.Copy(io.Discard, ends[1])
		}()
		// pid 0: nobody to kill where the agent says that a kernel hangs.
		h := &host{tune: everything}
		p := &process{run: &run{dir: dir, host: h.host(), options: Options{Limit: time.Second, Replay: true,
			Log: func(string, ...any) {}}}, conn: ends[0], in: bufio.NewReader(ends[0]), info: &Process{},
			devices: map[int]*Device{}, modules: map[uint32]*module{}, shapes: map[uint32]*Seen{}}
		p.events(context.Background())
	})
}
