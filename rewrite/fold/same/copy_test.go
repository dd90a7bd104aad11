package same

import (
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
)

// copyText adds two products of what is loaded by an index, in a loop that n ends, and writes it
// with a second index.
const copyText = `.version 7.0
.target sm_80
.address_size 64

.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2)
{
	.reg .pred %p<4>;
	.reg .f32 %f<20>;
	.reg .f64 %fd<2>;
	.reg .b32 %r<20>;
	.reg .b64 %rd<20>;
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u64 %rd2, [k_param_1];
	ld.param.u32 %r1, [k_param_2];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	mov.u32 %r12, %ctaid.y;
	mov.u32 %r13, %ntid.y;
	mad.lo.s32 %r6, %r12, %r13, %r4;
	mul.wide.s32 %rd3, %r5, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	mov.f32 %f9, 0f00000000;
	mov.u32 %r7, 0;
L:
	ld.global.nc.f32 %f1, [%rd4];
	ld.global.nc.f32 %f2, [%rd4+4];
	ld.global.nc.f32 %f3, [%rd5];
	ld.global.nc.f32 %f4, [%rd5+4];
	mul.f32 %f5, %f3, %f4;
	fma.rn.f32 %f6, %f1, %f2, %f5;
	cvt.rn.f32.s32 %f7, %r7;
	fma.rn.f32 %f9, %f6, %f7, %f9;
	add.s32 %r7, %r7, 1;
	setp.lt.s32 %p1, %r7, %r1;
	@%p1 bra L;
	setp.gt.f32 %p2, %f9, 0f3F000000;
	@%p2 bra E;
	mul.f32 %f9, %f9, 0f3F000000;
E:
	mul.wide.s32 %rd6, %r6, 4;
	add.s64 %rd7, %rd2, %rd6;
	st.global.f32 [%rd7], %f9;
	ret;
}
`

// TestCopies: a variant with other arithmetic on integers is a copy; not where a value may be
// another one.
func TestCopies(t *testing.T) {
	const block = "mad.lo.s32 %r5, %r2, %r3, %r4;|shl.b32 %r9, %r2, 8;\n add.s32 %r5, %r9, %r4;"
	const both = block + "|mad.lo.s32 %r6, %r12, %r13, %r4;|shl.b32 %r10, %r12, 3;\n" +
		" add.s32 %r6, %r10, %r4;"
	// loads are for whenever they are asked, as nobody writes what they read
	const first, last = "ld.global.nc.f32 %f1, [%rd4];", "ld.global.nc.f32 %f4, [%rd5+4];"
	const inOne = first + "|ld.global.nc.v2.f32 {%f1, %f2}, [%rd4];|ld.global.nc.f32 %f2, [%rd4+4];|"
	for name, c := range map[string]struct {
		edits string // pairs of what is replaced, and by what
		want  bool
	}{
		"itself":          {"", true},
		"block":           {block, true},
		"both sizes":      {both, true},
		"two of the same": {strings.ReplaceAll(both, "%r12", "%r2"), false},
		"number":          {block + "|0f3F000000;|0f3F000001;", false},
		"other number":    {block + "|mov.u32 %r7, 0;|mov.u32 %r7, 1;", false},
		"other step":      {block + "|%r7, %r7, 1;|%r7, %r7, 2;", false},
		"exchanged": {block + "|%f5, %f3, %f4|%f5, %f1, %f2|%f6, %f1, %f2, %f5|%f6, %f3, %f4, %f5",
			false},
		"exchanged with the loads": {block + "|%f1, [%rd4]|%f1, [%rd5]|%f2, [%rd4+4]|%f2, [%rd5+4]|" +
			"%f3, [%rd5]|%f3, [%rd4]|%f4, [%rd5+4]|%f4, [%rd4+4]", false},
		"offset":            {block + "|[%rd5+4]|[%rd5+8]", false},
		"contracted":        {block + "|fma.rn.f32 %f6, %f1, %f2, %f5;|add.f32 %f6, %f1, %f5;", false},
		"rounded":           {block + "|mul.f32 %f5|mul.rn.f32 %f5", false},
		"sooner":            {block + "|%f9, %f6, %f7, %f9|%f9, %f6, %f7, %f5", false},
		"branch":            {block + "|@%p2 bra E|@!%p2 bra E", false},
		"one instruction":   {block + "|cvt.rn.f32.s32 %f7, %r7;|mov.f32 %f7, 0f3F800000;", false},
		"another register":  {block + "|mov.u32 %r4, %tid.x|mov.u32 %r4, %tid.z", false},
		"factors exchanged": {block + "|%f5, %f3, %f4|%f5, %f4, %f3|%f6, %f1, %f2|%f6, %f2, %f1", true},
		"addends exchanged": {"fma.rn.f32 %f9, %f6, %f7, %f9|fma.rn.f32 %f9, %f6, %f9, %f7", false},
		"two in one":        {inOne, true},
		"other of the two":  {strings.Replace(inOne, "}, [%rd4]", "}, [%rd5]", 1), false},
		"handed on":         {first + "|ld.global.nc.f32 %f10, [%rd4];\n mov.f32 %f1, %f10;", true},
		"handed on late":    {first + "|mov.f32 %f1, %f10;\n ld.global.nc.f32 %f10, [%rd4];", false},
		"read before it is handed on": {first + "|ld.global.nc.f32 %f10, [%rd4];" +
			"|cvt.rn.f32.s32|mov.f32 %f1, %f10;\n cvt.rn.f32.s32", false},
		"later":  {first + "||fma.rn.f32 %f6|" + first + "\nfma.rn.f32 %f6", true},
		"unused": {first + "|ld.global.nc.f32 %f11, [%rd5];\n " + first, true},
		"other size": {first + "|ld.global.nc.f64 %fd1, [%rd4];\n cvt.rn.f32.f64 %f1, %fd1;",
			false},
		"beside a store":           {last + "||mul.f32 %f5|" + last + "\nmul.f32 %f5", true},
		"in front of a store":      {last + "||" + first + "|" + last + first, true},
		"into a loop with a store": {last + "||L:|" + last + "\nL:", false},
		"of the turn before": {last + "||add.s64 %rd5, %rd5, 4;|" + last + "\nadd.s64 %rd5, %rd5, 4;",
			false},
		"over a barrier, others write": {strings.ReplaceAll(last+"||bar.sync 0;|bar.sync 0;\n"+last,
			".nc", ""), false},
		"over a store": {last + "||fma.rn.f32 %f9|" + last + "\nfma.rn.f32 %f9", false},
	} {
		own, text := copyText, copyText
		if name == "two of the same" { // both are of %ctaid.x and %tid.x
			own = strings.Replace(own, "%r6, %r12, %r13", "%r6, %r2, %r13", 1)
			text = own
		}
		if strings.Contains(name, "turn") { // the address is another one in each
			own = strings.Replace(own, "add.s32 %r7", "add.s64 %rd5, %rd5, 4;\n add.s32 %r7", 1)
			text = own
		}
		if strings.Contains(name, "a barrier") {
			own = strings.Replace(strings.ReplaceAll(own, ".nc", ""), "mul.f32 %f5",
				"bar.sync 0;\n mul.f32 %f5", 1)
			text = own
		}
		if strings.Contains(name, "a store") { // of what is written meanwhile
			own = strings.ReplaceAll(strings.Replace(own, "cvt.rn",
				"st.global.f32 [%rd4], %f6;\n cvt.rn", 1), ".nc", "")
			text, c.edits = own, strings.ReplaceAll(c.edits, ".nc", "")
		}
		if words := strings.Split(c.edits, "|"); c.edits != "" {
			for n := 0; n < len(words); n += 2 {
				if !strings.Contains(text, words[n]) {
					t.Fatalf("%s: no %q", name, words[n])
				}
				text = strings.Replace(text, words[n], "#"+words[n+1], 1)
			}
		}
		text = strings.ReplaceAll(text, "#", "")
		var graphs [2]*graph
		for k, source := range []string{own, text} {
			m, err := ptx.Parse([]byte(source))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if graphs[k], err = read(built(m, "k")); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		fixed := fold.Fixed{Dims: map[string]bool{"ntid.x": true, "ntid.y": true}}
		if got := copies(graphs[0], graphs[1], fixed); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got != nil)
		}
	}
}
