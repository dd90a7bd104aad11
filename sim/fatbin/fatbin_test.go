package fatbin

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gnvcc/install/kits"
)

// TestEach: what is taken out of objects, archives and programs, compressed or not, is what ptxas
// wrote. (A program holds a cubin more, of an empty device link.) 12.4 packs by LZ4, 13.0 by
// Zstandard. GNVCC_TESTS=longer: of every toolkit.
func TestEach(t *testing.T) {
	for _, kit := range kits.All(t) {
		if kit.Version != "12.4" && kit.Version != "13.0" && !kits.Longer() {
			continue
		}
		t.Run(kit.Version, func(t *testing.T) {
			dir := t.TempDir()
			text := "__global__ void k(float *p) { *p = 1; }\nint main() { k<<<1, 1>>>(0); }\n"
			run := func(name string, args ...string) {
				t.Helper()
				cmd := exec.Command(name, args...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), kits.Short(text))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s %q: %v\n%s", name, args, err, out)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "k.cu"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			nvcc, arch := kit.Nvcc(), "-gencode=arch=compute_80,code=[sm_80,sm_86,compute_80]"
			run(nvcc, "-arch=sm_80", "-cubin", "k.cu", "-o", "80.cubin")
			run(nvcc, arch, "-c", "k.cu", "-o", "k.o")
			run(nvcc, arch, "-c", "k.cu", "-o", "packed.o", "-Xfatbin", "-compress-all")
			run(nvcc, arch, "-fatbin", "k.cu", "-o", "k.fatbin")
			run(nvcc, arch, "-rdc=true", "-c", "k.cu", "-o", "r.o")
			run("ar", "rc", "odd.a", "80.cubin", "k.cu", "k.o", "packed.o")
			run(nvcc, "k.o", "-o", "app")
			one, err := os.ReadFile(filepath.Join(dir, "80.cubin"))
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string][2]int{ // cubins, and those that are the first one
				"80.cubin": {1, 1}, "k.o": {2, 1}, "packed.o": {2, 1}, "k.fatbin": {2, 1}, "r.o": {2, 0},
				"odd.a": {5, 3}, "app": {3, 1}, "k.cu": {0, 0},
			} {
				all, err := readAll(filepath.Join(dir, name))
				same := len(slices.DeleteFunc(slices.Clone(all), func(b []byte) bool {
					return !bytes.Equal(b, one)
				}))
				if err != nil || len(all) != want[0] || same != want[1] {
					t.Errorf("%s: %d cubins, %d as by themselves, want %v: %v", name, len(all), same, want,
						err)
				}
			}
		})
	}
}

func readAll(path string) (all [][]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return all, Each(f, info.Size(), func(b []byte) error { all = append(all, b); return nil })
}

// FuzzEach: whatever stands in a file, reading it ends.
func FuzzEach(f *testing.F) {
	fat := make([]byte, 16+64+16)
	copy(fat, "\x50\xed\x55\xba\x01\x00\x10\x00\x50")
	copy(fat[16:], "\x02\x00\x01\x01\x40\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x06")
	fat[16+41], fat[16+56] = 0x20, 9
	copy(fat[80:], "\x12a\x01\x00\x11b")
	f.Add(fat)
	f.Add(append([]byte("!<arch>\n"), bytes.Repeat([]byte{' '}, 60)...))
	f.Add([]byte("\x7fELF\x02\x01\x01................"))
	f.Fuzz(func(t *testing.T, content []byte) {
		Each(bytes.NewReader(content), int64(len(content)), func(b []byte) error {
			if len(b) > 255*len(content)+maxImage/1024 {
				t.Errorf("%d bytes out of %d", len(b), len(content))
			}
			return nil
		})
	})
}

// TestLZ4: blocks by the format's description, and damaged ones.
func TestLZ4(t *testing.T) {
	for in, want := range map[string]string{
		"\x12a\x01\x00\x10b":            "aaaaaaab",
		"\x10x":                         "x",
		"\x1fa\x01\x00\x05\x10b":        "a" + string(bytes.Repeat([]byte("a"), 24)) + "b",
		"\xf0\x01" + "0123456789abcdef": "0123456789abcdef",
		"\x12a\x02\x00\x10b":            "!",
		"\x12a\x01":                     "!",
		"\xf0":                          "!",
		"\x12a\x00\x00\x10b":            "!",
		"\xff" + string(bytes.Repeat([]byte{255}, 9)): "!",
	} {
		out, err := unLZ4([]byte(in), 64)
		if want == "!" != (err != nil) || err == nil && string(out) != want {
			t.Errorf("%q: %q, %v, want %q", in, out, err, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b := make([]byte, rng.IntN(40))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		if out, err := unLZ4(b, 100); err == nil && len(out) > 100 {
			t.Fatalf("%d bytes", len(out))
		}
	}
}
