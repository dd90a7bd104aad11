package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/recipe"
)

// TestRefused: no value is fixed by which cicc would divide by 0, or shift by more than there is.
func TestRefused(t *testing.T) {
	text := "__global__ void share(int *p, int n, int m) { p[threadIdx.x] = 7; p[threadIdx.x] = p[threadIdx.x + 1] / (n - 4) + m; }\n" +
		"__global__ void shift(int *p, int n, int m) { p[threadIdx.x] = 7; p[threadIdx.x] = p[threadIdx.x + 1] << (n + m); }\n" +
		"__global__ void least(int *p, int n, int m) { p[threadIdx.x] = 7; p[threadIdx.x] = n / m; }\n" +
		"__global__ void count(int *p, int n, int m) { for (int i = 0; i <= n; i++) if (p[i] > m) p[i + 64] = p[i] << i; }\n" +
		"int main() { count<<<1, 1>>>(0, 0, 0); share<<<1, 1>>>(0, 0, 0);" +
		" shift<<<1, 1>>>(0, 0, 0); least<<<1, 1>>>(0, 0, 0); }\n"
	for _, version := range []string{"12.4", "13.0"} {
		t.Run(version, func(t *testing.T) {
			tryRecipes(t, version, text, []attempt{
				{"_Z5sharePiii", "spec{n=4}", "divide by 0"},
				{"_Z5sharePiii", "spec{n=5}", ""},
				{"_Z5shiftPiii", "spec{n=30,m=2}", "shift by 32"},
				{"_Z5shiftPiii", "spec{n=30,m=-31}", "shift by 4294967295"},
				{"_Z5shiftPiii", "spec{n=30,m=1}", ""},
				{"_Z5countPiii", "spec{n=32}", "shift by 32"},
				{"_Z5countPiii", "spec{n=31}", ""},
				{"_Z5leastPiii", "spec{n=-2147483648,m=-1}", "no result that fits"},
				{"_Z5leastPiii", "spec{n=-2147483647,m=-1}", ""},
			})
		})
	}
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
		_, err := c.Compile(context.Background(), s, r)
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
