package counters

import (
	"encoding/binary"
	"slices"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/sim/emulate"
)

// TestCounts: in a launch, warps count the blocks that they run, of a called function, too.
func TestCounts(t *testing.T) {
	const text = `.version 7.8
.target sm_90
.address_size 64
.func called(.reg .b64 %p)
{
	st.global.u32 [%p], 7;
	ret;
}
.visible .entry k(.param .u64 k_0)
{
	.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p<4>;
	ld.param.u64 %rd1, [k_0];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, 0;
$L1:
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p1, %r2, 5;
	@%p1 bra $L1;
	setp.gt.u32 %p2, %r1, 40;
	setp.gt.u32 %p3, %r1, 400;
	selp.b32 %r3, %r1, %r2, %p3;
	@%p2 bra $L2;
	call called, (%rd1);
$L2:
	ret;
}
`
	for _, kit := range ptxtest.Toolkits(t) {
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		out, c, err := Insert(m, "k", 0)
		if err != nil {
			t.Fatal(err)
		}
		code, err := kit.Assemble(t, out, "-arch=sm_90")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		memory := emulate.NewMemory()
		params := binary.LittleEndian.AppendUint64(nil, memory.Allocate("#0", make([]byte, 64)).Address)
		program, err := emulate.Load(code, "k", memory)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := program.Run(memory, emulate.Launch{Grid: [3]int{3, 1, 1}, Block: [3]int{96, 1, 1}, Params: params}); err != nil {
			t.Fatal(err)
		}
		for _, b := range memory.Buffers() {
			if b.Name != Table {
				continue
			}
			// nine warps: all begin, loop five times, test; two of three of a block call; all end
			// then whether each predicate held, and did not: p3 never does, in a launch of these threads
			if got, err := c.Sum(b.Bytes); err != nil || !slices.Equal(got, []uint64{9, 45, 9, 6, 9, 6, 1, 1, 0, 1, 1, 1}) {
				t.Errorf("%v, %v", got, err)
			}
		}
	}
}
