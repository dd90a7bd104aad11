package source

import (
	"strings"
	"testing"
	"time"

	"gnvcc/rewrite/recipe"
)

// TestHostile gives it texts that were made to cost time or stack. Each is answered within seconds,
// and nothing ends the process.
func TestHostile(t *testing.T) {
	const n = 10_000
	kernel := func(params, body string) string {
		return "# 1 \"x.cu\"\n__attribute__((global)) void k(" + params + ") { " + body + " }\n"
	}
	for what, text := range map[string]string{
		"angles": "# 1 \"x.cu\"\n" + strings.Repeat("a<", n) + "x" + strings.Repeat(">", n) +
			";",
		"angles in params": kernel("float *a, "+strings.Repeat("b<", n)+"int n", ""),
		"parentheses": kernel("float *a", "a[0] = "+strings.Repeat("(", n)+"1"+strings.Repeat(")",
			n)+";"),
		"braces": kernel("float *a", strings.Repeat("{", n)+strings.Repeat("}", n)),
		"open braces": "# 1 \"x.cu\"\n__attribute__((global)) void k(float *a) { " + strings.Repeat("{",
			n),
		"namespaces":   "# 1 \"x.cu\"\n" + strings.Repeat("namespace a{", n) + strings.Repeat("}", n),
		"classes":      "# 1 \"x.cu\"\n" + strings.Repeat("struct a{", n) + strings.Repeat("};", n),
		"lambdas":      kernel("float *a", strings.Repeat("[](){", n)+strings.Repeat("}", n)),
		"nested loops": kernel("float *a, int n", strings.Repeat("for(int i=0;i<n;i++) ", n)+"a[0]=1;"),
		"conditions":   kernel("float *a, int n", strings.Repeat("if(n) ", n)+"a[0]=1;"),
		"parameters":   kernel(strings.Repeat("int a, ", n)+"int n", ""),
	} {
		begun := time.Now()
		u, err := Parse([]byte(text))
		if err != nil {
			continue
		}
		for _, k := range u.kernels() {
			k.Values(nil)
			k.rewrite([]recipe.Term{{Lever: "unroll", Value: "2"}}, nil)
			k.rewrite([]recipe.Term{{Lever: "spec", Value: "blockDim.x=8", Brace: true}}, nil)
		}
		took := time.Since(begun)
		t.Logf("%s: %v", what, took)
		if took > 30*time.Second {
			t.Errorf("%s: %v", what, took)
		}
	}
	// A name is taken apart by a recursive parser.
	u, err := Parse([]byte(kernel("float *a", "")))
	if err != nil {
		t.Fatal(err)
	}
	for what, name := range map[string]string{
		"pointers": "_Z1k" + strings.Repeat("P", 3_000_000) + "f", "functions": "_Z1k" +
			strings.Repeat("PF", 1_000_000) + "v",
		"scopes": "_ZN" + strings.Repeat("1a", 1_000_000) + "E1kv", "arguments": "_Z1k" +
			strings.Repeat("I1aI", 1_000_000) + "vv",
	} {
		if _, err := u.Kernel(name); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: %.200v", what, err)
		}
	}
}
