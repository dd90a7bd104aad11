package source

// A Unit is one translation unit's preprocessed device code: its bytes, tokens, and the functions
// of the user's files.

import (
	"fmt"
	"sync"
)

// A Unit is read-only once it is parsed, and may be used from several goroutines.
type Unit struct {
	text    []byte
	tokens  []token // of the user's files; a stretch of headers is one token
	markers []marker
	files   []file

	functions []*function
	byName    map[string][]*function // by simple name
	classes   map[string][]*classDef // by simple name
	aliases   map[string]alias       // typedefs and usings of simple types
	linkedC   map[string]bool        // functions that are declared extern "C"
	packed    bool                   // a #pragma pack stands in the user's text: no layout is given

	fileIndex map[string]int32
	last      int32  // the file of the last marker, a cache
	toolkit   string // the toolkit's include folder, with a slash; "" unknown

	ownOnce sync.Once
	// names of math functions that the user's text uses in other ways than by calls
	own       map[string]bool
	loopsOnce sync.Once
	loopsIn   map[*function][]Loop
	methods   map[string][]*function // by class
}

// Parse reads cicc's input. An error means that the text is not what this reader understands, and
// that the whole unit is to be left alone; what is odd in one function is reported by Kernel and
// Rewrite for that function only.
func Parse(text []byte) (*Unit, error) {
	u := newUnit(text)
	if err := u.lex(); err != nil {
		return nil, err
	}
	r := reader{u: u, t: u.tokens}
	r.scope(0, len(u.tokens)-1, &space{}, 0)
	u.methods = map[string][]*function{}
	for _, f := range u.functions {
		u.byName[f.name] = append(u.byName[f.name], f)
		if f.member && len(f.path) > 0 {
			last := f.path[len(f.path)-1]
			u.methods[last] = append(u.methods[last], f)
		}
	}
	return u, nil
}

func newUnit(text []byte) *Unit {
	return &Unit{text: text, fileIndex: map[string]int32{}, byName: map[string][]*function{},
		classes: map[string][]*classDef{}, aliases: map[string]alias{}, linkedC: map[string]bool{}}
}

// str is a token's text.
func (u *Unit) str(i int) string { return string(u.text[u.tokens[i].off:u.tokens[i].end]) }

// is reports whether token i is the identifier s.
func (u *Unit) is(i int, s string) bool {
	t := u.tokens[i]
	return t.kind == ident && string(u.text[t.off:t.end]) == s
}

// A refusal says why a kernel, a loop or a value is left as nvcc makes it. It is an answer, not a
// failure of ours.
type refusal struct {
	Kernel string // the entry or the qualified name
	Reason string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("source: kernel %s is left alone: %s", r.Kernel, r.Reason)
}

func refuse(kernel, format string, args ...any) error {
	return &refusal{Kernel: kernel, Reason: fmt.Sprintf(format, args...)}
}
