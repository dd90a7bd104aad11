package source

import (
	"testing"

	"gnvcc/rewrite/recipe"
)

// FuzzFastMath gives the lever hostile text. What comes out can be read, has as many kernels, and
// asks for no name that is not in front.
func FuzzFastMath(f *testing.F) {
	const front = "# 1 \"a.cu\"\n# 1 \"/kit/include/cuda_runtime.h\" 1\nfloat sinf(float);\n# 2 \"a.cu\" 2\n"
	for _, body := range []string{
		"__attribute__((global)) void k(float *a) { a[0] = sinf(a[1]) + std::exp(a[2]) + ::pow(a[3], 2); }\n",
		"namespace n { __attribute__((device)) float sin(float x) { return x; } }\n__attribute__((global)) void k(float *a) { a[0] = n::sin(a[1]) + cosf(1); }\n",
		"template <class T> __attribute__((device)) T f(T x) { return std ::\n log(x); }\n__attribute__((global)) void k(float *a) { a[0] = f(a[0]); }\n",
		"::sin(1);", "using std::sin;", "::", "sin", "__attribute__((global)) void k() { ::sin( ); sin(",
	} {
		f.Add([]byte(front+body), "all")
		f.Add([]byte(front+body), "sin.ftz,exp")
	}
	f.Fuzz(func(t *testing.T, text []byte, value string) {
		u, err := Parse(text)
		if err != nil {
			return
		}
		kernels := u.kernels()
		for _, k := range kernels {
			k.MathCalls()
			out, err := k.rewrite([]recipe.Term{{Lever: "fastmath", Value: value}}, nil)
			if err != nil {
				continue
			}
			again, err := Parse(out)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if n := len(again.kernels()); n != len(kernels) {
				t.Fatalf("%d kernels became %d\n%s", len(kernels), n, out)
			}
		}
	})
}
