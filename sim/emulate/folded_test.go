package emulate

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// Functions of CUDA that package fold takes for exact: what the compilers make of them where the
// arguments are constants must be what the instructions make of them. A function is its argument's
// types, f, d (double), i, u, l, m (unsigned of 64 bits), and its result's.
var exactFunctions = map[string]string{
	"fabsf": "f:f", "fabs": "d:d", "fmaf": "fff:f", "fma": "ddd:d", "fminf": "ff:f", "fmin": "dd:d",
	"fmaxf": "ff:f", "fmax": "dd:d", "floorf": "f:f", "floor": "d:d", "ceilf": "f:f", "ceil": "d:d",
	"truncf": "f:f", "trunc": "d:d", "rintf": "f:f", "rint": "d:d", "roundf": "f:f", "round": "d:d",
	"nearbyintf": "f:f", "nearbyint": "d:d", "copysignf": "ff:f", "copysign": "dd:d", "sqrtf": "f:f",
	"sqrt": "d:d", "__saturatef": "f:f", "__fadd_rn": "ff:f", "__fsub_rn": "ff:f", "__fmul_rn": "ff:f",
	"__fmaf_rn": "fff:f", "__fdiv_rn": "ff:f", "__frcp_rn": "f:f", "__fsqrt_rn": "f:f",
	"__dadd_rn": "dd:d", "__dsub_rn": "dd:d", "__dmul_rn": "dd:d", "__fma_rn": "ddd:d",
	"__ddiv_rn": "dd:d", "__drcp_rn": "d:d", "__dsqrt_rn": "d:d", "__float_as_int": "f:i",
	"__int_as_float": "i:f", "__float_as_uint": "f:u", "__uint_as_float": "u:f",
	"__double_as_longlong": "d:l", "__longlong_as_double": "l:d", "__int2float_rn": "i:f",
	"__uint2float_rn": "u:f", "__ll2float_rn": "l:f", "__ull2float_rn": "m:f", "__int2double_rn": "i:d",
	"__uint2double_rn": "u:d", "__ll2double_rn": "l:d", "__ull2double_rn": "m:d",
	"__double2float_rn": "d:f", "isnan": "f:i", "isinf": "d:i", "isfinite": "f:i", "signbit": "d:i",
	"fdimf": "ff:f", "fdim": "dd:d",
	// and what stands in the code as an operator
	"(float)": "d:f", "(double)": "f:d", "(int)": "f:i", "(unsigned)": "f:u", "(long long)": "f:l",
	"(unsigned long long)": "f:m", "(int)(double)": "d:i", "(unsigned)(double)": "d:u",
	"(long long)(double)": "d:l", "(unsigned long long)(double)": "d:m", "(short)": "f:i",
	"(unsigned char)": "f:i",
	"sum":             "ff:f", "difference": "dd:d", "product": "ff:f", "quotient": "ff:f", "ratio": "dd:d",
	"less": "ff:i", "more": "dd:d", "minus": "f:f",
}

const ownFunctions = `
static __device__ float sum(float a, float b) { return a + b; }
static __device__ double difference(double a, double b) { return a - b; }
static __device__ float product(float a, float b) { return a * b; }
static __device__ float quotient(float a, float b) { return a / b; }
static __device__ double ratio(double a, double b) { return a / b; }
static __device__ int less(float a, float b) { return (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * !(a >= b); }
static __device__ double more(double a, double b) { return a > b ? a : b; }
static __device__ float minus(float a) { return -a; }
`

var typeNames = map[byte]string{'f': "float", 'd': "double", 'i': "int", 'u': "unsigned",
	'l': "long long", 'm': "unsigned long long"}

// edges are arguments by their types: as the text has them, and as bits.
var edges = map[byte][]uint64{
	'f': {0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0xbe99999a, 0x40200000,
		0xc0200000, 0x3effffff, 0x000116c2, 0x800116c2, 0x7f800000, 0xff800000, 0x7fc00000, 0x4f32d05e,
		0xcf32d05e, 0x7f7fffff, 0x4b000001, 0x40400000},
	'd': {0, 1 << 63, 0x3ff0000000000000, 0xbff0000000000000, 0xbfe0000000000000, 0xbfd3333333333333,
		0x4004000000000000, 0xc004000000000000, 0x3fdfffffffffffff, 0x000012688b70e62b,
		0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x41e65a0bc0000000,
		0xc1e65a0bc0000000, 0x7fefffffffffffff,
		0x4330000000000001, 0x4008000000000000, 0x36a0000000000001},
	'i': {0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x01000001, 0x7fc00000},
	'u': {0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x01000001, 0xffffff7f},
	'l': {0, 1, 1<<64 - 1, 1<<63 - 1, 1 << 63, 1<<53 + 1, 0x7ff8000000000000},
	'm': {0, 1, 1<<64 - 1, 1<<63 - 1, 1 << 63, 1<<53 + 1, 0xffffff7fffffffff},
}

// constantOf is a value as the device's code has it.
func constantOf(is byte, v uint64) string {
	switch is {
	case 'f':
		return fmt.Sprintf("__uint_as_float(%#xu)", v)
	case 'd':
		return fmt.Sprintf("__longlong_as_double(%#xll)", v)
	case 'i', 'u':
		return fmt.Sprintf("(%s)%#xu", typeNames[is], v)
	}
	return fmt.Sprintf("(%s)%#xull", typeNames[is], v)
}

// tuples are all arguments of some types; of three the third is one of the first few.
func tuples(types string) [][]uint64 {
	out := [][]uint64{nil}
	for n := range types {
		list := edges[types[n]]
		if len(types) == 3 {
			list = list[:7]
		}
		var next [][]uint64
		for _, t := range out {
			for _, v := range list {
				next = append(next, append(slices.Clone(t), v))
			}
		}
		out = next
	}
	return out
}

// TestFolded: of the functions that package fold holds for exact, only minimum and maximum have
// other bits where the compilers compute them: cicc takes the first of two zeros.
func TestFolded(t *testing.T) {
	list := []kits.Kit{kits.Any(t)}
	if kits.Longer() {
		list = kits.All(t)
	}
	for _, kit := range list {
		t.Run(kit.Version, func(t *testing.T) { folded(t, kit) })
	}
}

func folded(t *testing.T, kit kits.Kit) {
	var cu strings.Builder
	cu.WriteString(ownFunctions)
	var names []string
	for name := range exactFunctions {
		names = append(names, name)
	}
	slices.Sort(names)
	for n, name := range names {
		in, out, _ := strings.Cut(exactFunctions[name], ":")
		is := typeNames[out[0]]
		all := tuples(in)
		fmt.Fprintf(&cu, "extern \"C\" __global__ void F%d(%s *o, const void *) {\n", n, is)
		for at, tuple := range all {
			var args []string
			for k, v := range tuple {
				args = append(args, constantOf(in[k], v))
			}
			fmt.Fprintf(&cu, "o[%d] = %s(%s);\n", at, name, strings.Join(args, ", "))
		}
		var args []string
		for k := range in {
			args = append(args, fmt.Sprintf("*(const %s *)(v + %d * (%d * t + %d))", typeNames[in[k]], 8,
				len(in), k))
		}
		fmt.Fprintf(&cu, "}\nextern \"C\" __global__ void R%d(%s *o, const char *v) {"+
			" for (int t = threadIdx.x; t < %d; t += 32) o[t] = %s(%s); }\n", n, is, len(all), name,
			strings.Join(args, ", "))
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "k.cu"), cu.String())
	command(t, nil, kit.Nvcc(), "-cubin", "-w", "-arch=sm_90", "-o", filepath.Join(dir, "k.cubin"),
		filepath.Join(dir, "k.cu"))
	file, err := os.ReadFile(filepath.Join(dir, "k.cubin"))
	if err != nil {
		t.Fatal(err)
	}
	for n, name := range names {
		in, out, _ := strings.Cut(exactFunctions[name], ":")
		all := tuples(in)
		var results [2][]byte
		for which, entry := range []string{"F", "R"} {
			memory := NewMemory()
			o := memory.Allocate("out", make([]byte, 8*len(all)))
			var v []byte
			for _, tuple := range all {
				for _, x := range tuple {
					v = binary.LittleEndian.AppendUint64(v, x)
				}
			}
			params := binary.LittleEndian.AppendUint64(nil, o.Address)
			params = binary.LittleEndian.AppendUint64(params, memory.Allocate("in", v).Address)
			p, err := Load(file, fmt.Sprint(entry, n), memory)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Run(memory, Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{1 + 31*which, 1, 1},
				Params: params}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			results[which] = o.Bytes
		}
		differs := ""
		size := map[byte]int{'f': 4, 'i': 4, 'u': 4, 'd': 8, 'l': 8, 'm': 8}[out[0]]
		for at, tuple := range all {
			a, b := results[0][at*size:(at+1)*size], results[1][at*size:(at+1)*size]
			if string(a) != string(b) && !(out[0] == 'f' && bothNaN(single, a, b) ||
				out[0] == 'd' && bothNaN(double, a, b)) {
				differs += fmt.Sprintf(" %x: %x, runs %x;", tuple, a, b)
			}
		}
		want := foldedOtherwise[name]
		if compact(differs) != want {
			t.Errorf("%s:%.300s, want %q", name, differs, want)
		}
	}
}

// foldedOtherwise is what is known of cicc: arguments, its result, that of the instruction.
var foldedOtherwise = map[string]string{
	"fmaxf": "[80000000 0]:00000080,runs00000000;", "fminf": "[0 80000000]:00000000,runs00000080;",
	"fmax": "[8000000000000000 0]:0000000000000080,runs0000000000000000;",
	"fmin": "[0 8000000000000000]:0000000000000000,runs0000000000000080;",
}

// compact leaves the spaces out that stand for no operand.
func compact(text string) string {
	return strings.NewReplacer(": ", ":", ", runs ", ",runs", "; ", ";").Replace(strings.TrimSpace(text))
}

func bothNaN(f format, a, b []byte) bool {
	var x, y [8]byte
	copy(x[:], a)
	copy(y[:], b)
	return f.isNaN(binary.LittleEndian.Uint64(x[:])) && f.isNaN(binary.LittleEndian.Uint64(y[:]))
}
