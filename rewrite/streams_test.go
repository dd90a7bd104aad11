package rewrite

import (
	"fmt"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

func TestStreams(t *testing.T) {
	const head = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 .ptr .align 1 a, .param .u64 .ptr .align 1 b, .param .align 8 .b8 s[16], .param .u32 n, .param .u64 m)\n{\n" +
		".reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n.reg .b32 %r<9>;\n.reg .pred %p<2>;\n" +
		"ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [s+8];\nld.param.u32 %r1, [n];\nld.param.u64 %rd4, [m];\ncvta.to.global.u64 %rd5, %rd1;\ncvta.to.global.u64 %rd6, %rd2;\n" +
		"mul.wide.s32 %rd7, %r1, 4;\nadd.s64 %rd8, %rd5, %rd7;\nadd.s64 %rd9, %rd6, %rd7;\nshl.b64 %rd15, %rd4, 2;\n"
	for _, c := range []struct {
		body string
		want []int
	}{
		{"ld.global.f32 %f1, [%rd8];\nld.global.f32 %f2, [%rd9+16];\nld.global.nc.f32 %f3, [%rd8+4];\n", []int{0, 1, 0}},
		{"ld.global.f32 %f1, [%rd9];\nld.global.f32 %f2, [%rd8];\n", []int{0, 1}},
		{"ld.global.f32 %f1, [%rd3];\nld.global.f32 %f2, [%rd8];\n", []int{0, 1}},                                                                                                                                 // a pointer in a structure
		{"add.s64 %rd10, %rd8, %rd15;\nld.global.f32 %f1, [%rd10];\nld.global.f32 %f2, [%rd8];\n", []int{0, 0}},                                                                                                   // a 64-bit index
		{"ld.global.u64 %rd10, [%rd8];\nld.global.f32 %f2, [%rd10];\n", []int{0, -1}},                                                                                                                             // a pointer from memory
		{"setp.eq.s32 %p1, %r1, 0;\nselp.b64 %rd10, %rd8, %rd9, %p1;\nld.global.f32 %f2, [%rd10];\n", []int{-1}},                                                                                                  // either
		{"mov.u64 %rd11, %rd8;\nL: ld.global.f32 %f1, [%rd11];\nadd.s64 %rd11, %rd11, 4;\nld.global.f32 %f2, [%rd9];\nbra L;\n", []int{0, 1}},                                                                     // moves along
		{"mad.lo.s64 %rd10, %rd4, 4, %rd6;\nld.global.f32 %f1, [%rd10];\nld.global.cs.f32 %f3, [%rd8];\nld.global.f32 %f2, [%rd9];\n", []int{0, 0}},                                                               // one has a policy already
		{"mov.u64 %rd11, %rd8;\nmov.u64 %rd12, %rd9;\nL: ld.global.f32 %f1, [%rd11];\nld.global.f32 %f2, [%rd12];\nmov.u64 %rd13, %rd11;\nmov.u64 %rd11, %rd12;\nmov.u64 %rd12, %rd13;\nbra L;\n", []int{-1, -1}}, // two that change places
		{"mov.u32 %r2, 1;\n", nil},
	} {
		m, err := ptx.Parse([]byte(head + c.body + "ret;\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := Streams(m.Entry("k")); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.body, got, c.want)
		}
	}
}

// TestStreamsReal: in what nvcc gives for a product of a matrix and a vector, unrolled or not,
// loads are told apart.
func TestStreamsReal(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		text := kit.PTX(t, "testdata/streams.cu", "-arch=sm_80")
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Entries() {
			seen := map[int]bool{}
			for _, n := range Streams(f) {
				seen[n] = true
			}
			if len(seen) != 2 || seen[-1] {
				t.Errorf("%s: %s: %v", kit.Version, f.Name, Streams(f))
			}
		}
	}
}
