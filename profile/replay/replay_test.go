package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/install/kits"
	"gnvcc/profile/capture"
)

// built gives the replayer; without a toolkit the test is skipped.
func built(t *testing.T) string {
	t.Helper()
	t.Setenv("GNVCC_STRICT", "1")
	path, err := Build(context.Background(), kits.Any(t).Dir, filepath.Join(kits.Kept(), "strict"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
func str(s string) []byte { return append(u32(uint32(len(s))), s...) }

func record(t uint32, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(append(append(u32(t), u32(0)...), u64(uint64(len(body)))...), body...)
}

// kernelRecord is the record of k<<<8,128>>>(p): most dynamic shared memory, carveout, the
// context's cache configuration and its own.
func kernelRecord(base uint64, settings ...uint32) [][]byte {
	kernel := [][]byte{str("k")}
	for _, v := range append([]uint32{8, 1, 1, 128, 1, 1, 0}, settings...) {
		kernel = append(kernel, u32(v))
	}
	return append(kernel, u64(1024), u32(1), u32(0), u32(8), u32(8), u64(base))
}

// agentFile is what the agent writes of k<<<8,128>>>(p) with memory at base, two variables, and a
// texture and a surface over an array.
func agentFile(base uint64) []byte {
	return bytes.Join([][]byte{
		record(1, kernelRecord(base, 49152, 0xffffffff, 0, 255)...),
		record(5, str("counter"), []byte{0}, u32(7)),
		record(5, str("scale"), []byte{1}, make([]byte, 16)),
		record(3, u64(base), u64(1<<20+8), u32(0)),
		record(4, u64(base), bytes.Repeat(u32(0x3f800000), 100)),
		array(1, []byte("some")), object(3, false, 1), object(6, true, 1), // not the first handles
		record(6, str("counter"), u64(0), make([]byte, 16)),
		record(6, str(""), u64(base), make([]byte, 32)),
		record(7),
	}, nil)
}

func file(t *testing.T, base uint64) []byte {
	t.Helper()
	return packed(t, agentFile(base))
}

// packed gives what the agent wrote as the replayer reads it.
func packed(t *testing.T, raw []byte) []byte {
	t.Helper()
	s, err := capture.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Pack(bytes.NewReader(raw), []byte("cubin"), capture.Manifest{Made: time.Now(),
		Device: "GPU", UUID: strings.Repeat("00", 16), Kernel: "k", Cubin: "c"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Bytes(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// play runs the replayer on a file, and gives its exit code and its lines.
func play(t *testing.T, program string, content []byte) (int, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "capture"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, filepath.Join(dir, "capture"), filepath.Join(dir, "status"))
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=")
	cmd.Run()
	text, _ := os.ReadFile(filepath.Join(dir, "status"))
	return cmd.ProcessState.ExitCode(), string(text)
}

// The replayer reads what is written here: what is wrong with it is reported, and with a sound one
// it comes as far as the driver.
func TestReads(t *testing.T) {
	program := built(t)
	whole := file(t, 0x7e0000000000)
	code, text := play(t, program, whole)
	if code != 1 || !strings.Contains(text, "no NVIDIA driver") &&
		!strings.Contains(text, "starting the driver") && !strings.Contains(text, "no GPU") {
		t.Errorf("a sound file: exit code %d\n%s", code, text)
	}
	for n := 0; n < len(whole); n += max(1, len(whole)/60) {
		if code, text := play(t, program, whole[:n]); code != 1 || !strings.Contains(text, "stop ") {
			t.Errorf("cut at %d: exit code %d\n%s", n, code, text)
		}
	}
	for i := 0; i < len(whole); i += 7 { // whatever a byte says, no signal ends it
		broken := bytes.Clone(whole)
		broken[i] ^= 0xff
		if code, text := play(t, program, broken); code != 1 && code != 3 && code != 5 {
			t.Fatalf("byte %d: exit code %d\n%s", i, code, text)
		}
	}
}

// Addresses that are taken by the process itself are tried for in other processes, and refused
// after some.
func TestTaken(t *testing.T) {
	program := built(t)
	// below the end of the user's addresses, where the stack begins
	code, text := play(t, program, file(t, 0x7ffff0000000))
	if code == 3 && (!strings.Contains(text, "in each of") || strings.Count(text, "again ") < 10) {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if code != 3 && code != 1 {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

// TestUnpackInMemory: no more is put into a folder in memory than is free there, and nothing stays
// of what does not come to its end.
func TestUnpackInMemory(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "gnvcc-test-")
	if err != nil {
		t.Skip("SKIPPED, NOT TESTED: no /dev/shm here:", err)
	}
	defer os.RemoveAll(dir)
	s, err := capture.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for part, full := range map[float64]bool{0.7: false, 1.5: true} {
		_, err := Unpack(s, &capture.Manifest{Filled: int64(part * float64(capture.Room(dir)))}, dir)
		if err == nil || strings.Contains(err.Error(), "nearly full") != full {
			t.Errorf("%g of what is free: %v", part, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}
