package selection

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gnvcc/rewrite/ptx"
)

// A Kernel is one that a word can mean.
type Kernel struct {
	Name     string // mangled
	Identity string // "" where it is not known
	File     string // its source, "" where that is not known
	Target   string // "sm_90"
}

// A level is how a word names a kernel. The first level at which it names any counts.
type level int

const (
	byIdentity  level = iota // all of it, or its first eight hexadecimal digits and more
	byName                   // mangled, or as in the source with template arguments: axpy<float>
	bySignature              // axpy<float>(float*, int)
	byTemplate               // without template arguments: axpy
	unqualified              // without namespaces and classes
	byPattern                // a regular expression for a part of a name (StableName, or short)
	notMeant
)

// Of gives those of a list that a word means, in its order. An empty word means all. Where it means
// none the error says which names are like it, where it is no regular expression either that.
func Of[K any](word string, list []K, kernel func(K) Kernel) ([]K, error) {
	if word == "" {
		return list, nil
	}
	w := newWord(word)
	found, best := meant(w, list, kernel)
	if best == notMeant {
		if w.wrong != nil {
			return nil, fmt.Errorf("%s is no kernel's name, and as a regular expression wrong: %w", word,
				w.wrong)
		}
		var names []string
		for _, k := range list {
			names = append(names, kernel(k).Name)
		}
		slices.Sort(names)
		names = slices.Compact(names)
		return nil, &None{Word: word, Known: len(names), Near: near(word, names)}
	}
	return found, nil
}

// meant are the kernels that a word names, and at which level it does.
func meant[K any](w word, list []K, kernel func(K) Kernel) (found []K, best level) {
	best = notMeant
	for _, k := range list {
		l := w.level(kernel(k))
		if l < best {
			found, best = nil, l
		}
		if l == best && l < notMeant {
			found = append(found, k)
		}
	}
	return found, best
}

// Pattern is what a word means to who knows kernels by their names alone: the names of those known
// that it names, or the expression that it is. It is matched with mangled names and with short
// ones.
func Pattern(word string, known []Kernel) (*regexp.Regexp, error) {
	w := newWord(word)
	found, at := meant(w, known, func(k Kernel) Kernel { return k })
	if at >= byPattern {
		return w.pattern, w.wrong
	}
	return named(found)
}

// Launched is that of a program that is still to be run: all that a word names, at whatever level.
// Of the kernels known most are other programs', and one of these must not hide this one's.
func Launched(word string, known []Kernel) (*regexp.Regexp, error) {
	w := newWord(word)
	found := slices.DeleteFunc(slices.Clone(known), func(k Kernel) bool {
		return w.level(k) >= byPattern
	})
	if len(found) == 0 {
		return w.pattern, w.wrong
	}
	return named(found)
}

// named matches the names of kernels.
func named(found []Kernel) (*regexp.Regexp, error) {
	var names []string
	for _, k := range found {
		names = append(names, regexp.QuoteMeta(k.Name))
		if ptx.StableName(k.Name) != k.Name { // in another build it has another mangled name
			names = append(names, regexp.QuoteMeta(ptx.ShortName(k.Name)))
		}
	}
	slices.Sort(names)
	return regexp.Compile("^(" + strings.Join(slices.Compact(names), "|") + ")$")
}

// A word is a user's, made ready to be compared.
type word struct {
	text, bare string // bare: without blanks
	stable     string
	pattern    *regexp.Regexp // nil: it is none
	wrong      error
}

func newWord(text string) word {
	w := word{text: text, bare: bare(unadorned().Replace(strings.TrimPrefix(text, "void "))),
		stable: ptx.StableName(text)}
	w.pattern, w.wrong = regexp.Compile(text)
	return w
}

// unadorned takes from a word what demanglers and profilers write, and names for people leave out.
var unadorned = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("(anonymous namespace)::", "", "<unnamed>::", "")
})

// cast stands in front of a number among template arguments: always in NVIDIA's tools, and of some
// types in names for people.
var cast = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([<,])\((?:unsigned|signed)?(?:char|short|int|long|longlong)\)(-?[0-9])`)
})

// identity may be one, or how one begins.
var identity = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8,64}$`)
})

func (w word) level(k Kernel) level {
	if k.Identity != "" && identity().MatchString(w.text) && strings.HasPrefix(k.Identity, w.text) {
		return byIdentity
	}
	short, stable := ptx.ShortName(k.Name), ptx.StableName(k.Name)
	name := bare(short)
	switch signature := bare(ptx.Signature(k.Name)); {
	// StableName: of a file's own kernels, those of another build or file are alike
	case w.text == k.Name || w.stable == stable || w.bare == name:
		return byName
	// also without the parameters, where those of functions around a lambda stand
	case w.bare == signature || strings.HasPrefix(signature, w.bare+"("):
		return bySignature
	case w.bare == withoutArguments(name):
		return byTemplate
	case w.bare == last(name) || w.bare == last(withoutArguments(name)):
		return unqualified
	case w.pattern != nil && (w.pattern.MatchString(stable) || w.pattern.MatchString(short)):
		return byPattern
	}
	return notMeant
}

// bare is a name without blanks, and without casts of template arguments.
func bare(name string) string {
	name = strings.ReplaceAll(name, " ", "")
	if !strings.Contains(name, "<(") && !strings.Contains(name, ",(") {
		return name
	}
	for range 2 { // of two in a row the first match takes the comma of the second
		name = cast().ReplaceAllString(name, "$1$2")
	}
	return name
}

// withoutArguments takes the template arguments at the end of a name away.
func withoutArguments(name string) string {
	if !strings.HasSuffix(name, ">") {
		return name
	}
	for i, depth := len(name)-1, 0; i > 0; i-- {
		switch name[i] {
		case '>':
			depth++
		case '<':
			if depth--; depth == 0 {
				return name[:i]
			}
		}
	}
	return name
}

// last is a name without the namespaces and classes in front of it.
func last(name string) string {
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case '>', ')':
			depth++
		case '<', '(':
			depth--
		case ':':
			if depth == 0 {
				return name[i+1:]
			}
		}
	}
	return name
}

// distinct groups what people call one kernel: code that is the same, and what one source has under
// one signature, for all targets and of all its builds.
func distinct[K any](list []K, kernel func(K) Kernel) [][]K {
	var groups [][]K
	at := map[string]int{} // group by what its kernels have in common
	for _, x := range list {
		k := kernel(x)
		to := len(groups)
		groups = append(groups, []K{x})
		keys := []string{k.File + "\x00" + ptx.Signature(k.Name)}
		if k.Identity != "" {
			keys = append(keys, k.Identity)
		}
		for _, key := range keys {
			if from, ok := at[key]; ok && from != to {
				groups[to] = append(groups[from], groups[to]...)
				groups[from] = nil
				for other, i := range at {
					if i == from {
						at[other] = to
					}
				}
			}
			at[key] = to
		}
	}
	return slices.DeleteFunc(groups, func(g []K) bool { return len(g) == 0 })
}

// several says that a word means more than one kernel, where one is to be named.
type several struct {
	Word  string
	Lines []string // one a kernel: signature, file, targets, how its identity begins
}

func (s *several) Error() string {
	return fmt.Sprintf("%s means %d kernels: name one of them, or all by --all\n  %s", s.Word,
		len(s.Lines), strings.Join(s.Lines, "\n  "))
}

// One gives what a word means where it is one kernel, or where all are asked for.
func One[K any](word string, all bool, list []K, kernel func(K) Kernel) ([]K, error) {
	found, err := Of(word, list, kernel)
	if err != nil || all {
		return found, err
	}
	groups := distinct(found, kernel)
	if len(groups) <= 1 {
		return found, nil
	}
	s := &several{Word: word}
	for _, g := range groups {
		s.Lines = append(s.Lines, line(g, kernel))
	}
	slices.Sort(s.Lines)
	return nil, s
}

// line describes one kernel.
func line[K any](group []K, kernel func(K) Kernel) string {
	first := kernel(group[0])
	var targets, identities []string
	for _, x := range group {
		k := kernel(x)
		targets = append(targets, k.Target)
		identities = append(identities, k.Identity[:min(12, len(k.Identity))])
	}
	parts := []string{ptx.Signature(first.Name)}
	add := func(format string, list []string) {
		slices.Sort(list)
		list = slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" })
		if len(list) > 0 {
			parts = append(parts, fmt.Sprintf(format, strings.Join(list, ", ")))
		}
	}
	add("in %s", []string{first.File})
	add("for %s", targets)
	add("identity %s", identities)
	return strings.Join(parts, ", ")
}

// None says that a word means no kernel.
type None struct {
	Word  string
	Known int
	Near  []string // names like it, the nearest first
}

func (n *None) Error() string {
	like := ""
	if len(n.Near) > 0 {
		like = "; did you mean " + strings.Join(n.Near, ", or ") + "?"
	}
	return fmt.Sprintf("no such kernel: %s (%d known: gnvcc status)%s", n.Word, n.Known, like)
}
