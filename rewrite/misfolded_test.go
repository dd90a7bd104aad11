package rewrite

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/emulate"
)

// loopKernel has a loop of eight turns with this in it, of which %r2 counts them.
func loopKernel(pragma bool, body string) []byte {
	text := `.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u32 k_1)
{
	.reg .b64 %rd<9>; .reg .b32 %r<30>; .reg .pred %p<4>; .reg .f32 %f<9>;
	ld.param.u64 %rd1, [k_0];
	ld.param.u32 %r1, [k_1];
	ld.global.u32 %r9, [%rd1+128];
	mov.u32 %r2, 0;
	mov.u32 %r3, 0;
$L1:
	PRAGMA
	mul.wide.s32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3+64], %r3;
	ld.global.u32 %r10, [%rd3+256];
	ld.global.u32 %r11, [%rd1+132];
	add.s32 %r10, %r10, %r11;
	BODY
	mad.lo.u32 %r3, %r3, 5, %r4;
	add.u32 %r3, %r3, %r10;
	add.s32 %r2, %r2, 1;
	setp.lt.s32 %p1, %r2, 8;
	@%p1 bra $L1;
	st.global.u32 [%rd1], %r3;
	ret;
}
`
	of := ""
	if pragma {
		of = `.pragma "nounroll";`
	}
	return []byte(strings.NewReplacer("PRAGMA", of, "BODY", body).Replace(text))
}

// misfoldedBodies are operations of which ptxas computes other bits than its code where it knows the
// turn, and what is as near to them as may stand.
var misfoldedBodies = []struct {
	body    string
	refused bool
}{
	{`add.u32 %r12, %r2, 28; bfi.b32 %r4, %r1, %r1, 7, %r12;`, true},
	{`shl.b32 %r12, %r2, 3; bfe.s32 %r4, %r1, %r12, 12;`, true},
	{`shl.b32 %r12, %r2, 30; add.s32 %r12, %r12, %r9; slct.s32.s32 %r4, %r1, %r3, %r12;`, true},
	{`bfi.b32 %r4, %r1, %r2, 7, 9; bfe.s32 %r4, %r4, 3, 20;`, false},
	{`shl.b32 %r12, %r2, 3; bfe.u32 %r4, %r1, %r12, 12;`, false},
	{`slct.u32.s32 %r4, %r1, %r3, %r2;`, false},
}

// TestMisfolded: what may change which loops ptxas unrolls is refused for kernels in which ptxas
// could compute such an operation wrongly, and for no others.
func TestMisfolded(t *testing.T) {
	o := Options{Blocks: map[string][3]int{"k": {1, 1, 1}}, Dynamic: map[string]int{"k": 0}}
	for _, b := range misfoldedBodies {
		for _, lever := range []string{"demote=4:static", "early=2", "inorder=on"} {
			_, refused, err := o.apply(loopKernel(false, b.body), map[string]recipe.Recipe{"k": mustRecipe(t, lever)})
			if err != nil || (refused["k"] != nil) != b.refused {
				t.Errorf("%s of %s: %v, %v", lever, b.body, refused["k"], err)
			}
		}
	}
	r := map[string]recipe.Recipe{"k": mustRecipe(t, "maxnreg=64 hint@ld=L1::no_allocate")}
	if _, refused, err := o.apply(loopKernel(false, misfoldedBodies[0].body), r); err != nil ||
		len(refused) > 0 {
		t.Errorf("what is exact by construction: %v, %v", refused, err)
	}
}

// TestMisfoldedBits: the bits really are others, and a selector that is the smallest integer is
// taken for one without a sign.
func TestMisfoldedBits(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		leaves := func(text []byte) []byte {
			code, err := kit.Assemble(t, text, "-arch=sm_90")
			if err != nil {
				t.Fatal(err)
			}
			memory := emulate.NewMemory()
			b := memory.Allocate("", make([]byte, 1024))
			p, err := emulate.Load(code, "k", memory)
			if err != nil {
				t.Fatal(err)
			}
			params := binary.LittleEndian.AppendUint64(nil, b.Address)
			params = append(binary.LittleEndian.AppendUint32(params, 0x87654321), 0, 0, 0, 0)
			one := [3]int{1, 1, 1}
			if _, err = p.Run(memory, emulate.Launch{Grid: one, Block: one, Params: params}); err != nil {
				t.Fatal(err)
			}
			return b.Bytes
		}
		old := slices.Contains([]string{"11.8", "12.4", "13.0", "13.3"}, kit.Version)
		body := misfoldedBodies[0].body
		same := bytes.Equal(leaves(loopKernel(true, body)), leaves(loopKernel(false, body)))
		if same == old {
			t.Errorf("%s: the same with and without the pragma: %v, %s", kit.Version, same, body)
		}
		chosen := leaves(loopKernel(true, `mov.b32 %r12, 0x80000000;
			slct.s32.s32 %r3, 7, 9, %r12; mov.u32 %r4, 0; mov.u32 %r10, 0;`))
		if got := binary.LittleEndian.Uint32(chosen); (got == 7*5) != old || !old && got != 9*5 {
			t.Errorf("%s: chosen by %d: %d", kit.Version, math.MinInt32, got)
		}
	}
}
