package same

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

func compiled(t *testing.T, kit ptxtest.Toolkit, text string, flags ...string) *ptx.Module {
	t.Helper()
	file := filepath.Join(t.TempDir(), "k.cu")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(bytes.ReplaceAll(kit.PTX(t, file, append(flags, "-arch=sm_80", "-lineinfo")...),
		[]byte(filepath.Dir(file)), nil)) // all texts are of one file
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLeafLater: a comparison asks for what no node has as an operand (here an argument's byte).
func TestLeafLater(t *testing.T) {
	kit := ptxtest.Toolkits(t)[0]
	m := compiled(t, kit, `struct Q { char a; double d; float f; bool b; };
extern "C" __global__ void k(double *o, const double *in, int n, Q q)
{
	double s = q.d;
	for (int i = 0; i < n; i++) { s = s * q.f + in[i]; if (q.b) s -= q.a * q.d; }
	o[0] = s;
}`)
	g, err := read(Built{Module: m, Entry: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if all := outcomes(g, fold.Fixed{}, true); len(all) != len(g.nodes) {
		t.Errorf("outcomes of %d of %d nodes", len(all), len(g.nodes))
	}
}

// keeps are kernels named no_ of fold's tests, with values for which they do keep their bits: the
// compiler folds nothing, the loop doesn't run, or ptxas has to be asked as well.
var keeps = map[string]string{
	"no_counter":    "0 -1 0.3f", // no round
	"no_power":      "0 -1 0.3f",
	"no_loop":       "0 -1 0.3f",
	"no_integer":    "0 0.3f", // x to the 0 is 1 in the code, too
	"no_exponent":   "0",
	"no_difference": "0 0.3f 1 2 -1 4", // sums: both operands are products in the default
	"no_block":      "0 1 2 -1 4 0.3f", // blockDim stays what it is
	"no_limit":      "0 1 2 -1 4 0.3f", // fminf is computed
	"no_meeting":    "4",               // contracted by none of the two
	"no_either":     "4",               // always
	"no_half":       "0 0.3f 1",        // no power of two; a quotient by 1 is the dividend
	"no_double":     "0",               // ptxas has to be asked about the product
	"no_one":        "0 2 4 0.3f",      // contracted with the same product
	"no_other":      "0 2 4 0.3f",      // ptxas has to be asked with which of the two
	"no_equal":      "0",               // nothing is put for what is 0 or -0
	// the variant is the kernel's code but for integers, and computes the function
	"no_field":        "0 1 2 4 0.3f",
	"no_last":         "0 1 2 4 0.3f",
	"no_modulo":       "2 4",
	"no_multiple":     "1 2 4",
	"no_first_thread": "2 4",
	// Which number it is does not depend on these.
	"no_weight":   "0 0.3f",
	"no_below":    "0 1 2 0.3f",
	"no_quotient": "0 1 2 0.3f",
	"no_upper":    "0 1 2 4 0.3f", // no cicc sees through its bits
}

// TestOtherBits: kernels that are known to get other bits, for values that are chosen to be hard
// (1, 0, a power of two), are refused.
func TestOtherBits(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		for _, name := range []string{"sums", "kernels"} {
			t.Run(kit.Version+name, func(t *testing.T) {
				text, err := os.ReadFile("../testdata/" + name + ".cu")
				if err != nil {
					t.Fatal(err)
				}
				values(t, kit, string(text))
			})
		}
	}
}

var head = regexp.MustCompile(`__global__ void (\w+)\(([^)]*)\) \{`)

// values compares each kernel of a text with itself for some values.
func values(t *testing.T, kit ptxtest.Toolkit, text string) {
	def, refused, taken := compiled(t, kit, text), 0, 0
	for _, v := range []string{"0", "1", "2", "4", "0.3f"} {
		variant := compiled(t, kit, head.ReplaceAllStringFunc(text, func(h string) string {
			return h + constants(head.FindStringSubmatch(h)[2], v)
		}))
		for _, e := range def.Entries() {
			fixed := fold.Fixed{Params: map[int]bool{}, Dims: map[string]bool{"ntid.x": true}}
			for i, p := range e.Params {
				fixed.Params[i] = !strings.HasSuffix(p.Type, "64") || p.Type == "f64"
			}
			_, err := Same(built(def, e.Name), built(variant, e.Name), fixed)
			if err != nil {
				refused++
				continue
			}
			taken++
			name, _, _ := strings.Cut(strings.TrimLeft(e.Name, "_Z0123456789"), "P")
			if strings.HasPrefix(name, "no_") && !slices.Contains(strings.Fields(keeps[name]), v) {
				t.Errorf("%s with %s is taken", name, v)
			}
		}
	}
	if refused == 0 || taken == 0 {
		t.Errorf("%d are refused, %d are taken: some of each are expected", refused, taken)
	}
}

// constants gives the scalar parameters of a kernel a value, behind its brace.
func constants(params, value string) string {
	var out strings.Builder
	for _, p := range strings.Split(params, ",") {
		words := strings.Fields(p)
		if len(words) != 2 || strings.ContainsAny(p, "*&") {
			continue
		}
		switch words[0] {
		case "int", "float", "double":
			out.WriteString(words[1] + " = (" + words[0] + ")" + value + "; ")
		}
	}
	return out.String()
}

// TestConstraints: a function of what a comparison tells is computed by the compiler, with other
// bits, and nothing of it is left in the variant.
func TestConstraints(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	conditions := map[string]bool{"== s": false, "> s": true, "== b[7]": true} // taken or not
	names := slices.Sorted(maps.Keys(conditions))
	text := ""
	for n, c := range names {
		text += fmt.Sprintf("extern \"C\" __global__ void k%d(float *o, const float *a, const float *b, "+
			"float s) { SET float x = a[threadIdx.x]; if (x %s) if (__sinf(x) > 0.5f) o[threadIdx.x] = 1; }\n",
			n, c)
	}
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := compiled(t, kit, strings.ReplaceAll(text, "SET", ""))
		variant := compiled(t, kit, strings.ReplaceAll(text, "SET", "s = 1.7f;"))
		for n, c := range names {
			entry := fmt.Sprint("k", n)
			_, err := Same(built(sameLine(def), entry), built(sameLine(variant), entry),
				fold.Fixed{Params: map[int]bool{3: true}})
			if (err == nil) != conditions[c] {
				t.Errorf("%s, x %s: %v", kit.Version, c, err)
			}
		}
	}
}

// TestLookAlikes: variants that keep each operation are taken, and such that look like them and do
// not are refused: another field's product is contracted, the sides of a selection are exchanged,
// or one of them is a number that the compiler may have computed.
func TestLookAlikes(t *testing.T) {
	const text = `extern "C" __global__ void fields(float *o, const float4 *p, int n, float x) {
  float s = 0;
  UNROLL for (int i = 0; i < n; i++) s += sqrtf(DOT);
  o[threadIdx.x] = s;
}
extern "C" __global__ void choice(float *o, const float *a, const float *b, float x) {
  float e = __expf(x), y = b[threadIdx.x];
  o[threadIdx.x + 64] = e;
  o[threadIdx.x] = (y > 3.0f ? CHOICE) * a[threadIdx.x];
}
`
	made := func(factor int, dot, choice string) string {
		return strings.NewReplacer("UNROLL", fmt.Sprintf("#pragma unroll %d\n#line 3\n", factor),
			"DOT", dot, "CHOICE", choice).Replace(text)
	}
	const dot, choice = "p[i].x * p[i].x + p[i].y * p[i].y", "0.0f : e"
	variants := []string{made(4, dot, choice),
		made(4, "p[i].y * p[i].y + p[i].x * p[i].x", "e : 0.0f"),
		made(1, "p[i].x + p[i].y * p[i].y", "0.0f : 0.5f")}
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := compiled(t, kit, made(1, dot, choice))
		for n, variant := range variants {
			v := compiled(t, kit, variant)
			for _, e := range def.Entries() {
				fixed := fold.Fixed{}
				if e.Name == "choice" {
					fixed.Params = map[int]bool{3: true}
				}
				_, err := Same(built(sameLine(def), e.Name), built(sameLine(v), e.Name), fixed)
				if (err == nil) != (n == 0) {
					t.Errorf("%s, variant %d, %s: %v", kit.Version, n, e.Name, err)
				}
			}
		}
	}
}

// TestOtherNumber: a number that the compiler computed stands beside one factor, and what is
// derived of an argument may be any number beside another; loads of other places are no such
// factor.
func TestOtherNumber(t *testing.T) {
	const text = `extern "C" __global__ void index(float *o, const float *__restrict__ a,
    const int *__restrict__ at, float p, int m) {
  SET
  int t = threadIdx.x;
  float w[2] = {a[at[8 * t]] * __sinf(p), a[at[8 * t + 1]] * (p * 2)};
  o[t] = w[m & 1];
}
extern "C" __global__ void field(float *o, const float2 *__restrict__ a,
    const int *__restrict__ at, float p, int m) {
  SET
  int t = threadIdx.x;
  float w[2] = {a[t].x * __sinf(p), a[t].y * (p * 2)};
  o[t] = w[m & 1];
}
`
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := compiled(t, kit, strings.ReplaceAll(text, "SET", ""))
		for set, want := range map[string]bool{"p = 1.7f;": false, "m = 1;": true} {
			variant := compiled(t, kit, strings.ReplaceAll(text, "SET", set))
			for _, e := range def.Entries() {
				_, err := Same(built(def, e.Name), built(variant, e.Name),
					fold.Fixed{Params: map[int]bool{3: !want, 4: want}})
				if (err == nil) != want {
					t.Errorf("%s, %s with %s: %v", kit.Version, e.Name, set, err)
				}
			}
		}
	}
}

var column = regexp.MustCompile(`((?:\.loc|inlined_at)\s+\d+\s+\d+)\s+\d+`)

// sameLine makes places of one line one.
func sameLine(m *ptx.Module) *ptx.Module {
	m, err := ptx.Parse(column.ReplaceAll(m.Bytes(), []byte("$1 1")))
	if err != nil {
		panic(err)
	}
	return m
}

// TestEscapes: what is stored to local memory and read elsewhere, or printed, is not looked at, so
// that such kernels are refused.
func TestEscapes(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	const text = `#include <cstdio>
extern "C" __global__ void prints(float s) { printf("%f\n", __sinf(s)); }
__device__ __noinline__ float sum(const float *p, int n) { float s = 0; while (n--) s += p[n]; return s; }
extern "C" __global__ void hands(float *o, float s, int n) { float w[2] = {__sinf(s), s}; o[0] = sum(w, n); }
extern "C" __global__ void plain(float *o, float s) { o[0] = __sinf(o[1]) * s; }
`
	m := compiled(t, kits[len(kits)-1], text)
	for _, name := range []string{"prints", "hands", "plain"} {
		b := built(m, name)
		if _, err := Same(b, b, fold.Fixed{}); (err == nil) != (name == "plain") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func built(m *ptx.Module, entry string) Built { return Built{Module: m, Entry: entry} }
