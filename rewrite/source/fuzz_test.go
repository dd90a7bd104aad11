package source

import (
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// FuzzMergeShared gives it hostile PTX on both sides. What comes out can be parsed, and has the
// entry.
func FuzzMergeShared(f *testing.F) {
	const s = "_ZZ1kPfiE3buf"
	f.Add(sharedModule(s+" 32"), sharedModule(s+" 32", s+"_0 32"), uint8(1))
	f.Add(sharedModule(s+" 32", s+"_0 16"), sharedModule(s+" 32", s+"_0 16", s+"_1 32", s+"_2 16"),
		uint8(1))
	f.Add(sharedModule(s+" 32"), sharedModule(s+" 32", s+"_0 32", s+"_1 32", s+"_2 32"), uint8(3))
	u,
		err := Parse(
		[]byte(
			"# 1 \"x.cu\"\n__attribute__((global)) void k(float *a, int n) { { __attribute__((shared)) float buf[8]; buf[0] = n; } { __attribute__((shared)) float buf[4]; a[0] = buf[0] = n; } }\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, standard, variant []byte, copies uint8) {
		var terms []recipe.Term
		for range copies%4 + 1 {
			terms = append(terms, recipe.Term{Lever: "spec", Value: "n=1", Brace: true})
		}
		out, err := mergeShared(u, "_Z1kPfi", terms, standard, variant)
		if err != nil {
			return
		}
		m, err := ptx.Parse(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if m.Entry("_Z1kPfi") == nil {
			t.Fatalf("the entry is gone\n%s", out)
		}
	})
}

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
		f.Add([]byte(front+body), "sin.ftz,exp:warps<3")
	}
	f.Fuzz(func(t *testing.T, text []byte, value string) {
		u, err := Parse(text)
		if err != nil {
			return
		}
		kernels := u.kernels()
		for _, k := range kernels {
			k.MathCalls()
			out, err := k.rewrite([]recipe.Term{{Lever: "fastmath", Value: value}}, Options{})
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
