package source

// Layouts against the compiler: random structs, each field of which layout tells must be what cicc
// says. By default some hundred structs; GNVCC_FUZZ=SECONDS goes on for that long, GNVCC_SEED=N
// repeats a run.

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
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

// A structs makes random structs.
type structs struct {
	*rand.Rand
	known []string // those that fields may have
	n     int
}

func (g *structs) pick(list ...string) string { return list[g.Intn(len(list))] }

var plainTypes = []string{"int", "unsigned", "unsigned int", "long", "unsigned long", "long long",
	"short", "unsigned short int", "char", "signed char",
	"unsigned char", "bool", "float", "double", "int", "float", "size_t", "uint32_t", "int64_t",
	"wchar_t", "char16_t", "const int", "int const",
	"word", "half_word", "real", "real_pointer", "float2", "float3", "float4", "int2", "uchar4",
	"double2", "double3", "short3", "ushort4", "longlong2", "dim3", "char1", "uint3", "double4",
	"longlong4"}
var oddTypes = []string{"long double", "__int128", "unsigned __int128", "decltype(nullptr)", "E",
	"F", "enum E", "unsigned _BitInt", "volatile int",
	"T1<int>", "T1<double>", "auto_t", "ns::inner", "U", "Empty", "long unsigned int", "struct Plain",
	"const struct Plain", "Packed", "Aligned", "Behind"}

func (g *structs) typ() string {
	switch g.Intn(24) {
	case 0:
		return g.pick(oddTypes...)
	case 1, 2, 3, 4:
		if len(g.known) > 0 {
			return g.pick(g.known...)
		}
	}
	return g.pick(plainTypes...)
}

func (g *structs) start() string {
	return g.pick("", "", "", " = 3", " = (1 + 2)", " = int(4)", " = sizeof(long)", " = (int)7",
		" = 1 < 2", " = true ? 1 : 2", "{3}", "{}")
}

// field is one member: mostly a field.
func (g *structs) field(class string) string {
	name := fmt.Sprintf("m%d", g.n)
	other := fmt.Sprintf("o%d", g.n)
	g.n++
	n := g.Intn(140)
	switch n {
	case 0:
		return fmt.Sprintf("int %s, %s%s;", name, other, g.start())
	case 1:
		return fmt.Sprintf("%s %s[%s];", g.typ(), name, g.pick("1", "2", "3", "7", "2][3", "sizeof(int)",
			"0x2", "1 + 1", "4u"))
	case 2:
		return fmt.Sprintf("%s *%s;", g.typ(), name)
	case 3:
		return fmt.Sprintf("%s *const *%s, *%s;", g.pick(plainTypes[:8]...), name, other)
	case 4:
		return fmt.Sprintf("void (*%s)(int);", name)
	case 5:
		return fmt.Sprintf("%s (*%s)(%s, float)%s;", g.pick("int", "float", "word", "const real",
			"void *"), name, g.typ(), g.pick("", " = 0", " = nullptr"))
	case 6:
		return fmt.Sprintf("%s (%s);", g.pick("int", "word", "const word", "unsigned short", "real"),
			name)
	case 7:
		return fmt.Sprintf("int (*%s)[3];", name)
	case 8:
		return fmt.Sprintf("int %s : %d;", name, g.Intn(9)+1)
	case 9:
		return fmt.Sprintf("__attribute__((aligned(%s))) %s %s;", g.pick("2", "8", "16", "32"), g.typ(),
			name)
	case 10:
		return fmt.Sprintf("%s %s __attribute__((%s));", g.typ(), name, g.pick("aligned(8)", "packed",
			"aligned(16)", "aligned"))
	case 11:
		return fmt.Sprintf("alignas(%s) %s %s;", g.pick("8", "16", "double", "float4"),
			g.pick("int", "char", "double"), name)
	case 12:
		return fmt.Sprintf("int f%s(int x) const { return x + (3); }", name)
	case 13:
		return fmt.Sprintf("__attribute__((device)) %s f%s();", g.pick("void", "int", "word",
			"unsigned long", "const real &", "static int"), name)
	case 14:
		return fmt.Sprintf("static const int %s = 3;", name)
	case 15:
		return fmt.Sprintf("static constexpr int %s[2] = {1, 2};", name)
	}
	if s := g.member(n, class, name, other); s != "" {
		return s
	}
	return fmt.Sprintf("%s %s%s;", g.typ(), name, g.pick("", "", "", g.start()))
}

// member is what else may stand in a class: types, declarations that are easily misread, and no
// fields.
func (g *structs) member(n int, class, name, other string) string {
	switch n {
	case 16:
		return g.pick("public:", "private:", "protected:", "public:", "public:", ";")
	case 17:
		return fmt.Sprintf("union { int %s; double %s; };", name, other)
	case 18:
		return fmt.Sprintf("struct { int %s; char %s; };", name, other)
	case 19:
		return fmt.Sprintf("struct I%s { int a; double b; } %s;", name, name)
	case 20:
		return fmt.Sprintf("enum E%s { A%s, B%s };", name, name, name)
	case 21:
		return fmt.Sprintf("enum E%s : %s { A%s } %s;", name, g.pick("char", "long"), name, name)
	case 22:
		return fmt.Sprintf("typedef short t%s; t%s %s;", name, name, name)
	case 23:
		return fmt.Sprintf("typedef short word; word %s;", name)
	case 24:
		return fmt.Sprintf("using u%s = double; u%s %s[2];", name, name, name)
	case 25:
		return fmt.Sprintf("int Plain::*%s;", name)
	case 26:
		return fmt.Sprintf("int (Plain::*%s)(int);", name)
	case 27:
		return fmt.Sprintf("%s &%s;", g.typ(), name)
	case 28:
		return fmt.Sprintf("[[maybe_unused]] int %s;", name)
	case 29:
		return fmt.Sprintf("int %s = [](int x) { return x; }(3), %s;", name, other)
	case 30:
		return fmt.Sprintf("[[no_unique_address]] Empty %s;", name)
	case 31:
		return fmt.Sprintf("int %s, f%s(int), %s;", name, name, other)
	case 32:
		return fmt.Sprintf("bool operator<(const %s &) const; %s &operator=(const %s &) = default;",
			class, class, class)
	case 33:
		return fmt.Sprintf("struct Plain %s; const struct Plain *%s;", name, other)
	case 34:
		return g.pick("virtual void v"+name+"();", "mutable int "+name+";", "volatile int "+name+";",
			"friend struct Plain;", "static_assert(sizeof(int) == 4, \"(\");")
	case 35:
		return fmt.Sprintf("%s %s, *%s, %s[2];", g.pick("int", "word", "float4", "Plain", "double"), name,
			other, other+"a")
	}
	return ""
}

// one is a struct's text.
func (g *structs) one(i int) (name, text string) {
	name = fmt.Sprintf("S%d", i)
	var b strings.Builder
	n := g.Intn(6) + 1
	var body strings.Builder
	for range n {
		body.WriteString(" " + g.field(name) + g.pick("", "", "\n"))
	}
	inner := strings.TrimRight(body.String(), "\n")
	inner = strings.ReplaceAll(inner, "\n", " ")
	switch g.Intn(36) {
	case 0:
		fmt.Fprintf(&b, "struct __attribute__((packed)) %s {%s };", name, inner)
	case 1:
		fmt.Fprintf(&b, "struct %s {%s } __attribute__((%s));", name, inner,
			g.pick("packed", "aligned(16)", "aligned(32), packed", "__packed__"))
	case 2:
		fmt.Fprintf(&b, "struct alignas(16) %s {%s };", name, inner)
	case 3:
		fmt.Fprintf(&b, "struct %s : %s {%s };", name, g.pick("Empty", "Plain", "virtual Plain",
			"private Empty", "Empty, Plain", "T1<int>"), inner)
	case 4:
		fmt.Fprintf(&b, "typedef struct {%s } %s%s;", inner, name, g.pick("", ", *P"+name))
	case 5:
		fmt.Fprintf(&b, "typedef struct tag%s {%s } %s %s;", name, inner,
			g.pick("", "__attribute__((packed))"), name)
	case 6:
		fmt.Fprintf(&b, "typedef struct tag%s {%s } %s __attribute__((aligned(32)));", name, inner, name)
	case 7:
		fmt.Fprintf(&b, "class %s { public:%s };", name, inner)
	case 8:
		fmt.Fprintf(&b, "struct %s final {%s };", name, inner)
	case 9:
		fmt.Fprintf(&b, "union %s {%s };", name, inner)
	case 10:
		fmt.Fprintf(&b, "struct %s {%s %s() {} explicit %s(int); };", name, inner, name, name)
	case 11:
		fmt.Fprintf(&b, "struct %s {%s } __attribute__((packed)) v%s;", name, inner, name)
	default:
		fmt.Fprintf(&b, "struct %s {%s };", name, inner)
	}
	return name, b.String()
}

const structPrelude = `typedef unsigned int word; typedef word half_word; typedef float real; typedef real *real_pointer; enum E { EA }; enum class F : short { FA };
struct Plain { char c; int n; }; struct Empty { }; struct Packed { char c; int n; } __attribute__((packed)); struct __attribute__((aligned(32))) Aligned { int n; };
struct Behind { char c; double d; } __attribute__((packed, aligned(2))); union U { int a; char b[3]; }; template <class T> struct T1 { char c; T t; };
namespace ns { struct inner { short a; long b; }; } typedef decltype(3.0f) auto_t;
`

var errorLine = regexp.MustCompile(`(?m)^s\.cu\((\d+)\): (?:error|catastrophic error)`)

// compiled gives the lines of s.cu that the front end refuses.
func (p *program) compiled(text []byte) map[int]bool {
	in := filepath.Join(p.dir, "fuzz.ii")
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return nil
	}
	out, _ := p.output(p.cicc, in, filepath.Join(p.dir, "fuzz.ptx"))
	bad := map[int]bool{}
	for _, m := range errorLine.FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(m[1])
		bad[n] = true
	}
	return bad
}

func TestFuzzLayouts(t *testing.T) {
	limit, random := fuzzing(t)
	empty := filepath.Join(t.TempDir(), "e.cu")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, head := prepare(t, newest(t), empty)
	total, found, fields := 0, 0, 0
	for begin := time.Now(); ; {
		a, b, c := fuzzLayouts(t, p, head, random, 600)
		total, found, fields = total+a, found+b, fields+c
		if time.Since(begin) >= limit || t.Failed() {
			break
		}
	}
	fmt.Printf("%d structs that compile, %d layouts found, %d fields: wrong: %v\n", total, found, fields, t.Failed())
	if found*10 < total {
		t.Errorf("only %d of %d layouts are found", found, total)
	}
}

// fuzzLayouts is a round: first the structs that the compiler takes, then what layout says of them.
func fuzzLayouts(t *testing.T, p *program, head []byte, random *rand.Rand, n int) (total, found,
	fields int) {
	g := &structs{Rand: random, known: []string{"Plain", "Packed", "Behind"}}
	names, texts := make([]string, n), make([]string, n)
	for i := range n {
		names[i], texts[i] = g.one(i)
		g.known = append(g.known, names[i])
	}
	render := func(with func(i int) string) []byte {
		var b bytes.Buffer
		b.Write(head)
		b.WriteString("\n# 1000000 \"s.cu\"\n" + structPrelude)
		for i := range n {
			fmt.Fprintf(&b, "# %d \"s.cu\"\n%s\n", i+1, strings.ReplaceAll(texts[i], "\n", fmt.Sprintf("\n# %d \"s.cu\"\n", i+1)))
			b.WriteString(with(i))
		}
		return b.Bytes()
	}
	none := func(int) string { return "" }
	for range 40 { // EDG ends at 100 errors
		bad := p.compiled(render(none))
		if len(bad) == 0 {
			break
		}
		for line := range bad {
			if line > n {
				t.Fatalf("the structs' prelude is refused")
			}
			texts[line-1] = ""
		}
	}
	if u, err := Parse(append(render(none), "\n#pragma pack(push, 1)\n"...)); err != nil {
		t.Fatal(err)
	} else if _, _, _, ok := u.layout("Plain", 0); ok {
		t.Error("a layout beside a pack pragma")
	}
	u, err := Parse(render(none))
	if err != nil {
		t.Fatal(err)
	}
	asserts := make([]string, n)
	for i := range n {
		if texts[i] == "" {
			continue
		}
		total++
		list, size, _, ok := u.layout(names[i], 0)
		if !ok {
			continue
		}
		found++
		fields += len(list)
		for j, f := range list {
			v := Value{Name: "x." + f.path, Offset: f.offset, Bits: f.scalar.bits, Class: f.scalar.class, field: true, text: true, whole: size}
			judge := v.judge()
			if f.scalar.class == Pointer {
				judge = fmt.Sprintf("sizeof(x) == %d && __builtin_offsetof(%s, %s) == %d", size, names[i], f.path, f.offset)
			}
			asserts[i] += fmt.Sprintf("# %d \"s.cu\"\n__attribute__((device)) void judge%d_%d(%s x) { typedef char j[%s ? 1 : -1]; }\n", i+1, i, j, names[i], judge)
		}
	}
	for line := range p.compiled(render(func(i int) string { return asserts[i] })) {
		t.Errorf("a layout is wrong:\n%s\n%s", texts[line-1], asserts[line-1])
	}
	return total, found, fields
}

// TestJudge: a text in which a layout is believed that is none must be refused by the compiler.
func TestJudge(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "e.cu")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eachToolkit(t, func(t *testing.T, tk toolkit) {
		for _, dialect := range []string{"c++17", "c++14"} { // c++03 has no such constants: there no field is specialised
			p, head := prepare(t, tk, empty, "-std="+dialect)
			good := Value{Name: "s.n", Offset: 4, Bits: 32, Class: Integer, field: true, text: true, whole: 16}
			judge := func(v Value) bool {
				text := fmt.Sprintf("%s\n# 1 \"s.cu\"\nstruct S { char c; int n; double d; }; __attribute__((global)) void k(const S s, float f) { typedef char j[%s ? 1 : -1]; }\n", head, v.judge())
				return len(p.compiled([]byte(text))) == 0
			}
			if !judge(good) {
				t.Errorf("%s: the right layout is refused", dialect)
			}
			for name, change := range map[string]func(v *Value){
				"offset": func(v *Value) { v.Offset = 1 }, "size": func(v *Value) { v.whole = 13 }, "width": func(v *Value) { v.Bits = 16 },
				"class": func(v *Value) { v.Class = Float }, "field": func(v *Value) { v.Name = "s.d" }, "parameter": func(v *Value) { v.Name, v.field = "f", false },
			} {
				v := good
				change(&v)
				if judge(v) {
					t.Errorf("%s: another %s is taken", dialect, name)
				}
			}
		}
	})
}
