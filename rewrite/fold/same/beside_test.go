package same

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// Kernels that have an approximate function of p beside something that is exact, in two operations
// that look alike: in a variant that knows p the function may be the compiler's number, and pass as
// what is derived of p in the other one.

// other is a function of p that the compiler computes with other bits than the GPU.
var other = []string{"__sinf(p)", "__cosf(p)", "__expf(p)", "__logf(p)", "rsqrtf(p)", "tanhf(p)",
	"__fdividef(p, 3.0f)", "__powf(p, 1.5f)", "expf(p)", "exp2f(p)", "logf(p)", "tan1(p)", "root(p)",
	"powf(p, 1.3f)", "__fmul_rn(__sinf(p), 3.0f)", "erff(p)", "full(p)"}

const asked = `__device__ __forceinline__ float tan1(float x) {
  float y; asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ float root(float x) {
  float y; asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ float full(float x) {
  float y; asm("div.full.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(7.0f)); return y; }
`

// besides writes kernels of that kind: op.x is the operation with the function, the others are
// those that it may be taken for.
func besides(r *rand.Rand, count int) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var out strings.Builder
	out.WriteString(asked)
	for k := range count {
		typ, f := "float", pick(other...)
		switch {
		case r.IntN(8) == 0:
			typ = "double"
		case r.IntN(8) == 0:
			f = "(" + f + " + " + f + ")"
		}
		exact := pick("(p * 2)", "(p + 1)", "p", "(-p)", "(p / 4)", "(p - 3)", "1.0f")
		load := pick("a[t + K * n]", "a[at[8 * t + K]]", "((const T2 *)a)[t].K", "s[t + K]",
			"a[t * m + K]", "((const T4 *)a)[t + n].K", "a[t] * a[t + K]")
		x := func(k int) string {
			word := strconv.Itoa(k)
			if strings.Contains(load, ".K") {
				word = []string{"x", "y"}[k]
			}
			return strings.NewReplacer("K", word, "T2", typ+"2", "T4", typ+"4").Replace(load)
		}
		op := pick("*", "*", "*", "+", "-", "/")
		first, second := x(0)+" "+op+" "+f, x(1)+" "+pick(op, op, "*", "+")+" "+exact
		switch r.IntN(8) {
		case 0:
			first, second = f+" "+op+" "+x(0), exact+" "+op+" "+x(1)
		case 1:
			first, second = first+" + b[t]", second+" + b[t + n]"
		case 2:
			second = x(1) + " " + pick("+ "+x(0), "* 0.25f", "- 1.0f", "")
		case 3:
			first, second = first+" * q", second+" * q"
		}
		if r.IntN(2) == 0 {
			first, second = second, first
		}
		fmt.Fprintf(&out, `extern "C" __global__ void k%d(%[2]s *o, const %[2]s *__restrict__ a,
    const %[2]s *__restrict__ b, const int *__restrict__ at, float p, float q, int n, int m) { SET
  __shared__ %[2]s s[256]; int t = threadIdx.x; s[t] = b[t]; __syncthreads();
  %s
}
`, k, typ, strings.NewReplacer("TYPE", typ, "FIRST", first, "SECOND", second).Replace(
			pick("TYPE w[2] = {FIRST, SECOND}; o[t] = w[m & 1];",
				"TYPE w[2] = {FIRST, SECOND}; o[t] = w[m & 1]; o[t + n] = w[1 - (m & 1)];",
				"TYPE w[3] = {FIRST, SECOND, q}; o[t] = w[m];",
				"__syncthreads(); s[t] = FIRST; s[t + m] = SECOND; __syncthreads(); o[t] = s[t ^ 1];",
				"TYPE x = m > 3 ? FIRST : SECOND; o[t] = x;",
				"o[t] = FIRST; o[t + n] = SECOND;",
				"TYPE x = 0; for (int i = 0; i < m; i++) x += (FIRST) - i * (SECOND); o[t] = x;",
				"TYPE x = FIRST; for (int i = 0; i < m; i++) x = x * x + SECOND; o[t] = x;",
				"TYPE x = FIRST; if (q > 2) x = SECOND; o[t] = x;")))
	}
	return out.String()
}

// roughs counts a kernel's approximate instructions.
func roughs(f *ptx.Func) (n int) {
	for i, st := range f.Stmts {
		if st.Kind == ptx.Inst && approximate(&node{op: string(f.Opcode(i)), base: string(f.Base(i))}) {
			n++
		}
	}
	return n
}

// TestBeside: no variant is taken in which an approximate instruction of the kernel is gone.
// GNVCC_SAME_ROUNDS is the number of texts of 40 kernels.
func TestBeside(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	count, _ := strconv.Atoi(os.Getenv("GNVCC_SAME_ROUNDS"))
	seed, _ := strconv.ParseUint(os.Getenv("GNVCC_SAME_SEED"), 10, 64)
	taken, refused := 0, 0
	for round := range max(count, 2) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		kit := kits[len(kits)-1-round%len(kits)]
		text := besides(r, 40)
		var flags []string
		switch round % 4 {
		case 1: // divisions that the compiler writes as others
			flags = []string{"-prec-div=false"}
		case 3:
			flags = []string{"-ftz=true"}
		}
		def := compiled(t, kit, strings.ReplaceAll(text, "SET", ""), flags...)
		for _, known := range []string{"p = 1.7f;", "n = 1;", "p = 1.5707964f;", // a sine of 1
			fmt.Sprintf("p = %s;", []string{"0.0f", "1.0f", "4.0f", "1e-4f", "-2.0f"}[r.IntN(5)])} {
			variant := compiled(t, kit, strings.ReplaceAll(text, "SET", known), flags...)
			for _, e := range def.Entries() {
				_, err := Same(built(def, e.Name), built(variant, e.Name),
					fold.Fixed{Params: map[int]bool{map[bool]int{true: 4, false: 6}[known[0] == 'p']: true}})
				if err != nil {
					refused++
					continue
				}
				if taken++; roughs(variant.Entry(e.Name)) < roughs(e) {
					from := text[strings.Index(text, "void "+e.Name+"("):]
					t.Errorf("seed %d, round %d, toolkit %s, %s %s %v is taken:\n%s", seed, round,
						kit.Version, e.Name, known, slices.Compact(flags), from[:strings.Index(from, "\n}")])
				}
			}
		}
	}
	t.Logf("%d taken, %d refused", taken, refused)
	if taken == 0 || refused == 0 {
		t.Error("some of each are expected")
	}
}

// TestDivisions: by -prec-div=false a division is an instruction of its own (div.full), and the
// compiler writes it as another one where an operand is 1 or a power of two. That one passes for
// what the kernel has beside it.
func TestDivisions(t *testing.T) {
	cases := map[string]string{"1.5707964f": "__sinf(p) / a[t], 1 / a[t + n]",
		"1.0f": "p / a[t], 1 / a[t + n]", "4.0f": "a[t] / p, a[t + n] * 0.25f"}
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		for p, values := range cases {
			text := fmt.Sprintf(`extern "C" __global__ void k(float *o, const float *__restrict__ a,
    float p, int n, int m) { SET int t = threadIdx.x; float w[2] = {%s}; o[t] = w[m & 1]; }
`, values)
			def := compiled(t, kit, strings.ReplaceAll(text, "SET", ""), "-prec-div=false")
			for _, set := range []string{"p = " + p + ";", ""} {
				variant := compiled(t, kit, strings.ReplaceAll(text, "SET", set), "-prec-div=false")
				_, err := Same(built(def, "k"), built(variant, "k"),
					fold.Fixed{Params: map[int]bool{2: set != ""}})
				if (err == nil) != (set == "") {
					t.Errorf("%s: %s %s: %v", kit.Version, set, values, err)
				}
			}
		}
	}
}
