package selection

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const (
	staticA = "__nv_static_25__a579f572_4_a_cu_745c4948__Z4axpyPfS_i"
	anonA   = "_ZN31_GLOBAL__N__51ec0c57_4_a_cu_cee4anonILi3EEEvPfPKfi"
	anonB   = "_ZN34_GLOBAL__N__4359a3b9_4_b_cu_waitsb4anonILi3EEEvPfPKfi"
)

// kernels are names as nvcc 13.0 makes them.
var kernels = []Kernel{
	{staticA, "0123456789abcdef0001", "/p/a.cu", "sm_90"},
	{anonA, "0123456789abcdef0002", "/p/a.cu", "sm_90"},
	{"_Z2tgILi3EEvPf", "0123456789abcdef0003", "/p/a.cu", "sm_90"},
	{"_Z2tgILi4EEvPf", "0123456789abcdef0004", "/p/a.cu", "sm_90"},
	{"_ZN2ns5innerEPfi", "0123456789abcdef0005", "/p/a.cu", "sm_90"},
	{"_Z4overPf", "0123456789abcdef0006", "/p/a.cu", "sm_90"},
	{"_Z4overPd", "0123456789abcdef0007", "/p/a.cu", "sm_90"},
	{"plain", "0123456789abcdef0008", "/p/a.cu", "sm_90"},
	{"_Z5plainPf", "0123456789abcdef0009", "/p/b.cu", "sm_90"},
	{"_Z9plain_oldPf", "fff3456789abcdef0009", "/p/b.cu", "sm_90"},
	{"_Z7withArgILc62ELi3EEvPf", "0123456789abcdef0010", "/p/c.cu", "sm_90"},
	{"_Z7apply_fIZ3runPfEUlfE_EvT_S0_", "0123456789abcdef0011", "/p/c.cu", "sm_90"},
}

func own(k Kernel) Kernel { return k }

// TestOf: a kernel is known by every name that gnvcc or the source has for it, and the nearest
// meaning counts: a part of a name means nothing where a whole one does.
func TestOf(t *testing.T) {
	for word, want := range map[string]string{
		"":                         "0001 0002 0003 0004 0005 0006 0007 0008 0009 0009 0010 0011",
		"axpy":                     "0001", // static, under -rdc
		staticA:                    "0001",
		"axpy(float*,float*, int)": "0001",
		"_Z4axpyPfS_i":             "0001", // as a part of the mangled name
		"anon<3>":                  "0002",
		anonB:                      "0002", // of another file, and alike
		"anon":                     "0002",
		"tg":                       "0003 0004", // all instances of a template
		"tg<4>":                    "0004",
		"ns::inner":                "0005",
		"inner":                    "0005",
		"over":                     "0006 0007",
		"over(float *)":            "0006",
		"over(double*)":            "0007",
		"plain":                    "0008 0009", // not plain_old
		"plain(float*)":            "0009",
		"pla":                      "0008 0009 0009",
		"^(over|inner)$":           "0006 0007", // inner's whole name is ns::inner
		"0123456789abcdef0005":     "0005",
		"fff34567":                 "0009",
		"fff3456":                  "",
		"nosuch":                   "",
		// as c++filt, cuobjdump and NVIDIA's profilers write them
		"(anonymous namespace)::anon<3>":          "0002",
		"void <unnamed>::anon<(int)3>":            "0002",
		"void tg<(int)3>":                         "0003",
		"void tg<3>(float*)":                      "0003",
		"ns::inner(float*, int)":                  "0005",
		"withArg<(char)62, (int)3>":               "0010",
		"withArg<62, 3>":                          "0010",
		"apply_f<run()::{lambda(float)#1}>":       "0011",
		"apply_f<run(float*)::{lambda(float)#1}>": "0011",
		"void apply_f<run(float*)::{lambda(float)#1}>(run(float*)::{lambda(float)#1}, " +
			"float*)": "0011",
		"cee4": "", // of the number that nvcc gives a file
		"_cu_": "",
	} {
		found, err := Of(word, kernels, own)
		var got []string
		for _, k := range found {
			got = append(got, k.Identity[16:])
		}
		if strings.Join(got, " ") != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", word, got, err, want)
		}
	}
}

// TestNone: what is no kernel's name is an error that names what it is like.
func TestNone(t *testing.T) {
	for word, want := range map[string][]string{
		"axyp":     {"axpy"},
		"AXPYY":    {"axpy"},
		"iner":     {"ns::inner"},
		"anonn<3>": {"anon<3>"},
		"overs":    {"over"},
		"zzzzz":    nil,
	} {
		_, err := Of(word, kernels, own)
		var none *None
		if !errors.As(err, &none) {
			t.Errorf("%s: %v", word, err)
			continue
		}
		if !slices.Equal(none.Near, want) || none.Known != len(kernels) ||
			!strings.HasPrefix(err.Error(), "no such kernel: "+word) {
			t.Errorf("%s: %+v, want %q", word, none, want)
		}
	}
	if _, err := Of("over(", kernels, own); err == nil || !strings.Contains(err.Error(),
		"missing closing") {
		t.Errorf("a broken expression: %v", err)
	}
}

// TestDistance: mistakes of one key each.
func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{{"tune", "tuen"}: 1, {"predict", "predcit"}: 1,
		{"ban", "bna"}: 1, {"pin", "pine"}: 1, {"pin", "pun"}: 1, {"ab", "ba"}: 1, {"", "abc"}: 3,
		{"tune", "ban"}: 3, {"same", "same"}: 0} {
		if got := Distance(pair[0], pair[1]); got != want || Distance(pair[1], pair[0]) != got {
			t.Errorf("%q: %d, want %d", pair, got, want)
		}
	}
}

// TestOne: who changes something names one kernel, which it may be for several targets and in
// builds that differ; code that is the same is one, too. All others are listed.
func TestOne(t *testing.T) {
	list := append(slices.Clone(kernels),
		Kernel{"_Z2tgILi3EEvPf", "0123456789abcdef000a", "/p/a.cu", "sm_80"},
		Kernel{"_Z5innerPfi", "0123456789abcdef0005", "/p/c.cu", "sm_90"},
		Kernel{"_Z5innerPfi", "0123456789abcdef000b", "/p/c.cu", "sm_80"})
	for _, c := range []struct {
		word  string
		all   bool
		found int
		lines []string
	}{
		{"tg<3>", false, 2, nil}, // two targets
		{"tg", false, 0, []string{"tg<3>(float*), in /p/a.cu, for sm_80, sm_90, identity 0123456789ab",
			"tg<4>(float*), in /p/a.cu, for sm_90"}},
		{"tg", true, 3, nil},
		{"over", false, 0, []string{"over(double*), in", "over(float*), in"}},
		{"over(float*)", false, 1, nil},
		{"inner", false, 2, nil},      // the whole name of one; that of the namespace is another
		{"(^|:)inner", false, 3, nil}, // the same code
		{"plain", false, 0, []string{"plain(float*), in /p/b.cu", "plain, in /p/a.cu"}},
	} {
		found, err := One(c.word, c.all, list, own)
		if len(found) != c.found {
			t.Errorf("%s: %v, %v", c.word, found, err)
		}
		var more *several
		if errors.As(err, &more) != (c.lines != nil) {
			t.Errorf("%s: %v", c.word, err)
			continue
		}
		for i, want := range c.lines {
			if len(more.Lines) != len(c.lines) || !strings.HasPrefix(more.Lines[i], want) {
				t.Errorf("%s: %q, want %q", c.word, more.Lines, c.lines)
				break
			}
		}
	}
}

// TestPattern: a name is that kernel's alone, also where others have it as a part of theirs; what
// names none is an expression, for kernels that are not known yet.
func TestPattern(t *testing.T) {
	for word, want := range map[string]string{
		"plain":         "plain _Z5plainPf",
		"over(float*)":  "_Z4overPf",
		"^plain":        "plain", // the two others' mangled names begin otherwise, their short ones do so
		"tg<3>":         "_Z2tgILi3EEvPf",
		"nobody(here)?": "",
	} {
		p, err := Pattern(word, kernels)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range kernels {
			if p.MatchString(k.Name) {
				got = append(got, k.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
	if p, err := Pattern("unseen", kernels); err != nil || !p.MatchString("_Z6unseenv") {
		t.Errorf("%v, %v", p, err)
	}
	if p, _ := Pattern("axpy", kernels); !p.MatchString("axpy") {
		t.Errorf("a static kernel of the next build: %v", p)
	}
	if _, err := Pattern("(", kernels); err == nil {
		t.Error("a broken expression")
	}
}

// TestLaunched: a program that nobody has run yet may have any of the kernels that a word names:
// another project's of just that name hides none.
func TestLaunched(t *testing.T) {
	for word, want := range map[string]string{"inner": "0005 0012", "ns::inner": "0005",
		"inn": "0005 0012", "over(double*)": "0007"} {
		p, err := Launched(word, append(slices.Clone(kernels), Kernel{"_Z5innerPd", // another project's
			"0123456789abcdef0012", "/q/a.cu", "sm_90"}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range append(slices.Clone(kernels), Kernel{Name: "_Z5innerPd",
			Identity: "0123456789abcdef0012"}) {
			if p.MatchString(k.Name) {
				got = append(got, k.Identity[16:])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
	if _, err := Launched("(", kernels); err == nil {
		t.Error("a broken expression")
	}
}
