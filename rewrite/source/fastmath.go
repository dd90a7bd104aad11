package source

// Approximation of functions that reach PTX as inlined library code: sin, cos, exp, log, pow, in
// f32.
//
//	a[i] = sinf(x) * std::exp(y);        a[i] = __gnvcc_fast_sinf
//	                                     # 7 "x.cu"
//	                                                (x) * __gnvcc_fast_exp
//	                                     # 7 "x.cu"
//	                                                                      (y);
//
// fastmath=sin,cos,exp,log,pow or all; a name with .ftz (sin.ftz) makes subnormals 0. Calls in the
// kernel and in the user's device functions that it reaches are renamed, those in headers are not.
// The new names are an overload set that is put in front of the user's text: for float, one to
// three instructions of the special function unit (Li, thesis, Table 6.1); for all other types,
// what was there. So sin(x) needs no type from us: overload resolution decides, as it did before.
//
// By family: sin has sinf, sin and (with cos) sincosf; exp has expf, exp, exp2f, exp2, exp10f,
// exp10; log has logf, log, log2f, log2, log10f, log10; pow has powf, pow.
//
// A name is left alone everywhere in the text if the user declares anything by it, takes its
// address, or gives it template arguments. Qualified calls are renamed behind std:: and :: only,
// member calls never.
//
// Special values (PTX ISA): sin and cos of large arguments are wrong (the unit reduces the range by
// a short product), of infinities NaN as ever; exp is 2^(x log2 e), whose relative error grows with
// |x|; log near 1 has an absolute error of about 1e-7 and so any relative one; pow is 2^(y log2 x):
// NaN for negative x whatever y is, where the accurate one knows even and odd powers.

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"gnvcc/rewrite/recipe"
)

// fastFamilies says which names of which form belong to a function: the code for float, in which %s
// is ".ftz" or "".
var fastFamilies = []struct {
	name  string
	calls []fastCall
}{
	{"sin", []fastCall{{"sinf", 1, false, fastSin}, {"sin", 1, true, fastSin},
		{sinCos, 3, false, ""}}},
	{"cos", []fastCall{{"cosf", 1, false, fastCos}, {"cos", 1, true, fastCos}}},
	{"exp", []fastCall{{"expf", 1, false, fastExp}, {"exp", 1, true, fastExp},
		{"exp2f", 1, false, fastExp2}, {"exp2", 1, true, fastExp2},
		{"exp10f", 1, false, fastExp10}, {"exp10", 1, true, fastExp10}}},
	{"log", []fastCall{{"logf", 1, false, fastLog}, {"log", 1, true, fastLog},
		{"log2f", 1, false, fastLog2}, {"log2", 1, true, fastLog2},
		{"log10f", 1, false, fastLog10}, {"log10", 1, true, fastLog10}}},
	{"pow", []fastCall{{"powf", 2, false, fastPow}, {"pow", 2, true, fastPow}}},
}

const sinCos = "sincosf" // of sin and cos both: renamed where both are wanted

type fastCall struct {
	name       string
	arguments  int
	overloaded bool // has forms for other types
	code       string
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

// A site is a call that can be renamed.
type fastSite struct {
	token  int // the name
	from   int // the first token of its qualification, or the name
	family string
}

// fastSites finds the calls of a kernel.
func (k *Kernel) fastSites() []fastSite {
	u := k.u
	family := map[string]string{}
	for _, f := range fastFamilies {
		for _, c := range f.calls {
			family[c.name] = f.name
		}
	}
	own := u.ownNames(family)
	var out []fastSite
	seen := map[int]bool{}
	for _, f := range k.reach {
		if f.constant {
			continue // must stay a constant expression
		}
		for i := f.open; i < int(u.tokens[f.open].match); i++ {
			if u.tokens[i].kind != ident || seen[i] {
				continue
			}
			name := u.str(i)
			if family[name] == "" || own[name] || u.tokens[i+1].kind != '(' {
				continue
			}
			from := i
			switch u.tokens[i-1].kind {
			case '.', arrow:
				continue
			case scope:
				from = i - 1
				if u.is(i-2, "std") && u.tokens[i-3].kind != scope {
					from = i - 2
				} else if u.tokens[i-2].kind == ident && !keyword(u.str(i-2)) || u.tokens[i-2].kind == '>' {
					continue // of another namespace or class
				} else if u.is(i-2, "std") {
					continue
				}
			}
			seen[i] = true
			out = append(out, fastSite{i, from, family[name]})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].token < out[j].token })
	return out
}

// MathCalls counts the calls that the lever fastmath could replace, by family.
func (k *Kernel) MathCalls() map[string]int {
	out := map[string]int{}
	for _, s := range k.fastSites() {
		out[s.family]++
		if k.u.is(s.token, sinCos) {
			out["cos"]++
		}
	}
	return out
}

// ownNames are those of the names that the user's text uses otherwise than by calling them: a
// declaration, an address, template arguments.
func (u *Unit) ownNames(names map[string]string) map[string]bool {
	u.ownOnce.Do(func() {
		u.own = map[string]bool{}
		for i := 2; i+1 < len(u.tokens); i++ {
			if u.tokens[i].kind != ident || names[u.str(i)] == "" {
				continue
			}
			prev := u.tokens[i-1]
			switch {
			case prev.kind == '.' || prev.kind == arrow:
				continue // a member's name says nothing
			case prev.kind == scope && u.is(i-2, "std") && u.tokens[i+1].kind == ';':
				continue // using std::sin;
			case u.tokens[i+1].kind != '(', prev.kind == ident && !keyword(u.str(i-1)):
				u.own[u.str(i)] = true
			}
		}
	})
	return u.own
}

// keyword reports whether an expression may follow a word.
func keyword(word string) bool {
	return slices.Contains([]string{"return", "else", "case", "do", "throw", "and", "or", "not", "co_return", "co_yield", "sizeof", "new"}, word)
}

// fastEdits turns a fastmath term into edits: the overload set, and the names.
func (k *Kernel) fastEdits(terms []recipe.Term) ([]insertion, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	if len(terms) > 1 || terms[0].Brace || terms[0].Site != "" {
		return nil, refuse(k.label(), "one value is wanted: fastmath=FUNCTIONS")
	}
	if k.NoUnroll != "" { // the text could not be read with certainty
		return nil, refuse(k.label(), "%s", k.NoUnroll)
	}
	wanted, err := parseFast(terms[0].Value)
	if err != nil {
		return nil, refuse(k.label(), "%s: %v", terms[0], err)
	}
	u := k.u
	front := u.firstOwn()
	if front < 0 {
		return nil, refuse(k.label(), "no place was found for the functions that take the place of sin, exp, ...")
	}
	var edits []insertion
	for _, s := range k.fastSites() {
		_, ok := wanted[s.family]
		if _, cos := wanted["cos"]; !ok || !cos && u.is(s.token, sinCos) {
			continue
		}
		from, stop := int(u.tokens[s.from].off), int(u.tokens[s.token].end)
		if p := u.at(from); p.file < 0 {
			continue
		}
		edits = append(edits, insertion{off: from, text: fastPrefix + u.str(s.token)},
			insertion{off: from, blank: stop - from})
	}
	if len(edits) == 0 {
		return nil, refuse(k.label(), "it calls none of these functions (or only in headers, or they are the user's own)")
	}
	return append(edits, insertion{off: int(u.tokens[front].off), text: fastText(wanted)}), nil
}

// firstOwn returns the user's first token behind the toolkit's headers: global scope, with all
// functions declared. -1 if there is none.
func (u *Unit) firstOwn() int {
	behind := false
	for i, t := range u.tokens {
		switch {
		case t.kind == skipped:
			behind = behind || u.toolkit != "" || t.end-t.off > 1<<16
		case t.kind == ident && behind && u.at(int(t.off)).file >= 0:
			return i
		}
	}
	return -1
}

// fastText is the overload set.
func fastText(wanted map[string]bool) string {
	const head = "static __inline__ __attribute__((always_inline)) __attribute__((host)) __attribute__((device)) "
	var b strings.Builder
	for _, f := range fastFamilies {
		ftz, ok := wanted[f.name]
		if !ok {
			continue
		}
		for _, c := range f.calls {
			if c.name == sinCos {
				continue
			}
			suffix := ""
			if ftz {
				suffix = ".ftz"
			}
			code := strings.ReplaceAll(c.code, "FTZ", suffix)
			params, args, in := "float x", "x", `"f"(x)`
			generic, types := "const A &x", "class A"
			if c.arguments == 2 {
				params, args, in = "float x, float y", "x, y", `"f"(x), "f"(y)`
				generic, types = "const A &x, const B &y", "class A, class B"
			}
			fmt.Fprintf(&b, "%sfloat %s%s(%s) { float r; asm(\"%s\" : \"=f\"(r) : %s); return r; }\n", head, fastPrefix, c.name, params, code, in)
			if c.overloaded {
				fmt.Fprintf(&b, "template <%s> %sauto %s%s(%s) -> decltype(%s(%s)) { return %s(%s); }\n", types, head, fastPrefix, c.name, generic, c.name, args, c.name, args)
			}
		}
	}
	_, sin := wanted["sin"]
	if _, cos := wanted["cos"]; sin && cos {
		fmt.Fprintf(&b, "%svoid %s%s(float x, float *s, float *c) { *s = %ssinf(x); *c = %scosf(x); }\n", head, fastPrefix, sinCos, fastPrefix, fastPrefix)
	}
	return b.String()
}
