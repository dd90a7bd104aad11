package replay

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/profile/capture"
)

// array is the agent's record of one of 25 x 3 x 2 floats, and what it holds from its begin on.
func array(number uint64, holds []byte) []byte {
	is := bytes.Join([][]byte{u64(25), u64(3), u64(2), u32(0x20), u32(1), u32(2), u32(0)}, nil)
	return append(record(11, u64(number), u64(600), is), record(4, u64(0), holds)...)
}

// object is the agent's record of one over an array.
func object(handle uint64, surface bool, array uint64) []byte {
	is := uint32(0)
	if surface {
		is = 1
	}
	const stale = 0xdead // the program's own array
	of := append(append(u64(0), u64(stale)...), make([]byte, 144-16)...)
	return record(12, u64(handle), u32(is), u32(0), u64(array), u32(144), of, u32(104),
		make([]byte, 104), make([]byte, 112))
}

// TestTextures: objects get their old handles where the driver gives them, whatever else it gives
// before; where it does not, the launch is given the new ones, and where an old one is not among
// the arguments it is not replayed. What the launch leaves in an array is looked at. The driver is
// the test's own.
func TestTextures(t *testing.T) {
	program, dir := built(t), fakeDriver(t)
	holds := bytes.Repeat([]byte{1, 2, 3, 4}, 100)
	sum := capture.Sum(append(bytes.Clone(holds), make([]byte, 200)...))
	left := sum[:]
	for name, c := range map[string]struct {
		handles  string // the first that the driver gives
		objects  [][]byte
		left     []byte
		launched string // the argument, which was 4
		why      string
	}{
		"old":         {"1", [][]byte{object(4, false, 1), object(7, true, 1)}, left, "4", ""},
		"in turns":    {"1", [][]byte{object(7, false, 1), object(2, true, 1), object(4, false, 1)}, left, "4", ""},
		"later":       {"3000", [][]byte{object(4, false, 1)}, left, "3000", ""},
		"in memory":   {"3000", [][]byte{object(4, false, 1), object(7, true, 1)}, left, "", "is in memory"},
		"other bits":  {"1", [][]byte{object(4, true, 1)}, make([]byte, 16), "4", "unlike 1 of 2 MiB that the launch wrote are the same in 5 replays, and not as in the program, the first of them an array at 0x1"},
		"no array":    {"1", [][]byte{object(4, true, 2)}, left, "", "a texture over nothing"},
		"more hashes": {"1", [][]byte{object(4, true, 1)}, make([]byte, 32), "", "hashes for 2 chunks"},
		"two objects": {"5", [][]byte{object(4, false, 1), object(5, false, 1)}, left, "6", ""},
	} {
		const base = 0x7e0000000000
		raw := bytes.Join([][]byte{record(1, kernelRecord(4, 49152, 0xffffffff, 0, 255)...),
			record(3, u64(base), u64(4096), u32(0)), array(1, holds), bytes.Join(c.objects, nil),
			record(6, str(""), u64(base), make([]byte, 16)), record(6, str(""), u64(1), c.left),
			record(7)}, nil)
		content := filepath.Join(t.TempDir(), "capture")
		if err := os.WriteFile(content, packed(t, raw), 0o600); err != nil {
			t.Fatal(err)
		}
		status, log := content+".status", content+".launched"
		cmd := exec.Command(program, content, status, "1")
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "HANDLES="+c.handles, "LAUNCHED="+log)
		_ = cmd.Run()
		text, _ := os.ReadFile(status)
		launched, _ := os.ReadFile(log)
		first, _, _ := strings.Cut(string(launched), "\n")
		if c.why == "" && !strings.HasSuffix(string(text), "done\n") ||
			c.why != "" && (!strings.Contains(string(text), c.why) || strings.Contains(string(text), "done")) ||
			first != c.launched {
			t.Errorf("%s: launched with %q\n%s", name, first, text)
		}
	}
}
