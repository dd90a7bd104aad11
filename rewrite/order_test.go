// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"encoding/binary"
	"math"
	"math/rand"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/emulate"
)

// TestOrderEdges: where a block's work lies in grids as large as CUDA has them, which no emulator
// and no test could launch: each thread takes another block of another grid from memory.
func TestOrderEdges(t *testing.T) {
	const entry = `.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ctaid.y;
	st.global.v2.u32 [%rd1], {%r1, %r2};
	ret;
}
`
	const taken = `ld.param.u64 %rd1, [p];
	mov.u32 %r3, %tid.x;
	mad.wide.u32 %rd1, %r3, 16, %rd1;
	ld.global.v4.u32 {%gnvcc_o0, %gnvcc_o1, %gnvcc_o2, %gnvcc_o3}, [%rd1];
	`
	rng := rand.New(rand.NewSource(1))
	var in []uint32 // x, y, nctaid.x, nctaid.y
	for _, nx := range []uint32{1, 2, 3, 64, 65537, 65539, 1<<26 - 1, 1 << 26, 1 << 28, 1<<30 - 1,
		1 << 30, math.MaxInt32} {
		for _, ny := range []uint32{1, 2, 3, 5, 63, 64, 65, 130, 65535} {
			for range 6 {
				in = append(in, rng.Uint32()%nx, rng.Uint32()%ny, nx, ny)
			}
			in = append(in, nx-1, ny-1, nx, ny, 0, ny-1, nx, ny, nx-1, 0, nx, ny)
		}
	}
	want := func(n uint32, g []uint32) (x, y uint32) {
		x, y = g[0], g[1]
		first, rows := uint32(0), g[3]
		if n > 0 {
			first, rows = y&-n, n
		}
		if first+rows > g[3] || uint64(rows)*uint64(g[2]) >= 1<<32 {
			return x, y
		}
		number := (y-first)*g[2] + x
		return number / rows, first + number%rows
	}
	for _, kit := range ptxtest.Toolkits(t) {
		for value, n := range map[string]uint32{"transposed": 0, "groups.2": 2, "groups.4": 4,
			"groups.8": 8, "groups.16": 16, "groups.32": 32, "groups.64": 64} {
			r := recipe.Recipe{Terms: []recipe.Term{{Lever: "order", Value: value}}}
			out, refused, err := Apply([]byte(entry), map[string]recipe.Recipe{"k": r})
			if err != nil || len(refused) > 0 {
				t.Fatal(err, refused)
			}
			text := string(out)
			for i, register := range []string{"ctaid.x", "ctaid.y", "nctaid.x", "nctaid.y"} {
				read, by := "mov.u32 %gnvcc_o"+string('0'+rune(i))+", %"+register+";", ""
				if strings.Count(text, read) != 1 {
					t.Fatalf("%s: %s does not stand in it once:\n%s", value, read, text)
				}
				if i == 3 {
					by = taken
				}
				text = strings.Replace(text, read, by, 1)
			}
			cubin, err := kit.Assemble(t, []byte(text), "-arch=sm_90")
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < len(in); at += 4 * 512 {
				some := in[at:min(at+4*512, len(in))]
				memory := emulate.NewMemory()
				program, err := emulate.Load(cubin, "k", memory)
				if err != nil {
					t.Fatal(err)
				}
				data, err := binary.Append(nil, binary.LittleEndian, some)
				if err != nil {
					t.Fatal(err)
				}
				b := memory.Allocate("p", data)
				if _, err := program.Run(memory, emulate.Launch{Grid: [3]int{1, 1, 1},
					Block:  [3]int{len(some) / 4, 1, 1},
					Params: binary.LittleEndian.AppendUint64(nil, b.Address)}); err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(some); i += 4 {
					x := binary.LittleEndian.Uint32(b.Bytes[4*i:])
					y := binary.LittleEndian.Uint32(b.Bytes[4*i+4:])
					if wx, wy := want(n, some[i:i+4]); x != wx || y != wy {
						t.Errorf("%s, CUDA %s, %v: %d %d, not %d %d", value, kit.Version, some[i:i+4], x, y, wx, wy)
					}
				}
			}
		}
	}
}
