package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/recipe"
)

// TestSameBits: no value is fixed, and no loop unrolled, from which cicc could compute a function
// by itself that the GPU computes in another way.
func TestSameBits(t *testing.T) {
	text := "struct P { int n; float f; };\n" +
		"__global__ void folds(float *p, float x, int n, P s) { for (int i = 0; i < n; i++) p[i] += powf(x, 2.3f) * expf((float)n) * sinf((float)i) * logf(s.f); }\n" +
		"__global__ void plain(float *p, float x, int n, P s) { for (int i = 0; i < n; i++) p[i] = sqrtf(x) * n / s.f; }\n" +
		"__global__ void data(float *p, const float *__restrict__ q, float x, int n) { float s = 0; for (int i = 0; i < n; i++) s += expf(q[i] * x); p[0] = s; }\n" +
		"int main() { folds<<<1, 1>>>(0, 0, 0, P()); plain<<<1, 1>>>(0, 0, 0, P()); data<<<1, 1>>>(0, 0, 0, 0); }\n"
	for _, version := range []string{"11.8", "12.4", "13.0", "13.3", "13.5"} {
		t.Run(version, func(t *testing.T) {
			c := tryRecipes(t, version, text, []attempt{
				{"_Z5foldsPffi1P", "spec{x=1.7}", "become constant"},
				{"_Z5foldsPffi1P", "spec{n=64}", "become constant"},
				{"_Z5foldsPffi1P", "guard{n=64}", "become constant"},
				{"_Z5foldsPffi1P", "spec{s.f=0.5}", "become constant"},
				{"_Z5foldsPffi1P", "unroll=4", "become constant"},
				{"_Z5foldsPffi1P", "maxnreg=40", ""},
				{"_Z5plainPffi1P", "spec{x=1.7,n=64,s.f=0.5} unroll=4", ""},
				{"_Z4dataPfPKffi", "spec{x=1.7,n=64} unroll=4", ""},
			})
			// at -O1, seven variants; with line information slices of two kernels and of the six that are
			// doubted
			if runs, _ := c.Spent("cicc"); runs != 16 {
				t.Errorf("%d runs of cicc, not 16", runs)
			}
		})
	}
}

// TestZerosAndDivisors: no value is fixed by which cicc would take the first of two zeros for their
// maximum, divide by 0, or shift by more than there is: what the GPU gives then, cicc does not.
func TestZerosAndDivisors(t *testing.T) {
	text := "__global__ void zeros(float *p, const float *q, int n, float c) {" +
		" p[threadIdx.x] = q[threadIdx.x] / fmaxf(-0.5f * n, c); }\n" +
		"__global__ void clamp(float *p, const float *q, float c) {" +
		" p[threadIdx.x] = fminf(fmaxf(q[threadIdx.x], c), 6.0f); }\n" +
		"__global__ void share(int *p, int n, int m) { p[threadIdx.x] = 7; p[threadIdx.x] = p[threadIdx.x + 1] / (n - 4) + m; }\n" +
		"__global__ void shift(int *p, int n, int m) { p[threadIdx.x] = 7; p[threadIdx.x] = p[threadIdx.x + 1] << (n + m); }\n" +
		"__global__ void least(int *p, int n, int m) { p[threadIdx.x] = 7; p[threadIdx.x] = n / m; }\n" +
		"int main() { zeros<<<1, 1>>>(0, 0, 0, 0); clamp<<<1, 1>>>(0, 0, 0); share<<<1, 1>>>(0, 0, 0);" +
		" shift<<<1, 1>>>(0, 0, 0); least<<<1, 1>>>(0, 0, 0); }\n"
	for _, version := range []string{"12.4", "13.0"} {
		t.Run(version, func(t *testing.T) {
			tryRecipes(t, version, text, []attempt{
				{"_Z5zerosPfPKfif", "spec{n=0,c=0}", "become constant"},
				{"_Z5clampPfPKff", "spec{c=0}", ""},
				{"_Z5sharePiii", "spec{n=4}", "divide by 0"},
				{"_Z5sharePiii", "spec{n=5}", ""},
				{"_Z5shiftPiii", "spec{n=30,m=2}", "shift by 32"},
				{"_Z5shiftPiii", "spec{n=30,m=-31}", "shift by 4294967295"},
				{"_Z5shiftPiii", "spec{n=30,m=1}", ""},
				{"_Z5leastPiii", "spec{n=-2147483648,m=-1}", "no result that fits"},
				{"_Z5leastPiii", "spec{n=-2147483647,m=-1}", ""},
			})
		})
	}
}

// TestSameSums: no value is fixed where a product would be rounded that is contracted with its sum
// now, or the other way round.
func TestSameSums(t *testing.T) {
	text := "__global__ void both(float *p, float x, float y) { p[threadIdx.x] += x * y; }\n" +
		"__global__ void power(float *p, float x, int n) { float s = x; for (int i = 0; i < n; i++) s *= p[i]; p[threadIdx.x] += s; }\n" +
		"__global__ void saxpy(float *p, float x, int n) { for (int i = 0; i < n; i++) p[i] += p[i + n] * x; }\n" +
		"int main() { both<<<1, 1>>>(0, 0, 0); power<<<1, 1>>>(0, 0, 0); saxpy<<<1, 1>>>(0, 0, 0); }\n"
	for _, version := range []string{"11.8", "12.4", "13.0", "13.3", "13.5"} {
		t.Run(version, func(t *testing.T) {
			tryRecipes(t, version, text, []attempt{
				{"_Z4bothPfff", "spec{x=1.7,y=3.3}", "would be rounded"},
				{"_Z4bothPfff", "spec{x=1.7}", ""},
				// the product comes out of a loop, and the sum is rounded by itself: also where there is none
				{"_Z5powerPffi", "spec{n=4}", ""},
				{"_Z5powerPffi", "unroll=full", ""}, // the sum is rounded by itself in both
				{"_Z5saxpyPffi", "spec{x=1.7,n=64} unroll=4", ""},
			})
		})
	}
}

// TestOneReason: a variant is refused for one reason, and not by a count that could not be made.
func TestOneReason(t *testing.T) {
	tryRecipes(t, "12.4", "__global__ void k(float *o, const float *x, const float *y, int n,"+
		" float a, float b) { int t = blockIdx.x * blockDim.x + threadIdx.x; float s = x[t], u = 1;"+
		" for (int i = 0; i < n; i++) { if (y[i] > a) {"+
		" s = (y[i] + -0.25f) + (2.f + u) + ((b - b) + (y[i] / (b + 3)));"+
		" u = ((x[(t + i) % 64] < 2.f ? x[(t + i) % 64] : 2.f) + (x[(t + i) % 64] * x[(t + i) % 64])) -"+
		" ((a * s) + (0.5f * y[i])); } else s = s - u * a; } o[t] = s + u * a; }\n"+
		"int main() { k<<<1, 1>>>(0, 0, 0, 0, 0, 0); }\n",
		[]attempt{{"_Z1kPfPKfS1_iff", "spec{n=8}", "is not what the default does"}})
}

// An attempt is a recipe for a kernel, and a part of the reason for which it must be refused; "":
// it must not.
type attempt struct{ kernel, recipe, refusal string }

// tryRecipes builds a program and compiles its kernels by recipes. It gives the compiler, for what
// that took.
func tryRecipes(t *testing.T, version, text string, attempts []attempt) *Compiler {
	t.Helper()
	p := drivertest.NewProject(t, version, map[string]string{"k.cu": text})
	p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
	c := New(p.Store, t.TempDir())
	hash := p.Cubin("app", "sm_80")
	for _, q := range attempts {
		s, r := named(t, c, hash, q.kernel, q.recipe)
		cand, err := c.Compile(context.Background(), s, r)
		if err == nil && cand.Prove != nil {
			err = cand.Prove(context.Background())
		}
		if (err != nil) != (q.refusal != "") || err != nil && !strings.Contains(err.Error(), q.refusal) {
			t.Errorf("%s of %s: %v", q.recipe, q.kernel, err)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s of %s is refused for two reasons, of which one can't be true: %v", q.recipe,
				q.kernel, err)
		}
	}
	return c
}

// named finds a kernel in a cubin, and in its code the places of a recipe.
func named(t *testing.T, c *Compiler, hash, kernel, text string) (*Source, recipe.Recipe) {
	t.Helper()
	s, err := c.Kernel(hash, kernel)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Code.Resolve(drivertest.MustParse(t, text), s.Signature)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// doubtful compiles a kernel by a recipe that nobody vouches for.
func doubtful(t *testing.T, c *Compiler, s *Source, r recipe.Recipe) *Candidate {
	t.Helper()
	c.free = true
	cand, err := c.Compile(context.Background(), s, r)
	if err != nil {
		t.Fatal(err)
	}
	if cand.Prove == nil {
		t.Fatalf("%s: there is no doubt", r)
	}
	return cand
}
