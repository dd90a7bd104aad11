package source

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// module writes a PTX module whose entry has these shared arrays, "name size", and touches each.
// mergeShared is MergeShared on texts.
func mergeShared(u *Unit, entry string, terms []recipe.Term, standard,
	variant []byte) ([]byte, error) {
	dm, err := ptx.Parse(standard)
	if err != nil {
		return nil, err
	}
	vm, err := ptx.Parse(variant)
	if err != nil {
		return nil, err
	}
	out, err := u.MergeShared(entry, terms, dm, vm)
	if err != nil {
		return nil, err
	}
	if string(dm.Bytes()) != string(standard) || string(vm.Bytes()) != string(variant) {
		return nil, fmt.Errorf("a module that was given has changed")
	}
	return out.Bytes(), nil
}

func sharedModule(arrays ...string) []byte {
	var decl, body strings.Builder
	for _, a := range arrays {
		name, size, _ := strings.Cut(a, " ")
		fmt.Fprintf(&decl, "\t// demoted variable\n\t.shared .align 4 .b8 %s[%s];\n", name, size)
		fmt.Fprintf(&body, "\tmov.u32 \t%%r1, %s;\n\tst.shared.u32 \t[%s+4], %%r1;\n", name, name)
	}
	return []byte(
		".version 9.0\n.target sm_90\n.address_size 64\n\n.visible .entry _Z1kPfi(\n\t.param .u64 _Z1kPfi_param_0,\n\t.param .u32 _Z1kPfi_param_1\n)\n{\n\t.reg .b32 \t%r<4>;\n" +
			decl.String() + "\n" + body.String() + "\tret;\n\n}\n")
}

func TestMergeShared(t *testing.T) {
	const s = "_ZZ1kPfiE3buf"
	two :=
		`{ __attribute__((shared)) float buf[8]; buf[0] = n; } { __attribute__((shared)) float buf[4]; buf[0] = n; }`
	one := `__attribute__((shared)) float buf[8]; buf[0] = n;`
	maybe :=
		`if constexpr (sizeof(int) == 4) { __attribute__((shared)) float buf[8]; buf[0] = n; } else { __attribute__((shared)) float buf[9]; buf[0] = n; }`
	for _, c := range []struct {
		what, body, spec string
		before, after    []string
		want             string // the arrays that are left, or the refusal's words
	}{
		{"two arrays of one name, two copies", two, "spec{n=1}", []string{s + " 32", s + "_0 16"},
			[]string{s + " 32", s + "_0 16", s + "_1 32", s + "_2 16"}, s + " 32 " + s + "_0 16"},
		{"one array, four copies", one, "spec{n=1} spec{n=2} spec{n=3}", []string{s + " 32"},
			[]string{s + " 32", s + "_0 32", s + "_1 32", s + "_2 32"}, s + " 32"},
		{"the specialised copy needs no array", one, "spec{n=1}", []string{s + " 32"},
			[]string{s + "_0 32"}, s + " 32"},
		{"one of two arrays is dead everywhere", two, "spec{n=1}", []string{s + "_0 16"},
			[]string{s + "_0 16", s + "_2 16"}, s + "_0 16"},
		{"a branch that is not there", maybe, "spec{n=1}", []string{s + " 32"},
			[]string{s + " 32", s + "_0 32"}, s + " 32"},
		{"an array of a device function", one, "spec{n=1}", []string{s + " 32", "_ZZ3redfE1s 64"},
			[]string{s + " 32", s + "_0 32", "_ZZ3redfE1s 64"}, s + " 32 _ZZ3redfE1s 64"},
		{"no arrays", "*a = n;", "spec{n=1}", nil, nil, ""},
		{"no copies", one, "unroll=2", []string{s + " 32"}, []string{s + " 32"}, s + " 32"},
		{"another size", one, "spec{n=1}", []string{s + " 32"}, []string{s + " 32", s + "_0 36"},
			"no counterpart"},
		{"the plain copy lost its array", one, "spec{n=1}", []string{s + " 32"}, []string{s + " 32"},
			"not come out even"},
		{"an array too many", one, "spec{n=1}", []string{s + " 32"}, []string{s + " 32", s + "_0 32",
			s + "_1 32"}, "not as many as the source declares"},
		{"three copies, one array missing at the end", one, "spec{n=1} spec{n=2}", []string{s + " 32"},
			[]string{s + " 32", s + "_0 32"}, "not come out even"},
		{"the plain copy has one of two", two, "spec{n=1}", []string{s + " 32", s + "_0 16"},
			[]string{s + " 32", s + "_0 16", s + "_2 16"}, "other shared arrays"},
		{"a name that is not read", one, "spec{n=1}", []string{s + " 32"},
			[]string{s + " 32", s + "$x 32"}, "is not read"},
		{"an array that the default has not", one, "spec{n=1}", []string{s + " 32"},
			[]string{s + " 32", s + "_0 32", "_ZZ1kPfiE3new 4"}, "the default has not"},
		{"all arrays lost", one, "spec{n=1}", []string{s + " 32"}, nil, "has lost its shared array"},
	} {
		t.Run(c.what, func(t *testing.T) {
			u,
				err := Parse(
				[]byte(
					"# 1 \"x.cu\"\n__attribute__((global)) void k(float *a, int n) { for (int i = 0; i < n; i++) a[i] = 1; " + c.body + " }\n"))
			if err != nil {
				t.Fatal(err)
			}
			out, err := mergeShared(u, "_Z1kPfi", termsOf(t, c.spec), sharedModule(c.before...),
				sharedModule(c.after...))
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || c.want == "" || strings.HasPrefix(c.want, "_ZZ") {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			m, err := ptx.Parse(out)
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			e := m.Entry("_Z1kPfi")
			for i, st := range e.Stmts {
				if st.Kind == ptx.Decl && string(e.Opcode(i)) == ".shared" {
					vars, err := e.Declared(i)
					if err != nil {
						t.Fatal(err)
					}
					left = append(left, fmt.Sprint(vars[0].Name, " ", vars[0].Size()))
				}
			}
			if got := strings.Join(left, " "); got != c.want {
				t.Errorf("%s is left, want %s", got, c.want)
			}
			for _, a := range c.after { // nothing speaks of an array that is gone
				name, _, _ := strings.Cut(a, " ")
				if !strings.Contains(c.want+" ", name+" ") && strings.Contains(string(out), name+"+4") {
					t.Errorf("%s is still used", name)
				}
			}
		})
	}
}

func TestDiscriminator(t *testing.T) {
	for s, want := range map[string]int{"": 0, "_0": 1, "_9": 10, "__10_": 11, "__123_": 124,
		"_10": -1, "__9_": -1, "_x": -1, "$1": -1, "__10": -1} {
		n, ok := discriminator(s)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%q: %d, want %d", s, n, want)
		}
	}
}
