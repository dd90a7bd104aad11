package ir_test

import (
	"maps"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestIndexOnly: the kernels of ../testdata/index.cu say by their names what they see of the
// launch's shape.
func TestIndexOnly(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		t.Run(kit.Version, func(t *testing.T) {
			t.Parallel()
			m, err := ptx.Parse(kit.PTX(t, "../testdata/index.cu", "-arch=sm_80"))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Entries()) != 49 {
				t.Errorf("%d kernels", len(m.Entries()))
			}
			for _, f := range m.Entries() {
				err := ir.IndexOnly(m, f.Name)
				if free := strings.HasPrefix(f.Name, "free_"); free != (err == nil) {
					t.Errorf("%s: %v", f.Name, err)
				}
			}
		})
	}
}

// Bodies that try to get at the shape past the data flow. Each is what ptxas takes, and none may be
// called index only. %r1 is the index, %rd1 where it is stored to.
var sneaks = map[string]string{
	"a vector of numbers":         "mov.v4.u32 {%r2, %r3, %r4, %r5}, %tid; add.s32 %r1, %r1, %r2;",
	"a register with no percent":  ".reg .u32 t; mov.u32 t, %tid.x; add.s32 %r1, %r1, t;",
	"a scope inside":              "{ .reg .u32 t; mov.u32 t, %ntid.x; xor.b32 %r1, %r1, t; }",
	"16 bits":                     "mov.u16 %rs1, %ctaid.x; mov.u16 %rs2, %ntid.x; mul.wide.u16 %r2, %rs1, %rs2; mov.u32 %r3, %tid.x; add.s32 %r1, %r2, %r3;",
	"a carry":                     "mov.u32 %r2, %tid.x; add.cc.u32 %r3, %r2, -1; addc.u32 %r4, 0, 0; add.s32 %r1, %r1, %r4;",
	"a predicate behind a not":    "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; setp.eq.and.u32 %p2, %r1, 5, !%p1; @%p2 add.s32 %r1, %r1, 1;",
	"two predicates":              "mov.u32 %r2, %tid.x; setp.eq.u32 %p1|%p2, %r2, 0; @%p2 add.s32 %r1, %r1, 1;",
	"a choice":                    "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 16; selp.b32 %r1, %r1, 0, %p1;",
	"a guarded value":             "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0; @%p1 mov.u32 %r1, 7;",
	"a branch":                    "mov.u32 %r2, %tid.x; setp.ne.u32 %p1, %r2, 0; @%p1 bra $L; add.s32 %r1, %r1, 1; $L:",
	"local memory":                "mov.u32 %r2, %tid.x; st.local.u32 [depot], %r2; ld.local.u32 %r3, [depot]; add.s32 %r1, %r1, %r3;",
	"an address in local memory":  "mov.u32 %r2, %tid.x; and.b32 %r2, %r2, 4; mov.u32 %r3, depot; add.s32 %r3, %r3, %r2; ld.local.u32 %r1, [%r3];",
	"shared memory by its number": "mov.u32 %r2, 0; st.shared.u32 [%r2], %r1; ld.shared.u32 %r1, [%r2];",
	"a pack":                      "mov.u32 %r2, %tid.x; mov.b64 %rd2, {%r1, %r2}; st.global.u64 [%rd1], %rd2;",
	"an unpack":                   "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mul.wide.u32 %rd2, %r2, %r3; mov.b64 {%r1, %r4}, %rd2;",
	"a byte":                      "mov.u32 %r2, %tid.x; cvt.u8.u32 %rs1, %r2; cvt.u32.u16 %r1, %rs1;",
	"24 bits":                     "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mul24.lo.u32 %r4, %r2, %r3; mov.u32 %r5, %tid.x; add.s32 %r1, %r4, %r5;",
	"the upper half":              "mov.u32 %r2, %ntid.x; mov.u32 %r3, %nctaid.x; mul.hi.u32 %r4, %r2, %r3; add.s32 %r1, %r1, %r4;",
	"other dimensions":            "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.y; mul.lo.u32 %r4, %r2, %r3; mov.u32 %r5, %tid.x; add.s32 %r1, %r4, %r5;",
	"one register for two":        "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r1, 3; @%p1 mov.u32 %r2, %ctaid.x; st.global.u32 [%rd1+4], %r2;",
	"a loop that counts blocks":   "mov.u32 %r2, %nctaid.x; mov.u32 %r3, 0; $L: add.s32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra $L; mov.u32 %r1, %r3;",
	"a lane":                      "mov.u32 %r2, %laneid; add.s32 %r1, %r1, %r2;",
	"a warp":                      "mov.u32 %r2, %warpid; add.s32 %r1, %r1, %r2;",
	"warps of a block":            "mov.u32 %r2, %nwarpid; add.s32 %r1, %r1, %r2;",
	"lanes":                       "mov.u32 %r2, %lanemask_lt; add.s32 %r1, %r1, %r2;",
	"a multiprocessor":            "mov.u32 %r2, %smid; add.s32 %r1, %r1, %r2;",
	"all multiprocessors":         "mov.u32 %r2, %nsmid; add.s32 %r1, %r1, %r2;",
	"the grid's number":           "mov.u64 %rd2, %gridid; st.global.u64 [%rd1+8], %rd2;",
	"an environment register":     "mov.u32 %r2, %envreg3; add.s32 %r1, %r1, %r2;",
	"a counter":                   "mov.u32 %r2, %pm0; add.s32 %r1, %r1, %r2;",
	"a clock":                     "mov.u32 %r2, %clock; add.s32 %r1, %r1, %r2;",
	"a timer":                     "mov.u64 %rd2, %globaltimer; st.global.u64 [%rd1+8], %rd2;",
	"the size of shared memory":   "mov.u32 %r2, %dynamic_smem_size; add.s32 %r1, %r1, %r2;",
	"all of shared memory":        "mov.u32 %r2, %total_smem_size; add.s32 %r1, %r1, %r2;",
	"a rank in a cluster":         "mov.u32 %r2, %cluster_ctarank; add.s32 %r1, %r1, %r2;",
	"a cluster's number":          "mov.u32 %r2, %clusterid.x; add.s32 %r1, %r1, %r2;",
	"the active mask":             "activemask.b32 %r2; add.s32 %r1, %r1, %r2;",
	"a ballot":                    "setp.eq.u32 %p1, %r1, 3; vote.sync.ballot.b32 %r1, %p1, -1;",
	"a match":                     "match.any.sync.b32 %r1, %r1, -1;",
	"a reduction":                 "redux.sync.add.s32 %r1, %r1, -1;",
	"an election":                 "elect.sync %r2|%p1, -1; @%p1 add.s32 %r1, %r1, 1;",
	"a barrier of a warp":         "bar.warp.sync -1;",
	"a barrier of a cluster":      "barrier.cluster.arrive; barrier.cluster.wait;",
	"a wait":                      "mov.u32 %r2, %tid.x; nanosleep.u32 %r2;",
	"a result of an atomic":       "atom.global.add.u32 %r1, [%rd1+8], 1;",
	"a sum of floats":             "cvt.rn.f32.u32 %f1, %r1; red.global.add.f32 [%rd1+8], %f1;",
	"a wrapping count":            "red.global.inc.u32 [%rd1+8], %r1;",
	"a sum within blocks":         "red.relaxed.cta.global.add.u32 [%rd1+8], 1;",
	"a sum that releases":         "red.release.gpu.global.add.u32 [%rd1+8], 1;",
	"an exchange":                 "atom.global.exch.b32 _, [%rd1+8], %r1;",
	"a sum of a number":           "mov.u32 %r2, %tid.x; red.global.add.u32 [%rd1+8], %r2;",
	"a volatile store":            "st.volatile.global.u32 [%rd1+8], %r1;",
	"an acquiring load":           "ld.acquire.gpu.global.u32 %r1, [%rd1+8];",
	"a relaxed load":              "ld.relaxed.sys.global.u32 %r1, [%rd1+8];",
	"a texture":                   "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [texture, {%r1}];",
	"what nothing wrote":          "add.s32 %r1, %r1, %r9;",
	"an allocation on the stack":  "mov.u32 %r2, %tid.x; cvt.u64.u32 %rd2, %r2; alloca.u64 %rd3, %rd2; st.global.u64 [%rd1+8], %rd3;",
	"a float of a number":         "mov.u32 %r2, %tid.x; cvt.rn.f32.u32 %f1, %r2; st.global.f32 [%rd1+8], %f1;",
	"what it prefetches":          "mov.u32 %r2, %tid.x; cvt.u64.u32 %rd2, %r2; add.s64 %rd2, %rd2, %rd1; prefetch.global.L2 [%rd2];",
	"half a block":                "mov.u32 %r2, %ntid.x; shr.u32 %r2, %r2, 1; mov.u32 %r3, %ctaid.x; mul.lo.u32 %r4, %r2, %r3; add.s32 %r1, %r1, %r4;",
	"a sum that is widened":       "mov.u32 %r2, %tid.x; add.s32 %r2, %r2, 0x7ffffffe; mul.wide.u32 %rd2, %r6, %r7; cvt.s64.s32 %rd3, %r2; add.s64 %rd2, %rd2, %rd3; st.global.u64 [%rd1+8], %rd2;",
	"a block's number and one":    "add.s32 %r2, %r6, 1; mad.lo.s32 %r1, %r2, %r7, %r8;",
	"a thread's number twice":     "add.s32 %r2, %r8, 1; add.s32 %r2, %r2, %r8; mad.lo.s32 %r1, %r6, %r7, %r2;",
	"a block's first one twice":   "mul.lo.s32 %r2, %r6, %r7; add.s32 %r3, %r2, 1; add.s32 %r3, %r3, %r2; add.s32 %r1, %r3, %r8;",
	"a sum that saturates":        "mov.u32 %r2, %tid.x; add.sat.s32 %r1, %r1, %r2;",
}

// TestIndexOnlyFunctions: what functions are handed, and give back, in registers is not followed;
// nor what stands elsewhere.
func TestIndexOnlyFunctions(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	kit := kits[len(kits)-1]
	for _, c := range []struct {
		function, call string
		free           bool
	}{
		{".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.s32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }",
			"{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0], %r1; call.uni (q0), f, (p0); ld.param.b32 %r1, [q0]; }", true},
		{".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<3>; mov.u32 %r1, %tid.x; st.param.b32 [r], %r1; ret; }",
			"{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0], %r1; call.uni (q0), f, (p0); ld.param.b32 %r1, [q0]; }", false},
		{".func (.reg .b32 %q) f() { mov.u32 %q, %tid.x; ret; }",
			"call.uni (%r2), f; add.s32 %r1, %r1, %r2;", false},
		{".func f(.reg .b32 %q) { .reg .b32 %r<3>; trap; ret; }", "call.uni f, (%r8);", false},
		{".func f() { .reg .b32 %r<3>; .reg .pred %p; mov.u32 %r1, %laneid; setp.eq.u32 %p, %r1, 0; @%p trap; ret; }", "call.uni f;", false},
		{".func f() { bar.sync 0; ret; }", "call.uni f;", false},
		{".extern .func f();", "call.uni f;", false},
	} {
		text := ".version 8.0\n.target sm_90\n.address_size 64\n" + c.function +
			"\n.visible .entry k(.param .u64 p) {\n.reg .b32 %r<10>; .reg .b64 %rd<9>;\n" +
			"ld.param.u64 %rd1, [p]; mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ntid.x; mov.u32 %r8, %tid.x; mad.lo.s32 %r1, %r6, %r7, %r8;\n" +
			c.call + "\nst.global.u32 [%rd1], %r1; ret; }\n"
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", c.function, err)
		}
		if err := ir.IndexOnly(m, "k"); (err == nil) != c.free {
			t.Errorf("%s %s: %v", c.function, c.call, err)
		}
		if _, err := kit.Assemble(t, []byte(text), "-arch=sm_90", "-c"); err != nil {
			t.Errorf("%s: %v", c.function, err)
		}
	}
}

// TestIndexOnlySneaks: not one of them gets through, and the bodies with nothing of the kind do.
func TestIndexOnlySneaks(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	kit := kits[len(kits)-1]
	sneaks := maps.Clone(sneaks)
	// as cicc puts the index together where it has a neighbour's in a register already
	for _, free := range []string{"", "add.s32 %r2, %r8, 1; mad.lo.s32 %r1, %r6, %r7, %r2;",
		"mul.lo.s32 %r2, %r6, %r7; add.s32 %r3, %r2, -7; add.s32 %r4, 3, %r3; mov.u32 %r5, %r8; add.s32 %r1, %r5, %r4;",
		"mul.wide.u32 %rd2, %r6, %r7; add.s64 %rd3, %rd2, 8; cvt.u64.u32 %rd4, %r8; add.s64 %rd5, %rd4, %rd1; add.s64 %rd6, %rd5, %rd3; st.global.u32 [%rd6], %r1;"} {
		sneaks[free] = free
	}
	for what, body := range sneaks {
		text :=
			".version 8.0\n.target sm_90\n.address_size 64\n.global .texref texture;\n.visible .entry k(.param .u64 p) {\n" +
				".local .align 8 .b8 depot[8];\n.reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<10>; .reg .f32 %f<9>; .reg .b64 %rd<9>;\n" +
				"ld.param.u64 %rd1, [p]; mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ntid.x; mov.u32 %r8, %tid.x; mad.lo.s32 %r1, %r6, %r7, %r8;\n" +
				body + "\nst.global.u32 [%rd1], %r1; ret; }\n"
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := ir.IndexOnly(m, "k"); (err == nil) != (what == body) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := kit.Assemble(t, []byte(text), "-arch=sm_90"); err != nil {
			t.Errorf("%s is no attack: %v", what, err)
		}
	}
}
