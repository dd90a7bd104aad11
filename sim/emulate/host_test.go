package emulate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// The emulator against the host's compiler: random programs, whose results C fixes to the bit,
// compiled by nvcc and emulated, and compiled by gcc and run. Sums are contracted by neither, and
// NaNs are compared as such.

// A writer makes up the body of a kernel.
type writer struct {
	*rand.Rand
	loops int
}

func (w *writer) pick(list ...string) string { return list[w.Intn(len(list))] }

func (w *writer) float(depth int) string {
	if depth == 0 {
		return w.pick("a", "b", "c", "f[t]", "f[(t*7+3)&511]", "0.5f", "-0.0f", "3.0f", "1e-38f", "0.1f")
	}
	x, y, z := w.float(depth-1), w.float(depth-1), w.float(depth-1)
	switch w.Intn(22) {
	case 0, 1, 2:
		return "(" + x + " + " + y + ")"
	case 3, 4:
		return "(" + x + " - " + y + ")"
	case 5, 6, 7:
		return "(" + x + " * " + y + ")"
	case 8:
		return "(" + x + " / " + y + ")"
	case 9:
		return "sqrtf(fabsf(" + x + "))"
	case 10, 11:
		return "fmaf(" + x + ", " + y + ", " + z + ")"
	case 12:
		return "(" + w.condition(depth-1) + " ? " + x + " : " + y + ")"
	case 13:
		return w.pick("floorf", "ceilf", "truncf", "rintf", "roundf", "-", "fabsf") + "(" + x + ")"
	case 14:
		return "(float)(" + w.integer(depth-1) + ")"
	case 15:
		return "(float)(" + w.double(depth-1) + ")"
	case 16:
		return "(float)(" + w.long(depth-1) + ")"
	case 17:
		return "(float)(" + w.pick("(unsigned)(", "65535u & (", "255u & (") + w.integer(depth-1) + ") >> " +
			w.pick("0", "16", "8") + ")"
	case 18:
		return "copysignf(" + x + ", (float)number(" + y + "))"
	case 19:
		return "fmodf(" + x + ", " + y + ")"
	case 20:
		return "ldexpf(" + x + ", (" + w.integer(depth-1) + ") & 15)"
	}
	return "bits(word(" + x + ") & 0xfffff000u)"
}

func (w *writer) double(depth int) string {
	if depth == 0 {
		return w.pick("x", "y", "z", "d[t]", "d[(t*5+1)&511]", "0.5", "-0.0", "3.0", "1e-308", "0.1")
	}
	x, y, z := w.double(depth-1), w.double(depth-1), w.double(depth-1)
	switch w.Intn(16) {
	case 0, 1, 2:
		return "(" + x + " + " + y + ")"
	case 3, 4, 5:
		return "(" + x + " * " + y + ")"
	case 6:
		return "(" + x + " - " + y + ")"
	case 7:
		return "(" + x + " / " + y + ")"
	case 8:
		return "sqrt(fabs(" + x + "))"
	case 9:
		return "fma(" + x + ", " + y + ", " + z + ")"
	case 10:
		return "(" + w.condition(depth-1) + " ? " + x + " : " + y + ")"
	case 11:
		return w.pick("floor", "ceil", "trunc", "rint", "round", "-", "fabs") + "(" + x + ")"
	case 12:
		return "(double)(" + w.integer(depth-1) + ")"
	case 13:
		return "(double)(" + w.long(depth-1) + ")"
	case 14:
		return "(double)(" + w.float(depth-1) + ")"
	}
	return "copysign(" + x + ", number(" + y + "))"
}

func (w *writer) integer(depth int) string {
	if depth == 0 {
		return w.pick("i", "j", "k", "n[t]", "n[(t*3+2)&511]", "t", "7", "-3", "0x12345678")
	}
	x, y := w.integer(depth-1), w.integer(depth-1)
	switch w.Intn(20) {
	case 0, 1, 2:
		return "(int)((unsigned)" + x + " + (unsigned)" + y + ")"
	case 3:
		return "(int)((unsigned)" + x + " - (unsigned)" + y + ")"
	case 4, 5:
		return "(int)((unsigned)" + x + " * (unsigned)" + y + ")"
	case 6:
		return "(" + x + " / ((" + y + " & 1023) + 1))"
	case 7:
		return "(" + x + " % ((" + y + " & 1023) + 1))"
	case 8:
		return "(int)((unsigned)" + x + " / ((unsigned)" + y + " | 1u))"
	case 9:
		return "(" + x + w.pick(" & ", " | ", " ^ ") + y + ")"
	case 10:
		return "(int)((unsigned)" + x + w.pick(" << ", " >> ") + "(" + y + " & 31))"
	case 11:
		return "(" + x + " >> (" + y + " & 31))"
	case 12:
		return "(" + w.condition(depth-1) + " ? " + x + " : " + y + ")"
	case 13:
		return w.pick("popc", "clz", "ffs", "brev") + "((unsigned)" + x + ")"
	case 14:
		return w.pick("(int)(short)", "(int)(unsigned char)", "(int)(signed char)", "(int)(unsigned short)") +
			"(" + x + ")"
	case 15:
		return "(int)(" + w.long(depth-1) + w.pick(")", " >> 32)", " >> 7)")
	case 16:
		return "(int)fminmax(" + w.float(depth-1) + ")"
	case 17:
		return "(int)fminmax((float)" + w.double(depth-1) + ")"
	case 18:
		return "(int)word(" + w.float(depth-1) + ")"
	}
	return w.pick("smin", "smax") + "(" + x + ", " + y + ")"
}

func (w *writer) long(depth int) string {
	if depth == 0 {
		return w.pick("l", "m", "(long long)i", "(long long)(unsigned)j", "0x123456789abcdefLL")
	}
	x, y := w.long(depth-1), w.long(depth-1)
	switch w.Intn(9) {
	case 0, 1:
		return "(long long)((unsigned long long)" + x + " + (unsigned long long)" + y + ")"
	case 2:
		return "(long long)((unsigned long long)" + x + " * (unsigned long long)" + y + ")"
	case 3:
		return "(long long)((unsigned long long)" + x + " - (unsigned long long)" + y + ")"
	case 4:
		return "(" + x + w.pick(" & ", " | ", " ^ ") + y + ")"
	case 5:
		return "(" + x + " >> ((int)" + y + " & 63))"
	case 6:
		return "(long long)((unsigned long long)" + x + w.pick(" << ", " >> ") + "((int)" + y + " & 63))"
	case 7:
		return "(" + w.condition(depth-1) + " ? " + x + " : " + y + ")"
	}
	return "(" + x + w.pick(" / ", " % ") + "((" + y + " & 0xffffff) + 3))"
}

func (w *writer) condition(depth int) string {
	op := w.pick(" < ", " <= ", " > ", " >= ", " == ", " != ")
	switch w.Intn(6) {
	case 0, 1:
		return "(" + w.float(min(depth, 1)) + op + w.float(min(depth, 1)) + ")"
	case 2:
		return "(" + w.double(min(depth, 1)) + op + w.double(0) + ")"
	case 3:
		return "(" + w.integer(min(depth, 1)) + op + w.integer(0) + ")"
	case 4:
		return "(" + w.long(min(depth, 1)) + op + w.long(0) + ")"
	}
	return "((unsigned)" + w.integer(0) + op + "(unsigned)" + w.integer(0) + ")"
}

func (w *writer) statement(depth int) string {
	switch w.Intn(12) {
	case 0, 1, 2:
		return w.pick("a", "b", "c") + " = " + w.float(3) + ";\n"
	case 3, 4:
		return w.pick("x", "y", "z") + " = " + w.double(2) + ";\n"
	case 5, 6:
		return w.pick("i", "j", "k") + " = " + w.integer(3) + ";\n"
	case 7:
		return w.pick("l", "m") + " = " + w.long(2) + ";\n"
	case 8:
		return "A[" + w.integer(1) + " & 7] = " + w.float(1) + "; b = b + A[i & 7];\n"
	case 9:
		return "l ^= call(i, " + w.long(1) + ");\n"
	}
	if depth == 0 {
		return w.statement(0)
	}
	body := "{\n" + w.statement(depth-1) + w.statement(depth-1) + "}\n"
	switch w.Intn(4) {
	case 0:
		return "if (" + w.condition(1) + ") " + body + "else {\n" + w.statement(depth-1) + "}\n"
	case 1:
		return fmt.Sprintf("switch (%s & 7) { case 0: %sbreak; case 1: %scase 2: %sbreak; case 5: k ^= 3; break;"+
			" case 6: %s default: j += 2; }\n", w.integer(1), w.statement(0), w.statement(0), w.statement(0),
			w.statement(0))
	}
	w.loops++
	v := fmt.Sprint("u", w.loops)
	exit := ""
	if w.Intn(3) == 0 {
		exit = "if (" + w.condition(1) + ") " + w.pick("break;", "continue;")
	}
	return fmt.Sprintf("for (int %s = 0; %s < (%s & 7); %s++) {\n%s%s%s}\n", v, v, w.integer(0), v,
		w.statement(depth-1), exit, w.statement(depth-1))
}

// common is what both compilers read: what differs between host and device is in macros before it.
const common = `
DEVICE unsigned word(float v) { union { float f; unsigned u; } x; x.f = v; return v != v ? 0x7fffffffu : x.u; }
DEVICE double number(double v) { return v != v ? 1 : v; }
DEVICE float bits(unsigned v) { union { float f; unsigned u; } x; x.u = v; return x.f; }
DEVICE int smin(int a, int b) { return a < b ? a : b; }
DEVICE int smax(int a, int b) { return a > b ? a : b; }
DEVICE float fminmax(float v) { return v > 2e9f ? 2e9f : v < -2e9f ? -2e9f : v != v ? 1.0f : v; }
NOINLINE long long call(int n, long long v) { for (int u = 0; u < (n & 3); u++) v = v * 31 + (v >> 7) / 5; return v; }
`

const device = `
#define DEVICE static __device__ __forceinline__
#define NOINLINE static __device__ __noinline__
#define popc(v) __popc(v)
#define clz(v) __clz(v)
#define ffs(v) __ffs(v)
#define brev(v) (int)__brev(v)
`

const host = `
#include <math.h>
#include <stdio.h>
#define DEVICE static
#define NOINLINE static
#define popc(v) __builtin_popcount(v)
#define ffs(v) __builtin_ffs(v)
static int clz(unsigned v) { return v ? __builtin_clz(v) : 32; }
static int brev(unsigned v) { unsigned r = 0; for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i); return r; }
`

const threads = 512

// body is a kernel's, or the loop's in the host's function of this name.
func (w *writer) body() string {
	var s strings.Builder
	s.WriteString("float a = f[t], b = f[(t+1)&511], c = 0, A[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n" +
		"double x = d[t], y = d[(t+1)&511], z = 0; int i = n[t], j = n[(t+1)&511], k = 0;\n" +
		"long long l = ((long long)i << 32) ^ j, m = j;\n")
	for range 3 + w.Intn(6) {
		s.WriteString(w.statement(2))
	}
	s.WriteString("of[3*t] = a; of[3*t+1] = b; of[3*t+2] = c + A[k & 7]; od[3*t] = x; od[3*t+1] = y;\n" +
		"od[3*t+2] = z; on[3*t] = i; on[3*t+1] = j; on[3*t+2] = k; ol[2*t] = l; ol[2*t+1] = m;\n")
	return s.String()
}

const arguments = "float *of, double *od, int *on, long long *ol, const float *f, const double *d, const int *n"

// values are numbers of all kinds.
func values(r *rand.Rand) (f, d, n []byte) {
	for range threads {
		v := (2*r.Float64() - 1) * math.Pow(10, float64(r.Intn(6)*r.Intn(8)*(r.Intn(3)-1)))
		switch r.Intn(14) {
		case 0:
			v = math.Copysign(0, float64(r.Intn(2))-.5)
		case 1:
			v = math.Inf(r.Intn(2)*2 - 1)
		case 2:
			v = math.NaN()
		case 3:
			v = float64(r.Intn(16)-8) / 2
		case 4:
			v *= 1e-38
		}
		f = binary.LittleEndian.AppendUint32(f, math.Float32bits(float32(v)))
		if r.Intn(20) == 0 {
			v *= 1e-280
		}
		d = binary.LittleEndian.AppendUint64(d, math.Float64bits(v))
		u := int32(r.Uint32())
		if r.Intn(2) == 0 {
			u = int32(r.Intn(300) - 20)
		}
		n = binary.LittleEndian.AppendUint32(n, uint32(u))
	}
	return f, d, n
}

// TestHost compares with gcc: some programs with every toolkit, many with
// GNVCC_TESTS=longer.
func TestHost(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("SKIPPED: no gcc")
	}
	kernels, seeds := 8, 1
	if kits.Longer() {
		kernels, seeds = 40, 6
	}
	for _, kit := range kits.All(t) {
		t.Run(kit.Version, func(t *testing.T) {
			for seed := range seeds {
				hostOnce(t, kit, int64(seed+1), kernels)
			}
		})
	}
}

func hostOnce(t *testing.T, kit kits.Kit, seed int64, kernels int) {
	t.Helper()
	w := &writer{Rand: rand.New(rand.NewSource(seed))}
	var cu, c strings.Builder
	cu.WriteString(device + common)
	c.WriteString(host + common)
	calls := ""
	for k := range kernels {
		body := w.body()
		fmt.Fprintf(&cu, "extern \"C\" __global__ void k%d(%s) { int t = blockIdx.x * blockDim.x + threadIdx.x;\n%s}\n",
			k, arguments, body)
		fmt.Fprintf(&c, "static void k%d(%s) { for (int t = 0; t < %d; t++) {\n%s} }\n", k, arguments, threads,
			body)
		calls += fmt.Sprintf("k%d(of, od, on, ol, f, d, n); fwrite(of, 1, sizeof of, stdout);"+
			" fwrite(od, 1, sizeof od, stdout); fwrite(on, 1, sizeof on, stdout); fwrite(ol, 1, sizeof ol, stdout);\n", k)
	}
	fmt.Fprintf(&c, "static float of[%d], f[%d]; static double od[%d], d[%d]; static int on[%d], n[%d];"+
		" static long long ol[%d];\nint main() { fread(f, 1, sizeof f, stdin); fread(d, 1, sizeof d, stdin);"+
		" fread(n, 1, sizeof n, stdin);\n%s}\n", 3*threads, threads, 3*threads, threads, 3*threads, threads,
		2*threads, calls)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "k.cu"), cu.String())
	write(t, filepath.Join(dir, "k.c"), c.String())
	command(t, nil, "gcc", "-O1", "-w", "-fwrapv", "-ffp-contract=off", "-fno-builtin-fma", "-mfma", "-o",
		filepath.Join(dir, "host"), filepath.Join(dir, "k.c"), "-lm")
	command(t, nil, kit.Nvcc(), "-cubin", "-w", "-arch=sm_90", "-fmad=false", "-o",
		filepath.Join(dir, "k.cubin"), filepath.Join(dir, "k.cu"))
	f, d, n := values(w.Rand)
	want := command(t, bytes.Join([][]byte{f, d, n}, nil), filepath.Join(dir, "host"))
	file, err := os.ReadFile(filepath.Join(dir, "k.cubin"))
	if err != nil {
		t.Fatal(err)
	}
	for k := range kernels {
		memory := NewMemory()
		var params []byte
		var outs []*Buffer
		for _, size := range []int{4 * 3, 8 * 3, 4 * 3, 8 * 2} {
			b := memory.Allocate("out", make([]byte, size*threads))
			outs = append(outs, b)
			params = binary.LittleEndian.AppendUint64(params, b.Address)
		}
		for _, in := range [][]byte{f, d, n} {
			params = binary.LittleEndian.AppendUint64(params, memory.Allocate("in", in).Address)
		}
		p, err := Load(file, fmt.Sprint("k", k), memory)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Run(memory, Launch{Grid: [3]int{4, 1, 1}, Block: [3]int{128, 1, 1},
			Params: params}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for at, o := range outs {
			if len(want) < len(o.Bytes) {
				t.Fatal("the host's program has written too little")
			}
			sameNumbers(t, fmt.Sprintf("seed %d, k%d, output %d", seed, k, at), o.Bytes, want[:len(o.Bytes)], at)
			want = want[len(o.Bytes):]
		}
	}
}

// sameNumbers compares, NaN with NaN.
func sameNumbers(t *testing.T, what string, got, want []byte, kind int) {
	t.Helper()
	size := []int{4, 8, 4, 8}[kind]
	for n := 0; n < len(got); n += size {
		a, b := got[n:n+size], want[n:n+size]
		if bytes.Equal(a, b) {
			continue
		}
		switch kind {
		case 0:
			if single.isNaN(uint64(binary.LittleEndian.Uint32(a))) &&
				single.isNaN(uint64(binary.LittleEndian.Uint32(b))) {
				continue
			}
		case 1:
			if double.isNaN(binary.LittleEndian.Uint64(a)) && double.isNaN(binary.LittleEndian.Uint64(b)) {
				continue
			}
		}
		t.Errorf("%s[%d] (thread %d): %x, the host has %x", what, n/size, n/size/3, a, b)
		return
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, input []byte, argv ...string) []byte {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, said.String())
	}
	return out.Bytes()
}
