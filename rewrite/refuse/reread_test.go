package refuse

import (
	"fmt"
	"testing"

	"gnvcc/rewrite/ptx"
)

// TestRereads: a kernel that stores where it loads through the read-only cache, by one parameter, is
// found; not so where the two are of different parameters, or the load is an ordinary one.
func TestRereads(t *testing.T) {
	const nc, plain = "ld.global.nc.f32", "ld.global.f32"
	for _, c := range []struct {
		load, from, to string
		want           bool
	}{
		{nc, "%rd3", "%rd4", true},  // both by the first parameter, at other indices
		{nc, "%rd3", "%rd5", false}, // the store by the second one
		{plain, "%rd3", "%rd4", false},
		{nc, "table", "table+4", true},
		{nc, "%rd6", "%rd4", false}, // an address that was loaded
	} {
		m, err := ptx.Parse([]byte(fmt.Sprintf(`.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 table[64];
.visible .entry k(.param .u64 k_0, .param .u64 k_1)
{
	.reg .b64 %%rd<9>; .reg .f32 %%f<4>; .reg .b32 %%r<4>;
	ld.param.u64 %%rd1, [k_0];
	ld.param.u64 %%rd2, [k_1];
	mov.u32 %%r1, %%tid.x;
	mul.wide.u32 %%rd7, %%r1, 4;
	add.s64 %%rd3, %%rd1, %%rd7;
	add.s64 %%rd4, %%rd3, 512;
	add.s64 %%rd5, %%rd2, %%rd7;
	ld.global.u64 %%rd6, [%%rd5];
	%s %%f1, [%s];
	st.global.f32 [%s], %%f1;
	ret;
}
`, c.load, c.from, c.to)))
		if err != nil {
			t.Fatal(err)
		}
		if got := Rereads(m, "k"); got != c.want {
			t.Errorf("%s from %s, stored to %s: %v", c.load, c.from, c.to, got)
		}
	}
}
