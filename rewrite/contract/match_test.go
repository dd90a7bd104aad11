package contract

import (
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
)

// kernelOf is a module with a kernel of these statements, %f1 to %f4 loaded from x, and %f5 its
// argument.
func kernelOf(t *testing.T, body string) *ptx.Module {
	t.Helper()
	m, err := ptx.Parse([]byte(`.version 7.0
.target sm_80
.address_size 64
.file 1 "k.cu"

.visible .entry k(.param .u64 p, .param .f32 a, .param .u64 x)
{
	.reg .pred %p<2>;
	.reg .f32 %f<40>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<3>;
	.loc 1 1 0
	ld.param.u64 %rd1, [p];
	ld.param.u64 %rd2, [x];
	ld.param.f32 %f5, [a];
	ld.global.nc.f32 %f1, [%rd2];
	ld.global.nc.f32 %f2, [%rd2+4];
	ld.global.nc.f32 %f3, [%rd2+8];
	ld.global.nc.f32 %f4, [%rd2+12];
` + body + "\tst.global.f32 [%rd1], %f9;\n\tret;\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sumsOf are a kernel's sums, by the registers that they write.
func sumsOf(m *ptx.Module, list []Sum) map[string]int {
	out := map[string]int{}
	f := m.Entry("k")
	for _, s := range list {
		out[string(f.Bytes(f.Operands(s.Stmt, nil)[0]))] = s.With
	}
	return out
}

func ask(with int) func(*ptx.Func, int) int { return func(*ptx.Func, int) int { return with } }

// TestOwn: what cicc and ptxas did, told of the kernel without contraction.
func TestOwn(t *testing.T) {
	const strict = `	mul.rn.f32 %f6, %f1, %f2;
	mul.rn.f32 %f7, %f3, %f5;
	sub.rn.f32 %f8, %f6, %f7;
	add.rn.f32 %f9, %f8, %f4;
`
	s := kernelOf(t, strict)
	for _, c := range []struct {
		own   string
		ptxas int
		want  map[string]int
		err   bool
	}{
		{"\tmul.f32 %f6, %f3, %f5;\n\tneg.f32 %f7, %f6;\n\tfma.rn.f32 %f8, %f1, %f2, %f7;\n\tadd.f32 %f9, %f8, %f4;\n",
			Alone, map[string]int{"%f8": 0, "%f9": Alone}, false},
		{"\tmul.f32 %f6, %f1, %f2;\n\tneg.f32 %f7, %f3;\n\tfma.rn.f32 %f8, %f7, %f5, %f6;\n\tadd.f32 %f9, %f8, %f4;\n",
			Alone, map[string]int{"%f8": 1, "%f9": Alone}, false},
		{strings.ReplaceAll(strict, ".rn", ""), Unclear, map[string]int{"%f8": Unclear, "%f9": Unclear}, false},
		{strings.Replace(strict, "%f3, %f5", "%f3, %f4", 1), Alone, nil, true},
		{strings.Replace(strict, "add.rn", "sub.rn", 1), Alone, nil, true},
	} {
		got, err := Own(s, kernelOf(t, c.own), "k", ask(c.ptxas))
		if (err != nil) != c.err {
			t.Errorf("%s: %v", c.own, err)
			continue
		}
		for reg, with := range c.want {
			if is := sumsOf(s, got["k"])[reg]; is != with {
				t.Errorf("%s%s: %d, want %d", c.own, reg, is, with)
			}
		}
	}
}

// TestOwnHalf: what is contracted in half precision is not written, so that the kernel is refused.
func TestOwnHalf(t *testing.T) {
	const plain = "\tmul.f16 %h1, %h2, %h3;\n\tadd.f16 %h4, %h1, %h2;\n"
	const fused = "\tfma.rn.f16 %h4, %h2, %h3, %h2;\n"
	declared := "\t.reg .b16 %h<9>;\n"
	if _, err := Own(kernelOf(t, declared+plain), kernelOf(t, declared+fused), "k", ask(Alone)); err == nil {
		t.Error("half precision is contracted, and nobody sees it")
	}
	if _, err := Own(kernelOf(t, declared+plain), kernelOf(t, declared+plain), "k", ask(Alone)); err != nil {
		t.Error(err)
	}
}

// TestMatch: a variant's sums by the place and by what they are made of.
func TestMatch(t *testing.T) {
	const (
		kernel = `	.loc 1 2 3
	mul.rn.f32 %f6, %f1, %f5;
	add.rn.f32 %f8, %f6, %f2;
	.loc 1 3 3
	mul.rn.f32 %f7, %f3, %f4;
	add.rn.f32 %f9, %f7, %f8;
`
		folded = `	.loc 1 2 3
	add.rn.f32 %f8, %f2, 0f3f800000;
	.loc 1 3 3
	mul.rn.f32 %f7, %f3, %f4;
	add.rn.f32 %f9, %f7, %f8;
`
		factor = `	.loc 1 2 3
	add.rn.f32 %f8, %f1, %f2;
	.loc 1 3 3
	mul.rn.f32 %f7, %f3, %f4;
	add.rn.f32 %f9, %f7, %f8;
`
		twice = `	.loc 1 2 3
	add.rn.f32 %f6, %f1, %f1;
	add.rn.f32 %f8, %f6, %f2;
	.loc 1 3 3
	mul.rn.f32 %f7, %f3, %f4;
	add.rn.f32 %f9, %f7, %f8;
`
		elsewhere = `	.loc 1 4 3
	mul.rn.f32 %f6, %f1, %f5;
	add.rn.f32 %f9, %f6, %f2;
`
	)
	for _, c := range []struct {
		name, variant string
		contracted    int // which of the kernel's are, of both by the product
		known         bool
		want          map[string]int
		err           string
	}{
		{"the kernel itself", kernel, 2, false, map[string]int{"%f8": 0, "%f9": 0}, ""},
		{"one of two", kernel, 1, false, map[string]int{"%f8": 0}, ""},
		{"none", kernel, 0, false, map[string]int{}, ""},
		{"times 1", factor, 2, true, map[string]int{"%f9": 0}, ""},
		{"times 1, and no one knows it", factor, 2, false, nil, "not found|can't be told"},
		{"a product that is a number", folded, 2, true, nil, "not found"},
		{"times 2", twice, 2, true, nil, "can't be told"},
		{"times 2, alone", twice, 0, true, map[string]int{}, ""},
		{"a place that the kernel has not", elsewhere, 2, false, nil, "not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kernelOf(t, kernel)
			sums, err := Own(k, k, "k", ask(Alone))
			if err != nil {
				t.Fatal(err)
			}
			for n := range sums["k"] {
				if n < c.contracted {
					sums["k"][n].With = 0
				}
			}
			v := kernelOf(t, c.variant)
			got, err := Match(Kernel{k, "k", sums, func(_ *ptx.Func, _ int, operand string) bool {
				return c.known && operand == "%f5"
			}}, v)
			if c.err == "" != (err == nil) {
				t.Fatalf("%v, want %q", err, c.err)
			}
			if err != nil {
				one, other, _ := strings.Cut(c.err, "|")
				if !strings.Contains(err.Error(), one) && (other == "" || !strings.Contains(err.Error(), other)) {
					t.Errorf("%v, want %q", err, c.err)
				}
				return
			}
			is := sumsOf(v, got["k"])
			if len(is) != len(c.want) {
				t.Errorf("%v, want %v", is, c.want)
			}
			for reg, with := range c.want {
				if of, ok := is[reg]; !ok || of != with {
					t.Errorf("%s: %d, want %d", reg, of, with)
				}
			}
		})
	}
}

// TestPresent: what was computed is missed, also where another copy of it is there.
func TestPresent(t *testing.T) {
	const turn = `	.loc 1 2 3
	add.rn.f32 %f6, %f5, 0f3f800000;
	ex2.approx.f32 %f7, %f6;
	.loc 1 3 3
	mul.rn.f32 %f9, %f7, %f1;
`
	const computed = `	.loc 1 3 3
	mul.rn.f32 %f9, %f1, 0f40000000;
`
	known := func(_ *ptx.Func, _ int, operand string) bool {
		return operand == "%f5" || operand == "%f6" || operand == "%f7"
	}
	for _, c := range []struct {
		variant string
		ok      bool
	}{{turn, true}, {turn + turn, true}, {turn + computed, false}, {computed, false}} {
		k := Kernel{Module: kernelOf(t, turn), Entry: "k", Known: known}
		err := Present(k, kernelOf(t, c.variant), map[string]bool{"\"k.cu\":2:3": true})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.variant, err)
		}
	}
	k := Kernel{Module: kernelOf(t, turn), Entry: "k", Known: known}
	if Present(k, kernelOf(t, turn), map[string]bool{"\"k.cu\":7:3": true}) == nil {
		t.Error("nothing stands at a place, and it is not missed")
	}
	number := strings.Replace(turn, "%f7, %f6", "%f7, 0f3f000000", 1)
	if Begins(k, kernelOf(t, number)) == nil {
		t.Error("an approximate instruction of a number is not seen")
	}
	if err := Begins(k, kernelOf(t, turn+turn)); err != nil {
		t.Error(err)
	}
}
