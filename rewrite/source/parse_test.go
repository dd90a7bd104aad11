package source

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/rewrite/recipe"
)

// Thrust, CUB, cooperative groups and wmma: 12 MB of headers around a few kernels.
func TestLibraries(t *testing.T) {
	_, ii := prepare(t, newest(t), filepath.Join("testdata", "programs", "libraries.cu"))
	u, err := Parse(ii)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range u.kernels() {
		got = append(got, fmt.Sprintf("%s:%d %s loops %d copy %q", k.File, k.Line, k.Name, len(k.Loops),
			k.NoSpec))
	}
	want := `libraries.cu:12 blockSum loops 1 copy ""
libraries.cu:22 wmma loops 1 copy ""
libraries.cu:33 groups loops 1 copy ""`
	if strings.Join(got, "\n") != want {
		t.Errorf("kernels:\n%s", strings.Join(got, "\n"))
	}
	if len(u.userFiles()) != 1 {
		t.Errorf("files of the user: %v", u.userFiles())
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"# 1 \"a.cu\"\nint f() { return 1; ":      "a.cu:1: a bracket that is never closed",
		"# 7 \"a.cu\"\nint f) {":                  "a.cu:7: a ) that nothing opened",
		"# 7 \"a.cu\"\n\nint f(] {":               "a.cu:8: a ] where a ( is open",
		"# 7 \"a.cu\"\nchar *s = \"abc\n\";":      "a.cu:7: a literal without an end",
		"# 7 \"a.cu\"\nchar *s = R\"x(abc)\";":    "a.cu:7: a raw string without an end",
		"# 7 \"a.cu\"\nint a<:3:>;":               "a.cu:7: a byte '<' that C++ has no use for, or a digraph",
		"# 7 \"a.cu\"\nint a; @":                  "a.cu:7: a byte '@' that C++ has no use for, or a digraph",
		"# 7 \"a.cu\"\nint a; /* x":               "a.cu:7: a comment without an end",
		"# 7 \"a.cu\"\nint a; #define x":          "a.cu:7: a # inside a line",
		"# 7 \"a.cu\"\nint a = \\ 3;":             "a.cu:7: a stray backslash",
		"# 7 \"a.cu\"\nint a =\\\n3;":             "a.cu:7: a line that goes on in the next one, maybe within a word",
		"# 7 \"a.cu\"\nint\\\r\na;":               "a.cu:7: a line that goes on in the next one, maybe within a word",
		"# 7 \"a.cu\"\nint a; // x \\ \nint b;":   "a.cu:7: a comment that ends with a backslash and blanks: compilers differ on where it ends",
		"# 7 \"a.cu\"\n#pragma unroll \\\n4\n":    "a.cu:7: a directive that goes on in the next line",
		"# 7 \"a.cu\"\nchar c = '\\n', d = 'ab\n": "a.cu:7: a literal without an end",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A line that a backslash joins to the next one is one line: what stands behind is no directive,
// and a comment goes on. (gcc -E leaves such lines in comments alone, with -C.)
func TestContinued(t *testing.T) {
	for text, want := range map[string]int{ // tokens
		"# 1 \"a.cu\"\nint \\\n a; // x \\\n int b;\nint c;\n":    6,
		"# 1 \"a.cu\"\nint a; // x \\\r\n int b; // \\\n\nint c;": 6,
		"# 1 \"a.cu\"\nint \\\r\n a; // x":                        3,
	} {
		u, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := len(u.tokens) - 1; got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
	if _, err := Parse([]byte("# 1 \"a.cu\"\nint a; \\\r\n# 2 \"b.cu\"\n")); err == nil {
		t.Error("a marker within a line is taken")
	}
}

// A kernel whose text has no markers cannot be given its lines back.
func TestNoMarkers(t *testing.T) {
	u,
		err := Parse(
		[]byte("__attribute__((global)) void k(int *a, int n) { for (int i = 0; i < n; i++) a[i] = 1; }"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = u.Rewrite("_Z1kPii", termsOf(t, "unroll=2"), nil)
	if err == nil || !strings.Contains(err.Error(), "no line markers") {
		t.Error(err)
	}
}

// Whatever comes in, nothing panics, and what comes out is read again and differs by insertions
// only.
func FuzzRewrite(f *testing.F) {
	for _, r := range rules(f) {
		f.Add(r.before, r.entry, r.recipe)
	}
	f.Fuzz(func(t *testing.T, text, entry, rec string) {
		u, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for _, k := range u.kernels() {
			if _, err := k.Values(nil); err != nil && k.NoSpec == "" && !strings.Contains(err.Error(),
				"left alone") {
				t.Fatal(err)
			}
			for _, terms := range [][]recipe.Term{{{Lever: "unroll", Value: "2"}},
				{{Lever: "spec", Value: "blockDim.x=8", Brace: true}}} {
				out, err := k.rewrite(terms, nil)
				if err != nil {
					continue
				}
				if _, err := Parse(out); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
		}
		r, err := recipe.Parse(rec)
		if err != nil {
			return
		}
		requests := []Request{{Entry: entry, Terms: r.Terms},
			{Entry: entry, Terms: []recipe.Term{{Lever: "spec", Value: "blockDim.x=8", Brace: true}}}}
		for _, f := range u.functions {
			requests = append(requests, Request{Entry: f.name,
				Terms: []recipe.Term{{Lever: "unroll", Value: "2"}}})
		}
		seen := map[int]bool{}
		for _, j := range u.Together(requests) {
			for _, i := range j.Requests {
				if seen[i] {
					t.Fatalf("request %d is in two texts", i)
				}
				seen[i] = true
			}
			if _, err := Parse(j.Text); err != nil {
				t.Fatalf("%v\n%s", err, j.Text)
			}
		}
		out, err := u.Rewrite(entry, r.Terms, nil)
		if err != nil {
			return
		}
		if _, err := Parse(out); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}
