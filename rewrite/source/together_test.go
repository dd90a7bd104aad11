package source

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"gnvcc/rewrite/merge"
	"gnvcc/rewrite/ptx"
)

// Every kernel of a program with a recipe of its own: variants by cicc, shared arrays merged,
// entries put together, the whole by ptxas. Entries without a recipe stay as they were to the byte,
// and nobody has more shared memory than before.
func TestTogether(t *testing.T) {
	eachToolkit(t, func(t *testing.T, tk toolkit) {
		t.Parallel()
		flags := [][]string{{}, {"-rdc=true", "-lineinfo"}}
		if tk.version != "13.0" && tk.version != "GNVCC_NVCC" {
			flags = flags[1:]
		}
		for _, f := range flags {
			t.Run(strings.Join(f, " "), func(t *testing.T) { testTogether(t, tk, f) })
		}
	})
}

func testTogether(t *testing.T, tk toolkit, flags []string) {
	p, ii := prepare(t, tk, filepath.Join("testdata", "programs", "modules.cu"), flags...)
	u, plain, m := p.plain(t, ii)
	variants := map[string][]byte{}
	for _, e := range m.Entries() {
		r := "unroll=2 spec{n=3,blockDim.x=64}"
		switch {
		case strings.Contains(e.Name, "untouched"):
			continue
		case strings.Contains(e.Name, "secondIf"): // the other instantiation stays the default's
			r = "spec{n=3}"
		case strings.Contains(e.Name, "secondId"):
			continue
		case strings.Contains(e.Name, "third"):
			r = "unroll@sum.1=4 spec{n=3}"
		case strings.Contains(e.Name, "fourth"):
			r = "unroll=2"
		}
		terms := termsOf(t, r)
		text, err := u.Rewrite(e.Name, terms, Signature(e))
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.ptx(t, text)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		variants[e.Name] = v
	}
	if len(variants) != 4 {
		t.Fatalf("%d variants", len(variants))
	}
	out := assemble(t, plain, variants)
	if _, err := p.cubin(t, out); err != nil {
		t.Fatal(err)
	}
	m2, err := ptx.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Entries() {
		e2 := m2.Entry(e.Name)
		_, changed := variants[e.Name]
		if same := bytes.Equal(e.Text(), e2.Text()); same == changed {
			t.Errorf("%s is unchanged: %v", e.Name, same)
		}
		before, err := m.Traits(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		after, err := m2.Traits(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if before.SharedStatic != after.SharedStatic || before.SharedDynamic != after.SharedDynamic {
			t.Errorf("%s: %d bytes of shared memory, %d before", e.Name, after.SharedStatic,
				before.SharedStatic)
		}
	}
	if again := assemble(t, plain, variants); !bytes.Equal(out, again) {
		t.Error("not the same when repeated")
	}
	// Strings that printf gets are those of the source.
	for _, s := range []string{"hello %d %s\n", "other %d\n", "third %d\n", "untouched\n"} {
		var b []string
		for _, c := range []byte(s) {
			b = append(b, fmt.Sprint(c))
		}
		if !bytes.Contains(out, []byte(strings.Join(b, ", "))) {
			t.Errorf("string %q is gone", s)
		}
	}
}

// assemble puts entries into the default module as the driver does.
func assemble(t *testing.T, plain []byte, variants map[string][]byte) []byte {
	t.Helper()
	var list []merge.Variant
	for name, text := range variants {
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, merge.Variant{Entry: name, Module: m})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Entry < list[j].Entry })
	base, err := ptx.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	out, refused, err := merge.Into(base, list)
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	return out.Bytes()
}
