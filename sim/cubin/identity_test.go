package cubin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// TestCodeHash: a byte of line information or of a note makes no other code, any other byte of a
// section does.
func TestCodeHash(t *testing.T) {
	// of 13.0, with line information
	whole, err := os.ReadFile("testdata/lines.bin")
	if err != nil {
		t.Fatal(err)
	}
	want, err := CodeHash(whole)
	if err != nil {
		t.Fatal(err)
	}
	c, err := readContainer(whole)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[bool]int{}
	for _, s := range c.sections {
		if len(s.data) == 0 || s.name == ".shstrtab" {
			continue
		}
		b := bytes.Clone(whole)
		b[s.offset+uint64(len(s.data)/2)] ^= 1
		got, err := CodeHash(b)
		apart := strings.Contains(s.name, "debug") || strings.HasPrefix(s.name, ".note")
		if kinds[apart]++; err == nil && (got == want) != apart {
			t.Errorf("%s: the same code: %v", s.name, got == want)
		}
	}
	if kinds[true] == 0 || kinds[false] < 4 {
		t.Errorf("sections: %v", kinds)
	}
}

// TestCodeHashShared: with -rdc=true the sections of shared memory and of variables without initial values are all at
// one offset and have nothing in the file, which is smaller than all of them.
func TestCodeHashShared(t *testing.T) {
	dir := t.TempDir()
	source, out := filepath.Join(dir, "k.cu"), filepath.Join(dir, "k.cubin")
	var text strings.Builder
	for n := range 8 {
		fmt.Fprintf(&text, `__device__ int many%d[500];
__global__ void k%d(int *p) {
	__shared__ int s[900];
	s[threadIdx.x] = p[threadIdx.x] + many%d[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = s[31 - threadIdx.x];
}
`, n, n, n)
	}
	if err := os.WriteFile(source, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, kit := range kits.All(t) {
		command(t, kit.Nvcc(), "-arch=sm_90", "-rdc=true", "-cubin", kits.ShortFlag(), source, "-o", out)
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if hash, err := CodeHash(b); err != nil || hash == "" {
			t.Errorf("%s: %v", kit.Version, err)
		}
	}
}
