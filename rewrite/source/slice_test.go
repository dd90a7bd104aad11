package source

import (
	"strings"
	"testing"
)

// Each line is a declaration. Those that begin with + are needed by the kernel, those with - are
// not.
var sliceTexts = map[string]string{
	"names": `
+typedef unsigned long size_t;
-typedef int unused_t;
+typedef struct { int v[2]; } pair_t, *pair_ptr;
-typedef int (*callback)(int);
-extern "C" int puts(const char *);
+static __attribute__((device)) float weight = 2, other[3] = {1, 2, 3};
-static int counter = 5;
+constexpr int block = 128, batch = 4;
+enum Mode { slow, fast };
-enum class Colour : int { red, green };
-template <class T> struct vector { T *p; int size() const; };
-template <class T> int vector<T>::size() const { return 1; }
-static_assert(sizeof(int) == 4, "int");
-int main() { return 0; }
+__attribute__((global)) void __attribute__((launch_bounds(block))) k(float *p, pair_ptr q, size_t n) { p[0] = other[batch] + fast; }
`,
	"overloads": `
+struct A { int x; __attribute__((device)) A(int v); };
+__attribute__((device)) A::A(int v) : x(v) {}
+__attribute__((device)) int f(A a) { return a.x; }
+__attribute__((device)) float f(float a) { return a; }
-__attribute__((device)) int g(A a) { return a.x; }
+__attribute__((device)) A operator+(A a, A b) { return A(a.x + b.x); }
-struct B { int x; };
-__attribute__((device)) B operator+(B a, B b) { return a; }
-template <class T> struct W { T v; };
-template <class T> __attribute__((device)) int f(W<T> w) { return 1; }
+template <class T> struct Traits { static const int n = 1; };
+template <class T> const int Traits<T>::n;
-template <> struct Traits<B> { static const int n = 2; };
+template <class T> struct Traits<T *> { static const int n = 3; };
-__attribute__((device)) int operator""s(const char *p, unsigned long n) { return 1; }
+__attribute__((global)) void k(int *p) { int s = f(3); p[s] = Traits<int>::n; }
`,
	"shapes": `
-inline int one() { return 1; };
+auto result(int x) -> decltype(x) { return x; }
-template <class T, class = decltype(sizeof(T) > 1)> int sized(T t) { return 1; }
+template <class T> using Same = T;
-template <class T> constexpr bool is_big = false;
-template <> constexpr bool is_big<long> = true;
-void (*handler(int, void (*h)(int)))(int);
-struct S { S(int v) : a{v}, b(v) {} int a, b; } global_s{1};
-struct R; struct R *next(struct R *r);
-class V { public: int f() const { return 1; } template <class T> V(T t) {} };
-V::V() try : x(1) {} catch (...) {}
+__attribute__((global)) void k(Same<int> *p) { p[0] = result(1); }
`,
}

// TestSlice: what is needed stays, at its line, and nothing else does.
func TestSlice(t *testing.T) {
	for name, text := range sliceTexts {
		t.Run(name, func(t *testing.T) {
			var in strings.Builder
			in.WriteString("# 1 \"k.cu\"\n")
			lines := strings.Split(strings.TrimSpace(text), "\n")
			for _, line := range lines {
				in.WriteString(line[1:] + "\n")
			}
			entry := "_Z1kPfP6pair_tm"
			out, err := Slice([]byte(in.String()), entry)
			if err != nil {
				t.Fatal(err)
			}
			u, err := Parse(out)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range lines {
				at := strings.Index(string(out), line[1:])
				if kept := at >= 0; kept != (line[0] == '+') && !strings.Contains(line, "handler(") {
					t.Errorf("%s: stays is %v", line, kept)
				}
				if at >= 0 && u.at(at).line != i+1 {
					t.Errorf("%s: is at %d now", line, u.at(at).line)
				}
			}
		})
	}
}

// TestSliceInstance: of a template's instances only the one stays.
func TestSliceInstance(t *testing.T) {
	out, err := Slice([]byte(`# 1 "k.cu"
namespace n { struct F { }; template <class T, class G, int N> __attribute__((global)) void k(T *p, G g) {} }
template __attribute__((global)) void n::k<float, n::F, 3>(float *, n::F);
template <class T> void launch() { n::k<T, n::F, 4><<<1, 1>>>((T *)0, n::F()); }
int main() { launch<float>(); launch<double>(); }
`), "_ZN1n1kIdNS_1FELi4EEEvPT_T0_")
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	if strings.Contains(text, "launch") || strings.Contains(text, "k<float") ||
		!strings.Contains(text, "(void *)&::n::k<double, n::F, 4>;") || !strings.Contains(text, "struct F") {
		t.Error(text)
	}
}

// TestSliceRefuses: what can't be cut safely is not cut.
func TestSliceRefuses(t *testing.T) {
	for name, c := range map[string][2]string{
		"no such kernel":    {"void f() {}\n", "_Z1kv"},
		"a lambda's kernel": {"template <class T> void k(T t) {}\n", "_Z1kIZ4mainEUlfE_EvT_"},
		"no name":           {"void k() {}\n", "_ZN"},
		"a bracket":         {"void k() { ( }\n", "_Z1kv"},
	} {
		if out, err := Slice([]byte("# 1 \"k.cu\"\n"+c[0]), c[1]); err == nil {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// FuzzSlice: no text ends the process, and what stays is part of it.
func FuzzSlice(f *testing.F) {
	for _, text := range sliceTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, entry := range []string{"k", "_Z1kv", "_Z1kIfEvT_"} {
			if out, err := Slice(text, entry); err == nil && len(out) > 4*len(text)+200+60*strings.Count(
				string(text), ";") {
				t.Errorf("%d bytes became %d", len(text), len(out))
			}
		}
	})
}
