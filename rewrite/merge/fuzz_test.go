package merge

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"gnvcc/rewrite/ptx"
)

// Two small modules as cicc writes them: a kernel, a device function, a constant.
const fuzzBase = `.version 9.0
.target sm_80
.address_size 64

.global .align 1 .b8 $str[3] = {104, 105, 0};
.func  (.param .b32 r) _Z4polyf(
	.param .b32 _Z4polyf_param_0
)
{
	.reg .b32 	%f<3>;
	ld.param.f32 	%f1, [_Z4polyf_param_0];
	add.f32 	%f2, %f1, %f1;
	st.param.f32 	[r], %f2;
	ret;
}
.visible .entry _Z1kPfi(
	.param .u64 _Z1kPfi_param_0,
	.param .u32 _Z1kPfi_param_1
)
{
	.reg .b32 	%f<3>;
	.reg .b64 	%rd<3>;
	ld.param.u64 	%rd1, [_Z1kPfi_param_0];
	mov.u64 	%rd2, $str;
	ret;

}
.visible .entry _Z1gv()
{
	ret;

}
`

// FuzzInto merges hostile modules. What comes out can be parsed, has all kernels of the default
// module, and those that no variant is for have their own text.
func FuzzInto(f *testing.F) {
	f.Add([]byte(fuzzBase), []byte(fuzzBase), "_Z1kPfi", "")
	f.Add([]byte(fuzzBase), bytes.ReplaceAll([]byte(fuzzBase), []byte("104"), []byte("105")),
		"_Z1kPfi", "second")
	f.Add([]byte(fuzzBase), bytes.ReplaceAll([]byte(fuzzBase), []byte("add.f32"), []byte("mul.f32")),
		"_Z1gv", "")
	if odd, err := os.ReadFile(filepath.Join("..", "ptx", "testdata", "odd.ptx")); err == nil {
		f.Add(odd, odd, "odd", "second")
	}
	f.Fuzz(func(t *testing.T, base, variant []byte, entry, second string) {
		if len(base)+len(variant) > 1<<16 {
			return
		}
		old, err := ptx.Parse(base)
		if err != nil {
			return
		}
		for i, e := range old.Entries() {
			if i == 0 && entry == "" {
				entry = e.Name
			}
		}
		from, err := ptx.Parse(variant)
		if err != nil {
			return
		}
		m, refused, err := Into(old, []Variant{{Entry: entry, Second: second, Module: from}})
		if err != nil {
			return
		}
		if len(refused) > 0 {
			if m != old {
				t.Fatalf("refused (%v), and yet changed", refused)
			}
			return
		}
		out := m.Bytes()
		for _, e := range old.Entries() {
			now := m.Entry(e.Name)
			if now == nil {
				t.Fatalf("kernel %s is gone\n%s", e.Name, out)
			}
			if (e.Name != entry || second != "") && !bytes.Equal(now.Text(), e.Text()) {
				t.Fatalf("kernel %s, which was not asked for, has changed\n%s", e.Name, out)
			}
		}
	})
}
