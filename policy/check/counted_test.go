package check

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/sim/emulate"
)

// What is to be found of one kernel, launched in two blocks of 64 threads with m, n and mode.
var counted = []struct {
	name, body string
	m, n, mode int32
	// what has to be said: "all" may serve all launches, "pins" those with the same mode, "same" those
	// with the same arguments, "never" none
	want string
	data bool // it decides something all the same
}{
	{"everything runs", `float s = 0; for (int j = 0; j < m; j++) s += x[j + t] * y[j]; if (t < n) out[t] = s;`, 9, 100, 0, "all", false},
	{"edges of a field", `float s = x[t] * y[t]; if (t > 0 && t < n - 1) s = s + x[t - 1] * y[t + 1]; if (t < n) out[t] = s;`, 1, 100, 0, "all", false},
	{"stores beside each other", `out[2 * t] = x[t] * y[t] + y[0]; out[2 * t + 1] = x[t] - y[t] * y[1];`, 1, 1, 1, "all", false},
	{"a row of stores", `for (int j = 0; j < 4; j++) out[t * 4 + j] = x[t] * y[j] + y[j + mode];`, 1, 1, 1, "all", false},
	{"short", "float s = 0;\n#pragma unroll 4\nfor (int j = 0; j < m; j++) s += x[j + t] * y[j];\nout[t] = s;", 3, 0, 0, "same", false},
	{"one turn", "float s = 0;\n#pragma unroll 1\nfor (int j = 0; j < m; j++) s += x[j + t] * y[j];\nout[t] = s;", 1, 0, 0, "same", false},
	{"rows", "float s = 0;\n#pragma unroll 4\nfor (int j = k[0]; j < k[1]; j++) s += x[j + t] * y[j];\nout[t] = s;", 0, 0, 0, "never", false},
	{"a rare number", `float s = x[t] * y[t]; if (x[t] > 1e20f) s = s * y[1] + y[2]; out[t] = s;`, 0, 0, 0, "never", false},
	{"a slow path that no thread comes to", `out[t] = sinf(t * 0.001f) * x[t] + y[0];`, 0, 0, 0, "same", true},
	{"a rare kind", `float s = x[t] * y[t]; if (k[t] == 7) s = y[1] * s - y[2]; out[t] = s;`, 0, 0, 0, "never", false},
	{"after a search", `int i = 0; while (k[i] > 7) i++; out[t] = i > 5 ? x[t] * y[0] + y[1] : x[t] * y[2];`, 0, 0, 0, "never", false},
	{"a switch", `float s; switch (mode) { case 0: s = x[t] * y[0] + y[1]; break; case 1: s = x[t] * y[2] - y[3]; break;
		case 2: s = x[t] + y[4] * y[5]; break; case 3: s = y[6] - x[t] * y[7]; break; default: s = x[t] * y[8]; } out[t] = s;`, 0, 0, 2, "same", false},
	{"moves alone", `float s = x[t] * y[0] + y[1], q = x[t] * y[2] - y[3]; if (mode) s = q; out[t] = s + q;`, 0, 0, 0, "same", false},
	{"bound", `out[t] = t < m ? x[t] * y[0] + y[1] : x[t] * y[2] - y[3];`, 1000, 0, 0, "same", false},
	{"block", `out[t] = blockIdx.x < 2 ? x[t] * y[0] + y[1] : x[t] * y[2] - y[3];`, 0, 0, 0, "same", false},
	{"local", `float l[4] = {x[t] * y[0] + y[1], x[t] * y[2] - y[3], x[t] + y[4] * y[5], y[6] - x[t] * y[7]}; out[t] = l[mode & 3];`, 0, 0, 0, "pins", false},
	{"shared", `__shared__ float l[256]; l[t] = x[t] * y[0] + y[1]; l[t + 128] = x[t] * y[2] - y[3]; __syncthreads(); out[t] = l[mode];`, 0, 0, 0, "pins", false},
	{"overwritten", `out[t] = x[t] * y[0] + y[1]; out[t + mode] = x[t] * y[2] - y[3];`, 0, 0, 0, "pins", false},
	{"rows of stores", `for (int j = 0; j < 4; j++) out[t + j * mode] = x[t] * y[j] + y[j + 1];`, 0, 0, 0, "pins", false},
	{"integers that data decides", `for (int j = 0; j < k[t]; j++) k[t + 1] += j; if (k[t] == 7) k[t] = 5;`, 1, 0, 0, "all", false},
	{"integers", `for (int j = 0; j < m; j++) k[t + 1] += j; if (mode == 7) k[t] = 5;`, 1, 0, 0, "all", false},
}

// countedIn runs a kernel with counters in the emulator, and judges what ran.
func countedIn(t *testing.T, kit ptxtest.Toolkit, text []byte, entry string, m, n, mode int32) *cache.Counts {
	module, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	with, c, err := counters.Insert(module, entry, 0)
	if err != nil {
		t.Fatal(err)
	}
	code, err := kit.Assemble(t, with, "-arch=sm_90")
	if err != nil {
		t.Fatal(err)
	}
	memory := emulate.NewMemory()
	var params []byte
	for k := range 4 {
		b := make([]byte, 1<<14)
		for i := 0; i < len(b) && k < 3; i += 4 {
			binary.LittleEndian.PutUint32(b[i:], math.Float32bits(float32(i%97)/7))
		}
		if k == 3 {
			b[4] = 3 // k[1]
		}
		params = binary.LittleEndian.AppendUint64(params, memory.Allocate("#", b).Address)
	}
	for _, v := range []int32{m, n, mode} {
		params = binary.LittleEndian.AppendUint32(params, uint32(v))
	}
	program, err := emulate.Load(code, entry, memory)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := program.Run(memory, emulate.Launch{Grid: [3]int{2, 1, 1}, Block: [3]int{64, 1, 1}, Params: params}); err != nil {
		t.Fatal(err)
	}
	for _, b := range memory.Buffers() {
		if b.Name == counters.Table {
			ran, err := c.Sum(b.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			return Counted(c, ran)
		}
	}
	t.Fatal("there is no table")
	return nil
}

// TestCounted: of what nvcc makes of kernels whose arguments and data decide, it is found which
// launches a recipe that was checked on one of them may serve.
func TestCounted(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		source := filepath.Join(t.TempDir(), "k.cu")
		var all strings.Builder
		for i, c := range counted {
			all.WriteString(strings.ReplaceAll(`extern "C" __global__ void kN(float *__restrict__ out, const float *__restrict__ x,
const float *__restrict__ y, int *__restrict__ k, int m, int n, int mode) { int t = blockIdx.x * blockDim.x + threadIdx.x; `, "kN",
				"k"+string(rune('a'+i))) + c.body + "}\n")
		}
		if err := os.WriteFile(source, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		text := kit.PTX(t, source, "-arch=sm_90")
		module, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range counted {
			got := countedIn(t, kit, text, "k"+string(rune('a'+i)), c.m, c.n, c.mode)
			v, is := CoverageOf([]*cache.Counts{got}, []*cache.Counts{got}), ""
			switch {
			case v.Never() != "":
				is = "never"
			case v.Unchecked() != "":
				is = "same"
			case v.Pinned(6, 0, 4) && len(v.Pins) == 1:
				is = "pins"
			case len(v.Pins) == 0:
				is = "all"
			}
			if f := module.Entry("k" + string(rune('a'+i))); ArgumentsOf(f).Data != (c.want == "never" || c.data) {
				t.Errorf("%s: data decides: %v", c.name, ArgumentsOf(f).Data)
			}
			if is != c.want {
				t.Errorf("%s: %q, want %q: wanted %v, data %v, pins %v of %v", c.name, is, c.want, got.Wanted, got.Data, got.Pins, got.Blocks)
			}
		}
	}
}
