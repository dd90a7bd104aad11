package recipe

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
)

// A Recipe says how one kernel is to be compiled: a set of terms, each naming a lever, the place it
// applies to and its value. The zero Recipe is nvcc's own compile. Its text is what users read and
// what the store keeps:
//
//	maxnreg=56 hint@ld=L2::256B unroll=4 unroll@2=8 spec{n=1024,blockDim.x=256}
//
// Terms stand in a fixed order, so that equal recipes have equal texts.
type Recipe struct {
	Terms []Term
}

// A Term is one lever of a recipe.
type Term struct {
	Lever string // "maxnreg", "hint", "unroll", "spec", ...
	// where it applies, "" for the whole kernel: "2" (the second loop), "ld3" (the fourth load)
	Site  string
	Value string // "56", "L2::256B"; for a term with braces the text between them
	Brace bool   // printed as lever{value}
}

// Parse reads the text that String prints. It checks the form only; whether a lever exists and
// takes such a value is its pass' affair.
func Parse(text string) (Recipe, error) {
	var r Recipe
	for rest := strings.Trim(text, " \t\r\n"); rest != ""; rest = strings.TrimLeft(rest, " ") {
		end := strings.IndexAny(rest, " {")
		var t Term
		var word string
		switch {
		case end >= 0 && rest[end] == '{':
			closing := strings.IndexByte(rest, '}')
			if closing < end {
				return Recipe{}, fmt.Errorf("recipe %q: no closing brace", text)
			}
			word, t.Value, t.Brace = rest[:end], rest[end+1:closing], true
			rest = rest[closing+1:]
			if rest != "" && rest[0] != ' ' {
				return Recipe{}, fmt.Errorf("recipe %q: %q directly behind a brace", text, rest)
			}
		case end >= 0:
			word, rest = rest[:end], rest[end:]
		default:
			word, rest = rest, ""
		}
		if !t.Brace {
			var ok bool
			if word, t.Value, ok = strings.Cut(word, "="); !ok || t.Value == "" {
				return Recipe{}, fmt.Errorf("recipe %q: %q has no value", text, word)
			}
		}
		t.Lever, t.Site, _ = strings.Cut(word, "@")
		if t.Lever == "" || !plain(t.Value) || !plain(word) {
			return Recipe{}, fmt.Errorf("recipe %q: a term is lever=value, lever@site=value or lever{value}",
				text)
		}
		r.Terms = append(r.Terms, t)
	}
	r.sort()
	for i := 1; i < len(r.Terms); i++ {
		if r.Terms[i].Lever == r.Terms[i-1].Lever && r.Terms[i].Site == r.Terms[i-1].Site &&
			!r.Terms[i].Brace {
			return Recipe{}, fmt.Errorf("recipe %q: %s is given twice", text, r.Terms[i].name())
		}
	}
	return r, nil
}

// plain reports whether a text has neither braces nor control characters, which would not come back
// as they were printed.
func plain(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '{' || c == '}'
	}) < 0
}

func (r *Recipe) sort() {
	sort.SliceStable(r.Terms, func(i, j int) bool {
		a, b := r.Terms[i], r.Terms[j]
		if a.Lever != b.Lever {
			return a.Lever < b.Lever
		}
		return a.Site < b.Site
	})
}

func (t Term) name() string {
	if t.Site == "" {
		return t.Lever
	}
	return t.Lever + "@" + t.Site
}

func (t Term) String() string {
	if t.Brace {
		return t.name() + "{" + t.Value + "}"
	}
	return t.name() + "=" + t.Value
}

// String prints the recipe; nvcc's own compile is the empty text.
func (r Recipe) String() string {
	words := make([]string, len(r.Terms))
	for i, t := range r.Terms {
		words[i] = t.String()
	}
	return strings.Join(words, " ")
}

// IsDefault reports whether the recipe is nvcc's own compile.
func (r Recipe) IsDefault() bool { return len(r.Terms) == 0 }

// Get returns the value of a lever at a site ("" for the whole kernel).
func (r Recipe) Get(lever, site string) (string, bool) {
	for _, t := range r.Terms {
		if t.Lever == lever && t.Site == site {
			return t.Value, true
		}
	}
	return "", false
}

// With returns the recipe with one more term; a term of the same lever and site is replaced, save
// for terms with braces, of which there may be several (one per shape of launch).
func (r Recipe) With(t Term) Recipe {
	out := Recipe{Terms: make([]Term, 0, len(r.Terms)+1)}
	for _, old := range r.Terms {
		if old.Lever != t.Lever || old.Site != t.Site || t.Brace {
			out.Terms = append(out.Terms, old)
		}
	}
	out.Terms = append(out.Terms, t)
	out.sort()
	return out
}

// Without returns the recipe less some levers' terms.
func (r Recipe) Without(levers ...string) Recipe {
	var out Recipe
	for _, t := range r.Terms {
		if !slices.Contains(levers, t.Lever) {
			out.Terms = append(out.Terms, t)
		}
	}
	return out
}
