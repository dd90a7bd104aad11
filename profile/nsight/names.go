package nsight

import (
	"regexp"
	"strings"
	"sync"

	"github.com/ianlancetaylor/demangle"
)

// Which kernel a name in a file means. A profiler prints one of
//
//	_Z5scaleIfEvPT_iS0_                 mangled
//	void scale<float>(T1 *, int, T1)    demangled, in NVIDIA's way: casts in template arguments, <unnamed> namespaces
//	ns::scale                           the function's name alone
//
// and what we know is the mangled name. Both are brought to one form; where that finds nothing,
// shorter forms are compared.

// names are the forms of a name, from the longest: mangled, whole, without template arguments,
// without namespaces. Empty where the name does not have so much.
type names struct {
	mangled, whole, plain, last string
	generic                     bool // whole has no template arguments
}

// maxDemangled bounds the names that are demangled, bytes: the library is recursive.
const maxDemangled = 1 << 14

// namesOf reads a name of a file.
func namesOf(name string) names {
	var n names
	text := name
	if strings.HasPrefix(name, "_Z") && len(name) < maxDemangled {
		n.mangled = stable(name)
		full, err := demangle.ToString(name, demangle.NoClones, demangle.NoEnclosingParams)
		if err != nil {
			return n
		}
		text = full
	}
	n.whole = canonical(text)
	n.plain = withoutArguments(n.whole)
	n.generic = n.plain == n.whole
	n.last = n.plain[strings.LastIndex(n.plain, ":")+1:]
	return n
}

// patterns are compiled when the first profile is read.
var patterns = sync.OnceValue(func() (p struct{ cast, suffix, file *regexp.Regexp }) {
	p.cast = regexp.MustCompile(`\((unsigned |signed )?(bool|char|short|int|long|long long)( int)?\)`)
	p.suffix = regexp.MustCompile(`([0-9])[uUlL]+\b`)
	p.file = regexp.MustCompile(`_GLOBAL__N__[0-9a-f]{8}_[0-9]+_[A-Za-z0-9_]*_[0-9a-f]{8}(_[0-9]+)?`)
	return p
})

// stable is a mangled name without what depends on the file's path, as far as names of two builds
// have to be compared.
func stable(mangled string) string {
	return patterns().file.ReplaceAllString(mangled, "_GLOBAL__N_")
}

// canonical brings a demangled name to one form: no return type, no parameters, no spaces, no casts
// of template arguments.
func canonical(name string) string {
	name = strings.ReplaceAll(name, "<unnamed>", "(anonymous namespace)")
	name = strings.ReplaceAll(name, "(anonymous namespace)", "{anonymous}")
	name = patterns().cast.ReplaceAllString(name, "")
	// The parameters begin at the first bracket outside of template arguments; what stands in front of
	// the last space outside of them is the return type.
	depth, end, begin := 0, len(name), 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '<':
			depth++
		case c == '>' && depth > 0 && !(i > 0 && name[i-1] == '-'):
			depth--
		case c == '(' && depth == 0:
			end, i = i, len(name)
		case c == ' ' && depth == 0:
			begin = i + 1
		}
	}
	if begin > end {
		begin = 0
	}
	name = strings.ReplaceAll(name[begin:end], " ", "")
	name = strings.NewReplacer("true", "1", "false", "0").Replace(name)
	name = strings.ReplaceAll(name, "{anonymous}::", "")
	return patterns().suffix.ReplaceAllString(name, "$1")
}

// withoutArguments cuts template arguments off.
func withoutArguments(name string) string {
	var b strings.Builder
	depth := 0
	for _, c := range name {
		switch {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// match finds the kernels of the file that a mangled name means, by the longest form in which any
// does.
func (p *Profile) match(mangled string) []Kernel {
	want := namesOf(mangled)
	if want.mangled == "" { // extern "C"
		want.mangled = mangled
	}
	find := func(same func(n names) bool) (out []Kernel) {
		for _, k := range p.Kernels {
			if same(k.names) {
				out = append(out, k)
			}
		}
		return out
	}
	for _, same := range []func(n names) bool{
		func(n names) bool { return n.mangled != "" && n.mangled == want.mangled },
		func(n names) bool { return n.mangled == "" && n.whole != "" && n.whole == want.whole },
		// The function's name alone: all instances of a template have it.
		func(n names) bool {
			return n.mangled == "" && n.generic && n.plain != "" && n.plain == want.plain
		},
		func(n names) bool {
			return n.mangled == "" && n.generic && n.plain == n.last && n.last != "" && n.last == want.last
		},
	} {
		if found := find(same); len(found) > 0 {
			return found
		}
	}
	return nil
}

// Share is a kernel's part of the time of all kernels in the profile, 0 to 1; known: the profile
// has it. Where it has the function's name alone, all instances of a template have the part of all
// of them.
func (p *Profile) Share(mangled string) (share float64, known bool) {
	found := p.match(mangled)
	for _, k := range found {
		share += k.Seconds
	}
	return share / p.total(), len(found) > 0
}

// Shapes are those in which the profile has a kernel launched; none where it does not tell.
func (p *Profile) Shapes(mangled string) []Shape {
	var out []Shape
	for _, k := range p.match(mangled) {
		out = append(out, k.Shapes...)
	}
	return out
}

// Parts are these with the part of the kernel's time that each has there; nil where the file does
// not tell the shapes of all of it.
func (p *Profile) Parts(mangled string) map[Shape]float64 {
	out, sum, all := map[Shape]float64{}, 0.0, 0.0
	for _, k := range p.match(mangled) {
		all += k.Seconds
		for n, s := range k.Shapes {
			out[s] += k.spent[n]
			sum += k.spent[n]
		}
	}
	if all <= 0 || sum < 0.99*all {
		return nil
	}
	for s := range out {
		out[s] /= all
	}
	return out
}

// Missing are the kernels of the profile from Smallest on that none of these mangled names means,
// the heaviest first.
func (p *Profile) Missing(mangled []string) []string {
	meant := map[string]bool{}
	for _, name := range mangled {
		for _, k := range p.match(name) {
			meant[k.Name] = true
		}
	}
	var out []string
	for _, k := range p.Kernels {
		if !meant[k.Name] && k.Seconds/p.total() >= Smallest {
			out = append(out, k.Name)
		}
	}
	return out
}
