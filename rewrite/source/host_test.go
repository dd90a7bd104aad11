package source

import (
	"fmt"
	"testing"

	"gnvcc/rewrite/recipe"
)

// The host's conditions are the guard's, on bytes.
func TestConditions(t *testing.T) {
	u, err := Parse([]byte(`# 1 "x.cu"
struct In { char c; short h; }; struct S { int n; double d; In in; };
__attribute__((global)) void k(float *p, S s, float f, bool b, unsigned char u, long long l) { *p = s.n + s.d + f + b + u + l; }
`))
	if err != nil {
		t.Fatal(err)
	}
	k, err := u.Kernel("_Z1kPf1Sfbhx")
	if err != nil {
		t.Fatal(err)
	}
	opt := []string{".u64", ".b8[24]", ".f32", ".u8", ".u8", ".u64"}
	got, err := k.Conditions(termsOf(t,
		"spec{align(p)=32,s.n=-2,s.d=1.5,s.in.h=258,f=-0,b=1,u=200,l=-1,blockDim.y=4,gridDim.x=100000,blockDim.z=2}")[0], opt)
	if err != nil {
		t.Fatal(err)
	}
	want :=
		"{[{0 0 [] 32} {1 0 [254 255 255 255] 0} {1 8 [0 0 0 0 0 0 248 63] 0} {1 18 [2 1] 0} {2 0 [0 0 0 128] 0} {3 0 [1] 0} {4 0 [200] 0} " +
			"{5 0 [255 255 255 255 255 255 255 255] 0}] [0 4 2] [100000 0 0] false 0}"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	for _, bad := range []string{"n=1", "s.n=1.5", "blockDim.x=0", "align(p)=3", "p=1",
		"host(block)=32x1", "host(block)=0x1x1", "host(dynamic)=-1",
		"host(dynamic)=0,host(dynamic)=1", "host(block)=32x1x1,blockDim.x=64"} {
		if _, err := k.Conditions(recipe.Term{Lever: "spec", Value: bad, Brace: true}, opt); err == nil {
			t.Errorf("%s: no refusal", bad)
		}
	}
}

// What the host alone looks at is no part of the copy, and a copy made for one block is never
// chosen for another.
func TestHostConditions(t *testing.T) {
	u,
		err := Parse(
		[]byte("# 1 \"x.cu\"\n__attribute__((global)) void k(float *p, int n) { p[n] = 1; }\n"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := u.Kernel("_Z1kPfi")
	if err != nil {
		t.Fatal(err)
	}
	opt := []string{".u64", ".u32"}
	for text, want := range map[string]string{
		"host(block)=64x2x1,host(dynamic)=1024":       "{[] [64 2 1] [0 0 0] true 1024}",
		"n=3,host(dynamic)=0":                         "{[{1 0 [3 0 0 0] 0}] [0 0 0] [0 0 0] true 0}",
		"host(block)=64x2x1,blockDim.y=2,gridDim.x=9": "{[] [64 2 1] [9 0 0] false 0}",
	} {
		got, err := k.Conditions(termsOf(t, "spec{"+text+"}")[0], opt)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v %v, want %s", text, got, err, want)
		}
	}
}

// What a launch has, as the tuner sees it, and what a recipe says, are the same value.
func TestValueText(t *testing.T) {
	u,
		err := Parse(
		[]byte(
			"# 1 \"x.cu\"\nenum E { e }; typedef long long T;\n__attribute__((global)) void k(char c, unsigned char u, short s, int i, unsigned n, T l, unsigned long long w, float f, double d, bool b, E e, int *p) { }\n"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := u.Kernel("_Z1kchsijxyfdb1EPi")
	if err != nil {
		t.Fatal(err)
	}
	values, err := k.Values([]string{".u8", ".u8", ".u16", ".u32", ".u32", ".u64", ".u64", ".f32",
		".f64", ".u8", ".u32", ".u64"})
	if err != nil {
		t.Fatal(err)
	}
	ff := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = 0xff
		}
		return b
	}
	for i, c := range []struct {
		bytes []byte
		want  string
	}{{ff(1), "-1"}, {ff(1), "255"}, {[]byte{0, 128}, "-32768"}, {ff(4), "-1"}, {ff(4), "4294967295"},
		{ff(8), "-1"}, {ff(8), "18446744073709551615"},
		{[]byte{0, 0, 0x20, 0xc0}, "-2.5"}, {[]byte{0, 0, 0, 0, 0, 0, 0, 0x80}, "-0"}, {[]byte{1}, "1"},
		{ff(4), "4294967295"}, {ff(8), ""}} {
		v := values[i]
		got, err := v.Text(c.bytes)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s %v: %q %v, want %q", v.Type, c.bytes, got, err, c.want)
			continue
		}
		if err != nil {
			continue
		}
		x, err := v.bits(got)
		if err != nil {
			t.Errorf("%s=%s: %v", v.Name, got, err)
		}
		for j := range c.bytes {
			if byte(x>>(8*j)) != c.bytes[j] {
				t.Errorf("%s=%s is %x, not %v", v.Name, got, x, c.bytes)
			}
		}
	}
	// infinity, subnormal, no bool, too short
	for i, b := range map[int][]byte{7: {0, 0, 0x80, 0x7f}, 8: {1, 0, 0, 0, 0, 0, 0, 0}, 9: {2},
		3: {1}} {
		if s, err := values[i].Text(b); err == nil {
			t.Errorf("%s %v: %s", values[i].Type, b, s)
		}
	}
}
