package emulate

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"gnvcc/install/kits"
)

// TestPolicy: a load with a cache policy of its own is none that is known, and no fault of the
// kernel's.
func TestPolicy(t *testing.T) {
	kit := kits.Any(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "k.ptx"), filepath.Join(dir, "k.cubin")
	write(t, in, `.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<4>; .reg .b32 %r<2>;
	ld.param.u64 %rd1, [p];
	createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;
	ld.global.L2::cache_hint.u32 %r1, [%rd1+4], %rd2;
	st.global.u32 [%rd1], %r1;
	ret;
}
`)
	command(t, nil, kit.Ptxas(), "-arch=sm_90", in, "-o", out)
	code, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	memory := NewMemory()
	b := memory.Allocate("", make([]byte, 64))
	p, err := Load(code, "k", memory)
	if err != nil {
		t.Fatal(err)
	}
	one := [3]int{1, 1, 1}
	_, err = p.Run(memory, Launch{Grid: one, Block: one,
		Params: binary.LittleEndian.AppendUint64(nil, b.Address)})
	if !Unknown(err) {
		t.Error(err)
	}
}
