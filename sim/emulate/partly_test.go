package emulate

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// flushing are values at which a sum or a product has something to flush, to drop or to keep.
var flushing = []uint32{0, 1 << 31, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x3f000000,
	0x00800000, 0x80800000, 0x00000001, 0x807fffff, 0x00400000, 0x7f7fffff, 0x7f800000, 0xff800000,
	0x7fc00000, 0xffffffff, 0x40490fdb, 0x0d800000, 0x72000000, 0x3f7fffff, 0x3f800001, 0x01000000,
	0x80ffffff}

// What ptxas makes of a sum or product that flushes of which some operands, and not all, are
// numbers: the same bits as of what it can't know. Package fold rests on it (OnlyWhole). Of a
// product of two numbers it makes another one (13.0), which shows that there is something to see.
func TestPartly(t *testing.T) {
	list := []kits.Kit{kits.Any(t)}
	if kits.Longer() {
		list = kits.All(t)
	}
	for _, kit := range list {
		t.Run(kit.Version, func(t *testing.T) { partly(t, kit) })
	}
}

// A partlyKernel computes an operation of which some operands are numbers.
type partlyKernel struct {
	op      string
	of, set int // operands, and which of them are numbers, as bits
	tuples  [][]uint32
}

func partlyKernels() (kernels []partlyKernel) {
	for _, op := range strings.Fields("add.ftz.f32 sub.ftz.f32 mul.ftz.f32 fma.rn.ftz.f32 " +
		"min.ftz.f32 max.ftz.f32") {
		of := 2
		if strings.HasPrefix(op, "fma") {
			of = 3
		}
		for set := 1; set < 1<<of-(of-2); set++ { // of two also both
			k := partlyKernel{op, of, set, [][]uint32{nil}}
			for n := range of {
				if set>>n&1 == 1 {
					var more [][]uint32
					for _, tuple := range k.tuples {
						for _, v := range flushing {
							more = append(more, append(tuple[:len(tuple):len(tuple)], v))
						}
					}
					k.tuples = more
				}
			}
			kernels = append(kernels, k)
		}
	}
	return kernels
}

// partlyText has each kernel with its numbers, F, and with all operands from memory, R.
func partlyText(kernels []partlyKernel) string {
	var text strings.Builder
	text.WriteString(".version 7.8\n.target sm_90\n.address_size 64\n")
	for n, k := range kernels {
		for _, known := range []bool{true, false} {
			fmt.Fprintf(&text, ".visible .entry %c%d(.param .u64 o, .param .u64 i, .param .u64 c)\n{\n"+
				".reg .f32 %%f<8>; .reg .b32 %%r<4>; .reg .b64 %%rd<8>;\n"+
				"ld.param.u64 %%rd1, [o]; ld.param.u64 %%rd2, [i]; ld.param.u64 %%rd5, [c];\n"+
				"mov.u32 %%r1, %%tid.x; mul.wide.u32 %%rd3, %%r1, 4; add.s64 %%rd1, %%rd1, %%rd3;\n"+
				"mul.wide.u32 %%rd3, %%r1, 12; add.s64 %%rd2, %%rd2, %%rd3;\n", "RF"[one(known)], n)
			for at, tuple := range k.tuples {
				next := 0
				for op := range k.of {
					switch {
					case k.set>>op&1 == 0:
						fmt.Fprintf(&text, "ld.global.f32 %%f%d, [%%rd2+%d];\n", op, 4*op)
						continue
					case known:
						fmt.Fprintf(&text, "mov.f32 %%f%d, 0f%08X;\n", op, tuple[next])
					default:
						fmt.Fprintf(&text, "ld.global.f32 %%f%d, [%%rd5+%d];\n", op, 4*(at*k.of+next))
					}
					next++
				}
				operands := []string{"%f0", "%f1", "%f2"}[:k.of]
				fmt.Fprintf(&text, "%s %%f4, %s;\nst.global.f32 [%%rd1+%d], %%f4;\n", k.op,
					strings.Join(operands, ", "), 4*len(flushing)*at)
			}
			text.WriteString("ret;\n}\n")
		}
	}
	return text.String()
}

func partly(t *testing.T, kit kits.Kit) {
	kernels := partlyKernels()
	dir := t.TempDir()
	path := filepath.Join(dir, "k.ptx")
	write(t, path, partlyText(kernels))
	command(t, nil, kit.Tool("ptxas"), "-arch=sm_90", "-o", path+".cubin", path)
	file, err := os.ReadFile(path + ".cubin")
	if err != nil {
		t.Fatal(err)
	}
	var in []byte
	for n := range flushing { // other values for each operand
		for op := range 3 {
			in = binary.LittleEndian.AppendUint32(in, flushing[(n*(1+2*op)+5*op)%len(flushing)])
		}
	}
	seen := false
	for n, k := range kernels {
		results := k.run(t, n, file, in)
		for at := 0; at < len(results[0]); at += 4 {
			a, b := binary.LittleEndian.Uint32(results[0][at:]), binary.LittleEndian.Uint32(results[1][at:])
			if a != b && k.of == 2 && k.set == 3 {
				seen = true
			} else if a != b {
				tuple := k.tuples[at/4/len(flushing)]
				x := at / 4 % len(flushing)
				t.Errorf("%s with the operands %03b numbers %08x (%v) of data %08x: %08x, else %08x", k.op,
					k.set, tuple, math.Float32frombits(tuple[0]), in[12*x:12*x+12], a, b)
				break
			}
		}
	}
	if !seen && kit.Version == "13.0" {
		t.Error("nothing differs where all operands are numbers: nothing is shown")
	}
}

// run gives what both forms leave.
func (k partlyKernel) run(t *testing.T, n int, file, in []byte) (results [2][]byte) {
	for which, name := range "FR" {
		memory := NewMemory()
		o := memory.Allocate("out", make([]byte, 4*len(flushing)*len(k.tuples)))
		var c []byte
		for _, tuple := range k.tuples {
			for op := range k.of {
				c = binary.LittleEndian.AppendUint32(c, tuple[min(op, len(tuple)-1)])
			}
		}
		params := binary.LittleEndian.AppendUint64(nil, o.Address)
		params = binary.LittleEndian.AppendUint64(params, memory.Allocate("in", in).Address)
		params = binary.LittleEndian.AppendUint64(params, memory.Allocate("numbers", c).Address)
		p, err := Load(file, fmt.Sprintf("%c%d", name, n), memory)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Run(memory, Launch{Grid: [3]int{1, 1, 1},
			Block: [3]int{len(flushing), 1, 1}, Params: params}); err != nil {
			t.Fatal(err)
		}
		results[which] = o.Bytes
	}
	return results
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
