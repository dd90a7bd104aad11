package lowered

// What lowered text has from crt/device_runtime.h, written anew: toolkits from 13.0 on do not ship
// that file. Macros are in header.h; types and variables that the front end leaves out since every
// device compile knows them are declarations like the text's own, of which a slice takes what it
// reaches.

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed header.h
var macros string

const own = "__attribute__((device_builtin)) __attribute__((device)) "

const builtins = `
struct __attribute__((device_builtin)) dim3 { unsigned int x, y, z; };
extern const uint3 __attribute__((device_builtin)) threadIdx;
extern const uint3 __attribute__((device_builtin)) blockIdx;
extern const dim3 __attribute__((device_builtin)) blockDim;
extern const dim3 __attribute__((device_builtin)) gridDim;
extern const int __attribute__((device_builtin)) warpSize;
__attribute__((device_builtin)) __attribute__((device)) int __float_as_int(float) throw();
__attribute__((device_builtin)) __attribute__((device)) float __int_as_float(int) throw();
__attribute__((device_builtin)) __attribute__((device)) long long __double_as_longlong(double) throw();
__attribute__((device_builtin)) __attribute__((device)) double __longlong_as_double(long long) throw();
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
enum cudaSurfaceFormatMode { cudaFormatModeForced, cudaFormatModeAuto };
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };
enum cudaError { cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorUnknown = 999 };
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
__attribute__((device_builtin)) __attribute__((device)) void *memset(void *, int, unsigned long) throw();
__attribute__((device_builtin)) __attribute__((device)) void *memcpy(void *, const void *, unsigned long) throw();
`

// vectors declares char1 to double4: CUDA C++ Programming Guide, Built-in Vector Types.
func vectors() string {
	var b strings.Builder
	for _, base := range []struct {
		name, typ string
		size      int
	}{{"char", "signed char", 1}, {"uchar", "unsigned char", 1}, {"short", "short", 2},
		{"ushort", "unsigned short", 2}, {"int", "int", 4}, {"uint", "unsigned int", 4},
		{"long", "long", 8}, {"ulong", "unsigned long", 8}, {"longlong", "long long", 8},
		{"ulonglong", "unsigned long long", 8}, {"float", "float", 4}, {"double", "double", 8}} {
		one := func(n int, suffix string, align int) {
			fmt.Fprintf(&b, "struct __attribute__((device_builtin)) __attribute__((aligned(%d))) %s%d%s { %s %s; };\n",
				align, base.name, n, suffix, base.typ, strings.Join(strings.Split("xyzw"[:n], ""), ", "))
		}
		one(1, "", base.size)
		one(2, "", 2*base.size)
		one(3, "", base.size)
		one(4, "", min(16, 4*base.size))
		if base.size == 8 {
			one(4, "_16a", 16)
			one(4, "_32a", 32)
		}
	}
	return b.String()
}

// functions declares what the front end takes a compiler's own function for (std::log calls
// __builtin_logf), and calls without a declaration. CUDA Math API: float and double.
func functions() string {
	var b strings.Builder
	for parameters, names := range []string{1: `acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc
		exp exp10 exp2 expm1 fabs floor lgamma log log10 log1p log2 logb nearbyint rint round rsqrt sin sinh
		sqrt tan tanh tgamma trunc`, 2: `atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder`,
		3: `fma`} {
		for _, name := range strings.Fields(names) {
			for _, is := range [][2]string{{"float", "f"}, {"double", ""}} {
				fmt.Fprintf(&b, own+"%s %s%s(%s) throw();\n", is[0], name, is[1],
					strings.Repeat(", "+is[0], parameters)[2:])
			}
		}
	}
	for _, f := range strings.Split("T scalbn(T, int);T scalbln(T, long);T ldexp(T, int);T frexp(T, int *);"+
		"T modf(T, T *);T remquo(T, T, int *);int ilogb(T);long lround(T);long lrint(T);long long llround(T);"+
		"long long llrint(T)", ";") {
		for _, is := range [][2]string{{"float", "f("}, {"double", "("}} {
			fmt.Fprintln(&b, own+strings.ReplaceAll(strings.Replace(f, "(", is[1], 1), "T", is[0])+" throw();")
		}
	}
	return b.String()
}

// builtinFunctions are functions of the compiler that the front end writes without their
// __builtin_.
var builtinFunctions = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(`unreachable signbit signbitf isnan isinf isfinite isnormal isinf_sign
		isgreater isgreaterequal isless islessequal islessgreater isunordered fpclassify expect assume
		assume_aligned constant_p huge_val huge_valf inf inff nan nanf nans nansf abs labs llabs bswap16 bswap32
		bswap64 clz clzl clzll ctz ctzl ctzll ffs ffsl ffsll popcount popcountl popcountll parity trap
		memcmp memmove memchr strlen strcmp strncmp strchr prefetch object_size bit_cast`) {
		out[name] = true
	}
	return out
})

// header is that text, read.
var header = sync.OnceValue(func() *Unit {
	u, err := read([]byte(vectors() + builtins + functions()))
	if err != nil {
		panic(err) // our own text
	}
	return u
})
