package compile

import (
	"context"
	"os"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/sass"
)

// rewrittenText has kernels of which ptxas contracts what two products are subtracted in: with
// other loads it takes the other one (sm_90, ptxas 13.0.88).
const rewrittenText = "" +
	"__global__ void complex(double *o, const double *__restrict__ x, int m) {\n" +
	"  int t = threadIdx.x;\n" +
	"  double a = x[t], b = x[t + 1], c = x[t * 7 + 3], d = 0;\n" +
	"  { double re = a * c - b * d, im = a * d + b * c; a = re; b = im; }\n" +
	"  { double re = a * c - b * d, im = a * d + b * c; a = re; b = im; }\n" +
	"  for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) {\n" +
	"    double re = a * c - b * d, im = a * d + b * c; a = re; b = im;\n" +
	"  }\n" +
	"  o[t] = a; o[t + 64] = b;\n" +
	"}\n" +
	"__global__ void dot(float *o, const float *__restrict__ x, int m) {\n" +
	"  float s = 0;\n" +
	"  for (int i = 0; i < m; i++) s += x[i] * x[i + threadIdx.x];\n" +
	"  o[threadIdx.x] = s;\n" +
	"}\n" +
	"int main() { complex<<<1, 1>>>(0, 0, 0); dot<<<1, 1>>>(0, 0, 0); }\n"

// TestContraction: a pass on the PTX leaves the contraction of nvcc's own build, and would not by
// itself.
func TestContraction(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": rewrittenText})
	p.Gnvcc("-arch=sm_90", "k.cu", "-o", "app")
	hash := p.Cubin("app", "sm_90")
	c := New(p.Store, t.TempDir())
	ctx := context.Background()
	const complex = "_Z7complexPdPKdi"
	s, r := named(t, c, hash, complex, "bypass=1 maxnreg=64")
	_, b, done, err := c.workbench(context.Background(), Limit, forOne)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	recipes := map[string]recipe.Recipe{complex: r}
	_, whole, bad, err := b.rewritten(ctx, s.job, s.translation, s.Module, recipes, s.std)
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	if err := b.likeOwn(ctx, s.job, s.Module, complex, whole, complex, nil); err != nil {
		t.Errorf("with the contraction written: %v", err)
	}
	options := rewrite.Options{Registers: map[string]int{complex: 20}, ReadBack: true}
	without, refused := options.Rewrite(s.Module, recipes)
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	if b.likeOwn(ctx, s.job, s.Module, complex, without, complex, nil) == nil {
		t.Error("bypass by itself leaves the contraction as it was: the test tests nothing")
	}
	if cand, err := c.Compile(ctx, s, r); err != nil {
		t.Error(err)
	} else if cand.Prove != nil && cand.Prove(ctx) != nil {
		t.Errorf("refused: %v", cand.Prove(ctx))
	}
	s, r = named(t, c, hash, "_Z3dotPfPKfi", "bypass=1")
	if cand, err := c.Compile(ctx, s, r); err != nil || cand.Prove != nil {
		t.Errorf("nothing is left to ptxas, and it is to be proved: %v", err)
	}
}

// storedText stores what it has summed up after each turn, and may load that next. Two products of
// what is loaded with arguments are subtracted from each other.
const storedText = "struct number { float re, im; };\n" +
	"__global__ void stored(number *a, number *x, number *y, float re, float im, int n) {\n" +
	"  int t = threadIdx.x;\n" +
	"  for (int i = 0; i < n; i++) {\n" +
	"    float r = re * a[i * 32 + t].re - im * a[i * 32 + t].im;\n" +
	"    float s = im * a[i * 32 + t].re + re * a[i * 32 + t].im;\n" +
	"    float u = y[t].re + (r * x[i].re - s * x[i].im), v = y[t].im + (s * x[i].re + r * x[i].im);\n" +
	"    y[t].re = u; y[t].im = v;\n" +
	"  }\n" +
	"}\n" +
	"int main() { stored<<<1, 32>>>(0, 0, 0, 0, 0, 0); }\n"

// TestContractionInTurns: where statements come to stand several times, each of them is contracted
// as nvcc's own was, so that nothing is left to prove.
func TestContractionInTurns(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": storedText})
	p.Gnvcc("-arch=sm_90", "k.cu", "-o", "app")
	hash := p.Cubin("app", "sm_90")
	c := New(p.Store, t.TempDir())
	ctx := context.Background()
	const kernel = "_Z6storedP6numberS0_S0_ffi"
	for _, text := range []string{"early=on", "early=2",
		"early=4 spec{host(block)=32x1x1,host(dynamic)=0}"} {
		s, r := named(t, c, hash, kernel, text)
		cand, err := c.Compile(ctx, s, r)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if cand.Prove != nil {
			t.Errorf("%s: it is to be proved (%v)", text, cand.Prove(ctx))
		}
	}
	s, _ := named(t, c, hash, kernel, "early=on")
	if !leaves(s.Module, kernel) {
		t.Error("the kernel leaves nothing to ptxas: the test tests nothing")
	}
}

// coarseText is a kernel of which ptxas may contract either of two products.
const coarseText = "" +
	"__global__ void complex(double *o, const double *__restrict__ x) {\n" +
	"  int t = blockIdx.x * blockDim.x + threadIdx.x;\n" +
	"  double a = x[t], b = x[t + 1], c = x[t * 7 + 3], d = x[t * 5];\n" +
	"  { double re = a * c - b * d, im = a * d + b * c; a = re; b = im; }\n" +
	"  { double re = a * c - b * d, im = a * d + b * c; a = re; b = im; }\n" +
	"  o[2 * t] = a; o[2 * t + 1] = b;\n" +
	"}\n" +
	"int main() { complex<<<1, 1>>>(0, 0); }\n"

// TestContractionCoarsened: where a block does what two do, each copy has the contraction of nvcc's
// own build.
func TestContractionCoarsened(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": coarseText})
	p.Gnvcc("-arch=sm_90", "k.cu", "-o", "app")
	c := New(p.Store, t.TempDir())
	ctx := context.Background()
	const complex = "_Z7complexPdPKd"
	s, r := named(t, c, p.Cubin("app", "sm_90"), complex,
		"coarsen=2x1x1 spec{host(block)=64x1x1,host(dynamic)=0}")
	cand, err := c.Compile(ctx, s, r)
	if err != nil {
		t.Fatal(err)
	}
	if cand.Prove != nil {
		if err := cand.Prove(ctx); err != nil {
			t.Fatal(err)
		}
	}
	own, err := c.Compile(ctx, s, recipe.Recipe{})
	if err != nil {
		t.Fatal(err)
	}
	was, now := floatsIn(t, own.Path, complex), floatsIn(t, cand.Path, cand.Entry)
	if was["DFMA"] == 0 || was["DMUL"] == 0 {
		t.Fatalf("nothing is contracted: %v", was)
	}
	for op, n := range was {
		if now[op] != 2*n {
			t.Errorf("%d of %s in the kernel, %d where a block does what two do", n, op, now[op])
		}
	}
}

// floatsIn counts the floating-point instructions of a kernel.
func floatsIn(t *testing.T, path, entry string) map[string]int {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := sass.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.Name == entry {
			out := map[string]int{}
			for _, x := range f.Floats() {
				out[x.String()]++
			}
			return out
		}
	}
	t.Fatalf("no %s in the cubin", entry)
	return nil
}
