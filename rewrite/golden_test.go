package rewrite

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
)

// The goldens: testdata/*.txtar hold `recipes` (one "kernel: recipe" a line), perhaps `options`,
// `in.ptx`, and what must come out: `out.diff` (missing: the very same slice) and `refused`
// ("kernel: reason"). A kernel with several recipes is rewritten by one after the other, each time
// from in.ptx: a round of all kernels' first recipes, one of their second ones. With -update the
// last two files are written anew: read the diff. The output must be taken by every ptxas that is
// installed.
//
// Options, one a line: read-back, relocatable, registers KERNEL N, block
// KERNEL X Y Z, coarse KERNEL X Y Z, dynamic KERNEL BYTES, assemble none.

var update = flag.Bool("update", false, "rewrite the goldens")

type golden struct {
	path     string
	archive  *txtar.Archive
	in       []byte
	rounds   []map[string]recipe.Recipe
	outs     [][]byte // of the rounds
	options  Options
	refused  string
	assemble bool
}

func (g *golden) file(name string) ([]byte, bool) {
	for _, f := range g.archive.Files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

func readGolden(t *testing.T, path string) *golden {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{archive: a, assemble: true}
	recipes, _ := g.file("recipes")
	for _, line := range lines(recipes) {
		name, text, ok := strings.Cut(line, ": ")
		r, err := recipe.Parse(text)
		if !ok || err != nil {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		n := slices.IndexFunc(g.rounds, func(round map[string]recipe.Recipe) bool {
			_, has := round[name]
			return !has
		})
		if n < 0 {
			n, g.rounds = len(g.rounds), append(g.rounds, map[string]recipe.Recipe{})
		}
		g.rounds[n][name] = r
	}
	options, _ := g.file("options")
	for _, line := range lines(options) {
		switch words := strings.Fields(line); words[0] {
		case "read-back":
			g.options.ReadBack = true
		case "relocatable":
			g.options.Relocatable = true
		case "assemble":
			g.assemble = false
		case "block":
			three(t, &g.options.Blocks, words)
		case "coarse":
			three(t, &g.options.Coarse, words)
		case "grid":
			three(t, &g.options.Grids, words)
		case "dynamic":
			n := 0
			if _, err := fmt.Sscan(words[2], &n); err != nil {
				t.Fatal(err)
			}
			if g.options.Dynamic == nil {
				g.options.Dynamic = make(map[string]int)
			}
			g.options.Dynamic[words[1]] = n
		case "registers":
			n := 0
			if _, err := fmt.Sscan(words[2], &n); err != nil {
				t.Fatal(err)
			}
			if g.options.Registers == nil {
				g.options.Registers = make(map[string]int)
			}
			g.options.Registers[words[1]] = n
		default:
			t.Fatalf("%s: option %q", path, line)
		}
	}
	if g.in, err = g.text(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, round := range g.rounds {
		out, refused, err := g.options.apply(g.in, round)
		if err != nil {
			var syntax *ptx.SyntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("%s: %v", path, err)
			}
			g.refused += "the file: " + err.Error() + "\n"
		}
		for _, name := range slices.Sorted(maps.Keys(refused)) {
			g.refused += name + ": " + refused[name].Error() + "\n"
		}
		g.outs = append(g.outs, out)
	}
	return g
}

// each yields every kernel with each of its recipes.
func (g *golden) each(yield func(kernel string, r recipe.Recipe) bool) {
	for _, round := range g.rounds {
		for kernel, r := range round {
			if !yield(kernel, r) {
				return
			}
		}
	}
}

// diff is what the rounds change.
func (g *golden) diff() []byte {
	var out []byte
	for n, text := range g.outs {
		out = append(out, diff.Diff("in.ptx", g.in, fmt.Sprint("round ", n+1), text)...)
	}
	return out
}

// text is in.ptx with the kernels that edits add.
func (g *golden) text() ([]byte, error) {
	in, ok := g.file("in.ptx")
	if !ok {
		return nil, errors.New("no in.ptx")
	}
	edits, ok := g.file("edits")
	if !ok {
		return in, nil
	}
	out := string(in)
	for part := range strings.SplitSeq(string(edits), "\nkernel ") {
		hunks := strings.Split(part, "\n@@\n")
		name, base, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(hunks[0], "kernel ")), " is ")
		_, kernel, ok := strings.Cut(string(in), ".visible .entry "+base+"(")
		if !ok {
			return nil, fmt.Errorf("%s: no kernel %s", name, base)
		}
		kernel, _, _ = strings.Cut(kernel, "\n}\n")
		kernel = ".visible .entry " + base + "(" + kernel + "\n}\n"
		for _, hunk := range hunks[1:] {
			var before, after strings.Builder
			for line := range strings.Lines(strings.TrimSuffix(hunk, "\n") + "\n") {
				if line[0] != '+' {
					before.WriteString(line[1:])
				}
				if line[0] != '-' {
					after.WriteString(line[1:])
				}
			}
			if strings.Count(kernel, before.String()) != 1 {
				return nil, fmt.Errorf("%s: not once in %s: %q", name, base, before.String())
			}
			kernel = strings.Replace(kernel, before.String(), after.String(), 1)
		}
		out += strings.ReplaceAll(kernel, base, name)
	}
	return []byte(out), nil
}

// three reads an option of three numbers for a kernel.
func three(t *testing.T, to *map[string][3]int, words []string) {
	t.Helper()
	var d [3]int
	if _, err := fmt.Sscan(strings.Join(words[2:], " "), &d[0], &d[1], &d[2]); err != nil {
		t.Fatal(err)
	}
	if *to == nil {
		*to = make(map[string][3]int)
	}
	(*to)[words[1]] = d
}

func lines(b []byte) []string {
	text := strings.TrimSpace(string(b))
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func goldens(t *testing.T) []string {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d goldens, %v", len(paths), err)
	}
	return paths
}

func TestGoldens(t *testing.T) {
	fires, still := 0, 0
	for _, path := range goldens(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			g := readGolden(t, path)
			refused := len(lines([]byte(g.refused)))
			if strings.HasPrefix(g.refused, "the file") {
				refused = len(g.rounds[0])
			}
			still += refused
			for range g.each {
				fires++
			}
			fires -= refused
			for _, out := range g.outs {
				if bytes.Equal(g.in, out) && len(g.in) > 0 && &g.in[0] != &out[0] {
					t.Error("nothing changed, but the result is another slice")
				}
			}
			if *update {
				g.write(t, path)
				return
			}
			if want, _ := g.file("out.diff"); !bytes.Equal(want, g.diff()) {
				t.Errorf("out.diff differs; got:\n%s", g.diff())
			}
			if want, _ := g.file("refused"); string(want) != g.refused {
				t.Errorf("refused differs; got:\n%swant:\n%s", g.refused, want)
			}
		})
	}
	if still < fires {
		t.Errorf("%d recipes that are carried out, only %d that must not be", fires, still)
	}
}

func (g *golden) write(t *testing.T, path string) {
	t.Helper()
	var files []txtar.File
	for _, f := range g.archive.Files {
		if f.Name != "out.diff" && f.Name != "refused" {
			files = append(files, f)
		}
	}
	if d := g.diff(); d != nil {
		files = append(files, txtar.File{Name: "out.diff", Data: d})
	}
	if g.refused != "" {
		files = append(files, txtar.File{Name: "refused", Data: []byte(g.refused)})
	}
	g.archive.Files = files
	if err := os.WriteFile(path, txtar.Format(g.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestGoldensAssemble gives the output of every golden to every ptxas that knows its ISA and target
// (at least one must), and the input to the newest.
func TestGoldensAssemble(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	for _, path := range goldens(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			g := readGolden(t, path)
			if !g.assemble {
				if g.diff() != nil {
					t.Error("what a pass changes must be assembled")
				}
				return
			}
			m, err := ptx.Parse(g.in)
			if err != nil {
				t.Fatal(err)
			}
			flags := []string{"-arch=" + m.Target[0]}
			if g.options.Relocatable {
				flags = append(flags, "-c")
			}
			tried := 0
			for k, kit := range kits {
				for n, out := range g.outs {
					if n > 0 && bytes.Equal(out, g.in) {
						continue
					}
					if _, err := kit.Assemble(t, out, flags...); err == nil {
						tried++
					} else if !tooOld(err) {
						t.Error(err)
					}
				}
				if k < len(kits)-1 || g.diff() == nil {
					continue
				}
				if _, err := kit.Assemble(t, g.in, flags...); err != nil && !tooOld(err) {
					t.Errorf("the golden's own input: %v", err)
				}
			}
			if tried == 0 {
				t.Skipf("SKIPPED: none of the %d installed ptxas knows PTX %s for %v", len(kits), m.Version,
					m.Target)
			}
		})
	}
}

// tooOld tells whether a ptxas refuses a text only because it knows its ISA or target not yet, or
// no longer.
func tooOld(err error) bool {
	return strings.Contains(err.Error(), "Unsupported .version") || strings.Contains(err.Error(),
		"is not defined for option 'gpu-name'")
}
