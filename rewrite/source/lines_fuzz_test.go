package source

// Positions against the compiler: random texts with markers, directives, comments and literals in
// all places; at stands beside each token that the compiler complains about, before and after a
// rewrite. GNVCC_FUZZ=SECONDS goes on for that long, GNVCC_SEED=N repeats a run.

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gnvcc/rewrite/recipe"
)

// fuzzing says how long to go on (0: one round) and gives the random numbers.
func fuzzing(t *testing.T) (time.Duration, *rand.Rand) {
	t.Helper()
	seconds, _ := strconv.Atoi(os.Getenv("GNVCC_FUZZ"))
	seed := int64(1)
	if seconds > 0 {
		seed = time.Now().UnixNano() ^ int64(os.Getpid())<<32
	}
	if s, err := strconv.ParseInt(os.Getenv("GNVCC_SEED"), 10, 64); err == nil {
		seed = s
	}
	fmt.Printf("%s: GNVCC_SEED=%d\n", t.Name(), seed)
	return time.Duration(seconds) * time.Second, rand.New(rand.NewSource(seed))
}

// A liner makes random texts, with markers in the form of gcc -E: where a line begins, and never in
// comments or raw literals of headers, whose text is stepped over by its lines. A backslash at a
// line's end joins no two tokens: gcc -E joins lines itself. Complaints are static asserts with a
// number each.
type liner struct {
	*rand.Rand
	b bytes.Buffer
	n int
}

func (g *liner) pick(list ...string) string { return list[g.Intn(len(list))] }

// space is what may stand between two tokens and mean nothing.
func (g *liner) space() {
	switch g.Intn(24) {
	case 0, 1:
		g.b.WriteString("\n")
	case 2:
		g.b.WriteString("\r\n")
	case 3:
		fmt.Fprintf(&g.b, "\n# %d %s%s\n", g.Intn(90000)+1, g.file(), g.pick("", "", " 1", " 2", " 3",
			" 1 3", " 3 4"))
	case 4:
		fmt.Fprintf(&g.b, "\n#line %d %s\n", g.Intn(90000)+1, g.file())
	case 5:
		g.b.WriteString(g.pick("/* a\n \" b */", "/**/", "// x ' y\n", "// a \\\n b\n"))
	case 6:
		g.b.WriteString(g.pick("\n#pragma nv_diag_default 177\n", "\n#pragma GCC diagnostic push\n",
			"\n  #  pragma nv_diag_default 550\n", "\n#\n", "\n# \n"))
	case 7:
		g.b.WriteString(g.pick(" \\\n", " \\\n  ", "\t", "\f", "\v", "\n\n\n"))
	case 9:
		fmt.Fprintf(&g.b, "\n# %d\n", g.Intn(90000)+1)
	case 10:
		fmt.Fprintf(&g.b, "\n#line %d\n", g.Intn(90000)+1)
	default:
		g.b.WriteString(" ")
	}
}

func (g *liner) file() string {
	return g.pick(`"a.cu"`, `"a.cu"`, `"a.cu"`, `"b.h"`, `"./x/c.h"`, `"sp ace.h"`, `"#.h"`)
}

func (g *liner) words(text string) {
	for _, w := range strings.Split(text, " ") {
		g.b.WriteString(w)
		g.space()
	}
}

func (g *liner) complain() {
	g.n++
	g.words(fmt.Sprintf(`static_assert ( sizeof ( int ) == 0 , "T%d" ) ;`, g.n))
}

func (g *liner) statement(depth int) {
	switch g.Intn(9) {
	case 0, 1:
		g.complain()
	case 2:
		g.words(g.pick(`x += 1 ;`, `const char * s`+fmt.Sprint(g.n)+` = "a" ;`,
			`int c`+fmt.Sprint(g.b.Len())+` = '"' ;`, `if ( x ) { } else x ++ ;`))
	case 3:
		fmt.Fprintf(&g.b, "const char *r%d = R\"x(a\n\"b\" # 3\n)x\";", g.b.Len())
	case 4, 5:
		if depth < 3 {
			g.words(g.pick(`for ( int i = 0 ; i < n ; i ++ )`, `for ( int i = 0 ; i < 7 ; ++ i )`,
				`while ( x < n )`))
			g.words("{")
			for range g.Intn(3) + 1 {
				g.statement(depth + 1)
			}
			g.words("}")
		}
	default:
		g.words("{ x ++ ; }")
	}
}

func (g *liner) text() []byte {
	g.b.Reset()
	g.n = 0
	g.b.WriteString("# 1 \"a.cu\"\n")
	for k := range g.Intn(3) + 1 {
		if g.Intn(2) == 0 {
			g.complain()
		}
		g.words(fmt.Sprintf(`__attribute__ ( ( global ) ) void k%d ( int n , int x ) {`, k))
		for range g.Intn(6) + 1 {
			g.statement(0)
		}
		g.words("}")
	}
	g.b.WriteString("\n")
	return bytes.Clone(g.b.Bytes())
}

var complaint = regexp.MustCompile(
	`(?m)^(.*)\((\d+)\): error: static assertion failed with "(T\d+)"`)

// complaint reports whether the tokens from i are a whole complaint: one with a directive or a
// header's text in it is none, and where a header's text hides the end of one and the beginning of
// the next, what is left of the two is none either.
func (u *Unit) complaint(i int) bool {
	for k, word := range []string{"static_assert", "(", "sizeof", "(", "int", ")", "==", "0", ","} {
		if i < 0 || u.str(i+k) != word {
			return false
		}
	}
	return true
}

// complaints gives the places that the compiler names: T3 -> a.cu:17, several where the token
// stands in several copies.
func (p *program) complaints(text []byte) map[string]string {
	in := filepath.Join(p.dir, "lines.ii")
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return nil
	}
	out, _ := p.output(p.cicc, in, filepath.Join(p.dir, "lines.ptx"))
	found := map[string]string{}
	for _, m := range complaint.FindAllStringSubmatch(out, -1) {
		at := m[1] + ":" + m[2]
		if old, ok := found[m[3]]; !ok {
			found[m[3]] = at
		} else if !strings.Contains(" "+old+" ", " "+at+" ") {
			found[m[3]] = old + " " + at
		}
	}
	return found
}

func TestFuzzLines(t *testing.T) {
	limit, random := fuzzing(t)
	empty := filepath.Join(t.TempDir(), "e.cu")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := prepare(t, newest(t), empty)
	g := &liner{Rand: random}
	texts, refused, tokens, rewritten := 0, 0, 0, 0
	for begin := time.Now(); !t.Failed() && (texts < 60 || time.Since(begin) < limit); texts++ {
		text := g.text()
		u, err := Parse(text)
		if err != nil {
			refused++
			continue
		}
		want := p.complaints(text)
		// What the reader takes for a header's text has no tokens; what it has must stand where the
		// compiler says.
		for i, tok := range u.tokens {
			first := i - 9
			if tok.kind != str || !strings.HasPrefix(u.str(i), `"T`) || !u.complaint(first) {
				continue
			}
			label := strings.Trim(u.str(i), `"`)
			tokens++
			if got := u.place(int(u.tokens[first].off)); want[label] != "" && got != want[label] {
				t.Errorf("%s: at %s, and the compiler says %s\n%s", label, got, want[label], text)
			}
		}
		for _, k := range u.kernels() {
			for _, terms := range [][]recipe.Term{{{Lever: "spec", Value: "n=3", Brace: true}},
				{{Lever: "unroll", Value: "2"}, {Lever: "spec", Value: "x=1", Brace: true}},
				{{Lever: "unroll", Value: "4"}}} {
				k.Entry = "_Z" // its parameters' types are plain
				out, err := k.rewrite(terms, nil)
				if err != nil {
					continue
				}
				rewritten++
				got := p.complaints(out)
				// one that is gone: cicc ended before it, and the variant is refused
				maps.DeleteFunc(got, func(label, at string) bool { return want[label] == at })
				if len(got) > 0 {
					t.Errorf(
						"%v: the compiler says %v of the rewritten text, and %v of the text\n%s\n--- rewritten\n%s",
						terms, got, want, text, out)
				}
			}
		}
	}
	fmt.Printf("%d texts (%d not read), %d tokens, %d rewritten texts: wrong: %v\n", texts, refused,
		tokens, rewritten, t.Failed())
	if tokens == 0 || rewritten == 0 {
		t.Error("nothing was compared")
	}
}
