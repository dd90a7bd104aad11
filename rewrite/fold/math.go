package fold

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"gnvcc/rewrite/ptx"
)

// Functions of CUDA that are computed exactly, or rounded as IEEE says: the host's result is the
// device's, but for which of two zeros it is (ordering). All others round in a way of their own.
// (CUDA C++ Programming Guide, Mathematical Functions: those of maximum error 0; each has been
// compared at zeros, infinities, NaN and subnormal numbers by TestFolded of sim/emulate.)
var exact = names(
	`fabs fabsf fma fmaf fmin fminf fmax fmaxf floor floorf ceil ceilf trunc truncf rint rintf round roundf nearbyint nearbyintf copysign
	copysignf sqrt sqrtf __saturatef __fadd_rn __fsub_rn __fmul_rn __fmaf_rn __fdiv_rn __frcp_rn __fsqrt_rn __dadd_rn __dsub_rn __dmul_rn __fma_rn __ddiv_rn
	__drcp_rn __dsqrt_rn __float_as_int __int_as_float __float_as_uint __uint_as_float __double_as_longlong __longlong_as_double __int2float_rn
	__uint2float_rn __ll2float_rn __ull2float_rn __int2double_rn __uint2double_rn __ll2double_rn __ull2double_rn __double2float_rn __isnanf __isinff __isnan
	__isinf __isnand __isinfd __finitef __finite __isfinited __signbitf __signbit __signbitd isnan isinf isfinite fdimf fdim`)

// ordering are those of the exact ones in which zeros have an order: the GPU's fmaxf(-0, 0) is 0
// whatever comes first, cicc's is the first of the two (11.8 to 13.5, all that TestFolded of
// sim/emulate finds). Where one operand is no constant, cicc leaves the instruction.
var ordering = names("fmin fminf fmax fmaxf")

// chooses tells of the instructions of the same kind.
func chooses(base string) bool { return base == "min" || base == "max" }

// choosing are the exact ones whose result may be one operand alone, whatever the other one is.
var choosing = names("fmin fminf fmax fmaxf __saturatef fdim fdimf")

func names(list string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(list) {
		m[n] = true
	}
	return m
}

// inexact tells whether a function of CUDA's, as it is compiled here, may give other bits than the
// host. With -ftz and without -prec-sqrt the body shows it.
func inexact(f *ptx.Func) bool {
	text := string(f.Text())
	if !floating(text) {
		return false
	}
	return !exact[f.Name] || strings.Contains(text, ".ftz") || strings.Contains(text, ".approx") ||
		strings.Contains(text, ".full")
}

func floating(text string) bool {
	return strings.Contains(text, ".f32") || strings.Contains(text, ".f64") ||
		strings.Contains(text, "f16")
}

// approximate tells whether an instruction rounds in a way of its own, or flushes.
func approximate(base string, op []byte) bool {
	switch base {
	case "ex2", "lg2", "sin", "cos", "tanh", "rsqrt":
		return true
	}
	return approximates(op) || ptx.HasModifier(op, "ftz")
}

// Own tells of a statement that has bits of its own on the GPU, where the compiler computes it.
func Own(f *ptx.Func, i int) bool {
	op, base := f.Opcode(i), string(f.Base(i))
	return Float(op) && (approximate(base, op) || chooses(base))
}

// OnlyWhole tells of such a statement that ptxas computes as the GPU does where not all operands
// are numbers: one that is no division, root or function. Sums and products that flush are compared
// by TestPartly of sim/emulate.
func OnlyWhole(f *ptx.Func, i int) bool {
	switch base := string(f.Base(i)); base {
	case "add", "sub", "mul", "fma", "mad":
		return !approximates(f.Opcode(i)) && ptx.HasModifier(f.Opcode(i), "f32")
	default:
		return chooses(base) || base == "setp" || base == "set"
	}
}

var constants = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))\b`)
})

// Suspect tells from a kernel's PTX as it is built whether it may hold any function that is not
// exact or has an order of zeros, so that Check is needed. CUDA's functions stand there in line:
// those that are not exact have roots, approximate instructions, or the coefficients of a
// polynomial, which use up a float's bits. A function that was made constant there already is so in
// every variant.
func Suspect(m *ptx.Module, entry string) bool {
	reach, err := m.Reach(entry)
	if err != nil {
		return true
	}
	for _, f := range reach.Funcs {
		text := string(f.Text())
		if !floating(text) {
			continue
		}
		if !f.Entry && f.Body && !strings.Contains(f.Name, "_Z") {
			return true
		}
		if ownRounding(text) {
			return true
		}
		for _, c := range constants().FindAllStringSubmatch(text, -1) {
			if c[1] != "" && !strings.HasSuffix(c[1], "000") || c[2] != "" &&
				!strings.HasSuffix(c[2], "0000000000") {
				return true
			}
		}
	}
	return false
}

// Approximates tells whether a kernel, or what it calls, has an instruction of which ptxas may
// compute other bits than the GPU: one that rounds in a way of its own. Of all others both give the
// same.
func Approximates(m *ptx.Module, entry string) bool {
	reach, err := m.Reach(entry)
	return err != nil || slices.ContainsFunc(reach.Funcs, func(f *ptx.Func) bool {
		return ownRounding(string(f.Text()))
	})
}

func ownRounding(text string) bool {
	return slices.ContainsFunc([]string{".approx", ".full", ".ftz", "sqrt.", "ex2.", "lg2.", "sin.",
		"cos.", "tanh.", "min.f", "max.f"}, func(word string) bool { return strings.Contains(text, word) })
}
