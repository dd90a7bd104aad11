package rewrite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/sass"
)

// TestCoarsenReal coarsens every kernel that nvcc gives for the reader's test programs, with the
// oldest toolkit and the newest: what is carried out must assemble.
func TestCoarsenReal(t *testing.T) {
	every := kits.Every()
	kits := ptxtest.Toolkits(t)
	files, err := filepath.Glob("ptx/testdata/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatal("no test programs", err)
	}
	const arch = "-arch=sm_80"
	if !every {
		files = files[:len(files)/2]
	}
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		done := map[string]int{}
		for _, file := range files {
			text := kit.PTX(t, file, arch)
			m, err := ptx.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range []string{"2x1x1"} {
				recipes, coarse := map[string]recipe.Recipe{}, map[string][3]int{}
				for _, f := range m.Entries() {
					recipes[f.Name] = mustRecipe(t, "coarsen="+value)
					coarse[f.Name] = coarsen.Of(recipes[f.Name])
				}
				o := Options{Coarse: coarse, Dynamic: noDynamic(recipes)}
				out, refused, err := o.apply(text, recipes)
				if err != nil {
					t.Fatal(err)
				}
				for name, why := range refused {
					if strings.Contains(why.Error(), "gnvcc's own error") {
						t.Errorf("%s, %s, %s: %v", file, name, value, why)
					}
				}
				done[value] += len(recipes) - len(refused)
				if _, err := kit.Assemble(t, out, arch); err != nil {
					t.Errorf("%s, %s, coarsen=%s: %v", kit.Version, file, value, err)
				}
			}
		}
		t.Log(kit.Version, done)
		if done["2x1x1"] < 5 {
			t.Errorf("%s: only %v are carried out", kit.Version, done)
		}
	}
}

// TestCoarsenFloats: each copy of a floating-point statement is what the kernel's own is in the
// machine code, where PTX says what is contracted.
func TestCoarsenFloats(t *testing.T) {
	const body = `
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %rd2, %r1, 64;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.f32 %f1, [%rd3];
	ld.global.f32 %f2, [%rd3+4];
	ld.global.f32 %f3, [%rd3+8];
	mul.f32 %f4, %f1, %f2;
	add.rn.f32 %f5, %f4, %f3;
	fma.rn.f32 %f6, %f1, %f3, %f4;
	mul.f32 %f7, %f5, %f6;
	sub.rn.f32 %f8, %f7, %f1;
	sqrt.approx.f32 %f9, %f8;
	st.global.f32 [%rd3], %f9;
	ret;
}
`
	const head = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
	.reg .f32 %f<10>;
	.reg .b32 %r<3>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [a];`
	text := []byte(head + body)
	r := mustRecipe(t, "coarsen=4x1x1")
	out, refused, err := Options{Coarse: map[string][3]int{"k": {4, 1, 1}}}.apply(text,
		map[string]recipe.Recipe{"k": r})
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	for _, kit := range ptxtest.Toolkits(t) {
		count := func(text []byte) map[string]int {
			cubin, err := kit.Assemble(t, text, "-arch=sm_80")
			if err != nil {
				t.Fatal(err)
			}
			list, err := sass.Read(cubin)
			if err != nil || len(list) != 1 {
				t.Fatal(len(list), err)
			}
			n := map[string]int{}
			for _, f := range list[0].Floats() {
				n[f.String()]++
			}
			return n
		}
		was, now := count(text), count(out)
		if len(was) < 3 {
			t.Fatalf("%s: %v", kit.Version, was)
		}
		for op, n := range was {
			if now[op] != 4*n {
				t.Errorf("%s: %d of %s in the kernel, %d in the coarsened one", kit.Version, n, op, now[op])
			}
		}
	}
}

// coarseReal has what kernels with barriers do beside the middle of their arrays.
const coarseReal = `
__global__ void sums(int n, const float *a, float *b) {
  extern __shared__ float part[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) part[threadIdx.x] = a[i] * a[i]; else part[threadIdx.x] = 0;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) b[blockIdx.x] = part[0] / n;
}
__global__ void stencil(int w, int h, const float *a, float *b) {
  __shared__ float near[18][34];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  int i = threadIdx.x + 1, j = threadIdx.y + 1;
  near[j][i] = x < w && y < h ? a[y * w + x] : 0;
  if (threadIdx.x == 0 && x > 0 && y < h) near[j][0] = a[y * w + x - 1];
  if (threadIdx.x == 31) { if (x + 1 < w && y < h) near[j][33] = a[y * w + x + 1]; else near[j][33] = 0; }
  if (threadIdx.y == 0) near[0][i] = y > 0 && x < w ? a[(y - 1) * w + x] : 0;
  if (threadIdx.y == 15) near[17][i] = y + 1 < h && x < w ? a[(y + 1) * w + x] : 0;
  __syncthreads();
  if (x < w && y < h) b[y * w + x] = near[j][i] + near[j][i - 1] + near[j][i + 1] + near[j - 1][i] + near[j + 1][i];
}
__global__ void shuffled(int n, const int *a, int *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = 0;
  if (i < n) v = a[i];
  for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffff, v, k);
  if (threadIdx.x % 32 == 0 && i < n) atomicAdd(b, v);
}
`

// TestCoarsenBarriers: kernels with barriers, shared memory and shuffles, whose edges depend on the
// block, as each toolkit compiles them: they are jammed, for grids with a rest too, and assemble.
func TestCoarsenBarriers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "k.cu")
	if err := os.WriteFile(file, []byte(coarseReal), 0o600); err != nil {
		t.Fatal(err)
	}
	const arch = "-arch=sm_80"
	for _, kit := range ptxtest.Toolkits(t) {
		text := kit.PTX(t, file, arch)
		for kernel, dynamic := range map[string]int{"_Z4sumsiPKfPf": 1024, "_Z7stenciliiPKfPf": 0,
			"_Z8shufflediPKiPi": 0} {
			for _, value := range []string{"2x1x1", "4x1x1", "8x1x1"} {
				r := mustRecipe(t, "coarsen="+value)
				o := Options{Coarse: map[string][3]int{kernel: coarsen.Of(r)},
					Dynamic: map[string]int{kernel: dynamic}, Grids: map[string][3]int{kernel: {1001, 3, 1}}}
				out, refused, err := o.apply(text, map[string]recipe.Recipe{kernel: r})
				if err != nil || refused[kernel] != nil {
					t.Errorf("%s, %s, %s: %v %v", kit.Version, kernel, value, err, refused[kernel])
					continue
				}
				if !strings.Contains(string(out), "$gnvcc_jam_left:") {
					t.Errorf("%s, %s, %s: nothing is left over", kit.Version, kernel, value)
				}
				if _, err := kit.Assemble(t, out, arch); err != nil {
					t.Errorf("%s, %s, %s: %v", kit.Version, kernel, value, err)
				}
			}
		}
	}
}
