package lowered

// Approximate functions, for users who ask for them: fastmath=sin,cos,exp,log,pow (all of these:
// all), each perhaps with .ftz. Calls in float of the kernel's slice become the instructions that
// -use_fast_math takes for them, without that option's other effects (division, square roots,
// subnormals). std::sin and sin of a float call sinf in lowered text, and so are found.
//
// Special values (PTX ISA): sin and cos of large arguments are wrong (the unit reduces the range by
// a short product), of infinities NaN as ever; exp is 2^(x log2 e), whose relative error grows with
// |x|; log near 1 has an absolute error of about 1e-7 and so any relative one; pow is 2^(y log2 x):
// NaN for negative x whatever y is, where the accurate one knows even and odd powers.

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/recipe"
)

// fastFamilies says which names belong to a function: the code for float.
var fastFamilies = []struct {
	name  string
	calls []fastCall
}{
	{"sin", []fastCall{{"sinf", 1, fastSin}, {sinCos, 3, ""}}},
	{"cos", []fastCall{{"cosf", 1, fastCos}}},
	{"exp", []fastCall{{"expf", 1, fastExp}, {"exp2f", 1, fastExp2}, {"exp10f", 1, fastExp10}}},
	{"log", []fastCall{{"logf", 1, fastLog}, {"log2f", 1, fastLog2}, {"log10f", 1, fastLog10}}},
	{"pow", []fastCall{{"powf", 2, fastPow}}},
}

const sinCos = "sincosf" // of sin and cos both: renamed where both are wanted

type fastCall struct {
	name      string
	arguments int
	code      string
}

// The code in PTX, %0 the result, %1 and %2 the arguments; FTZ is ".ftz" or nothing. Constants:
// log2(e), log2(10), ln 2, log10(2).
const (
	fastSin   = `sin.approxFTZ.f32 %0, %1;`
	fastCos   = `cos.approxFTZ.f32 %0, %1;`
	fastExp   = `{ .reg .f32 t; mulFTZ.f32 t, %1, 0f3FB8AA3B; ex2.approxFTZ.f32 %0, t; }`
	fastExp2  = `ex2.approxFTZ.f32 %0, %1;`
	fastExp10 = `{ .reg .f32 t; mulFTZ.f32 t, %1, 0f40549A78; ex2.approxFTZ.f32 %0, t; }`
	fastLog   = `{ .reg .f32 t; lg2.approxFTZ.f32 t, %1; mulFTZ.f32 %0, t, 0f3F317218; }`
	fastLog2  = `lg2.approxFTZ.f32 %0, %1;`
	fastLog10 = `{ .reg .f32 t; lg2.approxFTZ.f32 t, %1; mulFTZ.f32 %0, t, 0f3E9A209B; }`
	fastPow   = `{ .reg .f32 t; lg2.approxFTZ.f32 t, %1; mulFTZ.f32 t, t, %2; ex2.approxFTZ.f32 %0, t; }`
)

const fastPrefix = "__gnvcc_fast_"

// parseFast reads a value: the families that are wanted, true for those with .ftz.
func parseFast(value string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, word := range strings.Split(value, ",") {
		name, ftz := strings.CutSuffix(word, ".ftz")
		found := false
		for _, f := range fastFamilies {
			if name == f.name || name == "all" {
				out[f.name], found = ftz, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q is none of sin, cos, exp, log, pow, all (each perhaps with .ftz)", word)
		}
	}
	return out, nil
}

// fastSites finds the calls of a kernel's slice, tokens by family.
func (k *Kernel) fastSites() map[string][]int {
	u := k.u
	family := map[int32]string{}
	for _, f := range fastFamilies {
		for _, c := range f.calls {
			if n, ok := u.numbers[c.name]; ok && u.definition(c.name) < 0 { // not the user's own
				family[n] = f.name
			}
		}
	}
	out := map[string][]int{}
	if len(family) == 0 {
		return out
	}
	for _, n := range k.slice.own {
		d := &u.decls[n]
		if d.kind != function || d.body == 0 {
			continue
		}
		for i := int(d.body); i < int(d.to); i++ {
			if t := u.tokens[i]; t.kind == word && family[t.n] != "" && u.tokens[i+1].kind == '(' && !u.member(i) {
				out[family[t.n]] = append(out[family[t.n]], i)
			}
		}
	}
	return out
}

// MathCalls counts the calls that the lever fastmath could replace, by family.
func (k *Kernel) MathCalls() map[string]int {
	out := map[string]int{}
	for family, sites := range k.fastSites() {
		out[family] += len(sites)
		for _, i := range sites {
			if k.u.is(i, sinCos) {
				out["cos"]++
			}
		}
	}
	return out
}

// fastEdits turns a fastmath term into edits, and the functions that they need.
func (k *Kernel) fastEdits(terms []recipe.Term) (edits []edit, functions string, err error) {
	if len(terms) == 0 {
		return nil, "", nil
	}
	if len(terms) > 1 || terms[0].Brace || terms[0].Site != "" {
		return nil, "", refuse(k.Entry, "one value is wanted: fastmath=FUNCTIONS")
	}
	wanted, err := parseFast(terms[0].Value)
	if err != nil {
		return nil, "", refuse(k.Entry, "%s: %v", terms[0], err)
	}
	for family, sites := range k.fastSites() {
		_, ok := wanted[family]
		_, cos := wanted["cos"]
		for _, i := range sites {
			if ok && (cos || !k.u.is(i, sinCos)) {
				edits = append(edits, edit{off: k.u.tokens[i].off, text: fastPrefix})
			}
		}
	}
	if len(edits) == 0 {
		return nil, "", refuse(k.Entry, "it calls none of these functions (or they are the user's own)")
	}
	return edits, fastText(wanted), nil
}

// fastText is the functions' text.
func fastText(wanted map[string]bool) string {
	const head = "static __inline__ __attribute__((always_inline)) __attribute__((device)) "
	var b strings.Builder
	for _, f := range fastFamilies {
		ftz, ok := wanted[f.name]
		if !ok {
			continue
		}
		suffix := ""
		if ftz {
			suffix = ".ftz"
		}
		for _, c := range f.calls {
			params, in := "float x", `"f"(x)`
			switch c.arguments {
			case 2:
				params, in = "float x, float y", `"f"(x), "f"(y)`
			case 3:
				continue
			}
			fmt.Fprintf(&b, "%sfloat %s%s(%s) { float r; asm(\"%s\" : \"=f\"(r) : %s); return r; }\n", head,
				fastPrefix, c.name, params, strings.ReplaceAll(c.code, "FTZ", suffix), in)
		}
	}
	_, sin := wanted["sin"]
	if _, cos := wanted["cos"]; sin && cos {
		fmt.Fprintf(&b, "%svoid %s%s(float x, float *s, float *c) { *s = %ssinf(x); *c = %scosf(x); }\n",
			head, fastPrefix, sinCos, fastPrefix, fastPrefix)
	}
	return b.String()
}
