package rewrite

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
)

// TestCoarsenCallees: which functions a coarsened kernel may call.
func TestCoarsenCallees(t *testing.T) {
	const call = ".param .b32 param0;\nst.param.b32 [param0+0], %r4;\n.param .b32 retval0;\n" +
		"call.uni (retval0), f, (param0);\nld.param.b32 %r5, [retval0+0];\n"
	const scope = "{\n" + call + "}\n"
	for _, c := range []struct{ callee, call, why string }{
		{"mul.lo.u32 %r1, %r1, 3;", scope, ""},
		{"mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ntid.y;", scope, ""},
		{".local .b8 own[8];\nmov.u64 %rd1, own;\nst.local.u32 [%rd1], %r1;\nld.local.u32 %r2, [%rd1];", scope, ""},
		{"add.cc.u32 %r1, %r1, 3;\naddc.u32 %r2, %r2, 0;", scope, ""},
		{"mov.u64 %rd1, table;\nld.global.nc.u32 %r2, [%rd1];", scope, ""},
		{"ld.global.u32 %r2, [%rd1];", scope, ""},
		{"mov.u32 %r2, %ctaid.x;", scope, "%ctaid.x"},
		{"mov.u32 %r2, %nctaid.x;", scope, "%nctaid.x"},
		{"mov.u32 %r2, %laneid;", scope, "%laneid"},
		{"mov.u32 %r2, %smid;", scope, "%smid"},
		{"mov.u32 %r2, %clock;", scope, "%clock"},
		{"st.global.u32 [%rd1], %r1;", scope, "st.global.u32"},
		{"st.u32 [%rd1], %r1;", scope, "st.u32"},
		{"ld.u32 %r1, [%rd1];", scope, "ld.u32"},
		{"ld.volatile.global.u32 %r1, [%rd1];", scope, "ld.volatile"},
		{"ld.relaxed.gpu.global.u32 %r1, [%rd1];", scope, "ld.relaxed"},
		{"ld.acquire.gpu.global.u32 %r1, [%rd1];", scope, "ld.acquire"},
		{"atom.global.add.u32 %r1, [%rd1], 1;", scope, "atom"},
		{"red.global.add.u32 [%rd1], 1;", scope, "red"},
		{"ld.shared.u32 %r1, [%rd1];", scope, "ld.shared"},
		{"st.shared.u32 [%rd1], %r1;", scope, "st.shared"},
		{".shared .b8 near[4];", scope, ".shared"},
		{"bar.sync 0;", scope, "bar.sync"},
		{"shfl.sync.down.b32 %r2, %r1, 1, 31, -1;", scope, "shfl"},
		{"activemask.b32 %r2;", scope, "activemask"},
		{"membar.gl;", scope, "membar"},
		{"exit;", scope, "exit"},
		{"trap;", scope, "trap"},
		{"cvta.shared.u64 %rd1, %rd2;", scope, "cvta.shared"},
		{"mul.lo.u32 %r1, %r1, 3;", call, "unsupported call"},
		{"mul.lo.u32 %r1, %r1, 3;", "{\nL:\n" + call + "}\n", "unsupported call"},
		{"mul.lo.u32 %r1, %r1, 3;", "{\nst.global.u32 [%rd1], %r4;\n" + call + "}\n", "unsupported call"},
		{"mul.lo.u32 %r1, %r1, 3;", strings.Replace(scope, "call.uni", "@%p1 call", 1), "unsupported way"},
		{"mul.lo.u32 %r1, %r1, 3;", strings.Replace(scope, ", f,", ", %rd2,", 1), "unsupported way"},
		{"mul.lo.u32 %r1, %r1, 3;", strings.Replace(scope, ", f,", ", unseen,", 1), "not in the PTX"},
		{"mul.lo.u32 %r1, %r1, 3;", strings.Replace(scope, ", f,", ", vprintf,", 1), "not in the PTX"},
		// within a way on which turns may disagree
		{"mul.lo.u32 %r1, %r1, 3;", "setp.eq.u32 %p1, %r4, 7;\n@%p1 bra L;\n" + scope + "L:\nbar.sync 0;\n",
			"something other than an instruction"},
	} {
		text := ".version 8.0\n.target sm_90\n.address_size 64\n.global .b32 table[4];\n" +
			".extern .func (.param .b32 r) unseen(.param .b32 a);\n" +
			".extern .func (.param .b32 r) vprintf(.param .b32 a);\n" +
			".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %r<5>;\n.reg .b64 %rd<3>;\n" +
			"ld.param.u32 %r1, [a];\n" + c.callee + "\nst.param.b32 [r], %r1;\nret;\n}\n" +
			".visible .entry k(.param .u64 a)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n" +
			"ld.param.u64 %rd1, [a];\nmov.u32 %r4, %ctaid.x;\n" + c.call +
			"st.global.u32 [%rd1], %r5;\nret;\n}\n"
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatal(err, text)
		}
		dims, err := coarsen.Dimensions(m, "k")
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) ||
			err == nil && !dims[0] {
			t.Errorf("%s %s: %v, want %q", c.callee, c.call, err, c.why)
		}
	}
}

const coarseSines = `
__global__ void turned(const double *a, double *b) {
  __shared__ double near[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  double w = sin(0.1 * threadIdx.x);
  near[threadIdx.x ^ 1] = a[i] * w;
  __syncthreads();
  b[i] = near[threadIdx.x];
}
__global__ void sines(const double *a, double *b, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) b[i] = sin(a[i]);
}
__global__ void edges(const float *a, float *b, int n) {
  __shared__ float near[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) {
    near[threadIdx.x] = a[i];
    float x = near[threadIdx.x ^ 1], y = x * 1.5f, z = y * y + x;
    b[i] = z / (y * x + 3.f * z);
  }
}
`

// TestCoarsenCallsReal: double-precision sines, whose slow path cicc leaves as a call. By
// the thread's number alone it stands once for all turns; else once for each, and once for those
// that go on alone. What a way works out for itself gets no guard.
func TestCoarsenCallsReal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "k.cu")
	if err := os.WriteFile(file, []byte(coarseSines), 0o600); err != nil {
		t.Fatal(err)
	}
	const arch = "-arch=sm_80"
	guarded := regexp.MustCompile(`@!?` + `%gnvcc_jg` + `\w+ (\w+)`)
	kits := ptxtest.Toolkits(t)
	for n, kit := range kits {
		text := kit.PTX(t, file, arch)
		for kernel, calls := range map[string]int{"_Z6turnedPKdPd": 1, "_Z5sinesPKdPdi": 4 + 1,
			"_Z5edgesPKfPfi": 0} {
			r := mustRecipe(t, "coarsen=4x1x1")
			o := Options{Coarse: map[string][3]int{kernel: coarsen.Of(r)},
				Dynamic: map[string]int{kernel: 0}}
			out, refused, err := o.apply(text, map[string]recipe.Recipe{kernel: r})
			if why := refused[kernel]; n < len(kits)-1 && why != nil &&
				strings.Contains(why.Error(), "local memory") { // 12.4: the slow path gives back by a pointer
				t.Logf("%s, %s: %v", kit.Version, kernel, why)
				continue
			}
			if err != nil || refused[kernel] != nil {
				t.Errorf("%s, %s: %v %v", kit.Version, kernel, err, refused[kernel])
				continue
			}
			if _, err := kit.Assemble(t, out, arch); err != nil {
				t.Errorf("%s, %s: %v", kit.Version, kernel, err)
			}
			count := func(text []byte) int {
				m, err := ptx.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				return strings.Count(string(m.Entry(kernel).Text()), "__internal_trig_reduction_slowpathd")
			}
			if was, now := count(text), count(out); (calls > 0) != (was > 0) || now != calls*was {
				t.Errorf("%s, %s: %d calls, of %d", kit.Version, kernel, now, was)
			}
			for _, g := range guarded.FindAllStringSubmatch(string(out), -1) {
				if g[1] != "ld" && g[1] != "st" && g[1] != "bra" {
					t.Errorf("%s, %s: a guard for %s", kit.Version, kernel, g[0])
				}
			}
			if kernel == "_Z5edgesPKfPfi" && !guarded.Match(out) {
				t.Errorf("%s: nothing is under a guard", kit.Version)
			}
		}
	}
}
