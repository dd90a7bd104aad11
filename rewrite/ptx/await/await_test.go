package await_test

import (
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestAwaits: the kernels of ../testdata/await.cu say by their names whether their blocks wait for
// each other.
func TestAwaits(t *testing.T) {
	for _, kit := range ptxtest.Toolkits(t) {
		t.Run(kit.Version, func(t *testing.T) {
			t.Parallel()
			m, err := ptx.Parse(kit.PTX(t, "../testdata/await.cu", "-arch=sm_80"))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Entries()) != 31 {
				t.Errorf("%d kernels", len(m.Entries()))
			}
			for _, f := range m.Entries() {
				at, err := await.Why(m, f.Name)
				if err != nil {
					t.Errorf("%s: %v", f.Name, err)
				}
				if want := strings.HasPrefix(f.Name, "wait_"); (at != "") != want {
					t.Errorf("%s: waits for %q", f.Name, at)
				}
			}
		})
	}
}

// TestAwaitsGuards: a guard is no part of an address, and no value that is handed on.
func TestAwaitsGuards(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	for _, c := range []struct {
		name, body string
		waits      bool
	}{
		{"load under a guard that follows from it",
			"setp.eq.u32 %p1, 0, 0;\nL: @%p1 ld.global.u32 %r1, [%rd1];\nsetp.lt.u32 %p1, %r1, 3;\n@%p1 bra L;", true},
		{"load of a place that moves, under such a guard",
			"setp.eq.u32 %p1, 0, 0;\nL: add.s64 %rd1, %rd1, 4;\n@%p1 ld.global.u32 %r1, [%rd1];\nsetp.lt.u32 %p1, %r1, 3;\n@%p1 bra L;", false},
		{"surface, one place", "L: suld.b.1d.b32.trap {%r1}, [%rd1, {%r2}];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L;", true},
		{"surface, place after place", "L: suld.b.1d.b32.trap {%r1}, [%rd1, {%r2}];\n" +
			"add.s32 %r2, %r2, 4;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L;", false},
		{"texture, one place", "L: tex.1d.v4.s32.s32 {%r1, _, _, _}, [%rd1, {%r2}];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L;", true},
		{"retry",
			"mov.u32 %r2, 0;\nL: atom.global.cas.b32 %r1, [%rd1], %r2, 5;\nsetp.ne.s32 %p1, %r1, %r2;\nmov.u32 %r2, %r1;\n@%p1 bra L;", false},
		{"retry with one value, under a guard that is newer",
			"mov.u32 %r2, 0;\nL: atom.global.cas.b32 %r1, [%rd1], %r2, 5;\nsetp.ne.s32 %p1, %r1, %r2;\n" +
				"mov.u32 %r2, %r1;\nsetp.eq.s32 %p2, %r1, 5;\n@%p2 mov.u32 %r2, 0;\n@%p1 bra L;", true},
		{"atomic that adds what was never set",
			"setp.ne.s32 %p2, 0, 0;\nL: atom.global.add.u32 %r1, [%rd1], %r2;\nsetp.lt.s32 %p1, %r1, 3;\n@%p1 bra L;\nmov.u32 %r2, 2;", true},
		{"step that may be none, up to a place",
			"ld.global.u32 %r2, [%rd1+4];\nmov.u32 %r0, 0;\nL: ld.global.u32 %r1, [%rd1];\nadd.s32 %r0, %r0, %r2;\nsetp.ne.s32 %p1, %r0, %r1;\n@%p1 bra L;", true},
		{"step of 1, up to a place",
			"mov.u32 %r0, 0;\nL: ld.global.u32 %r1, [%rd1];\nadd.s32 %r0, %r0, 1;\nsetp.ne.s32 %p1, %r0, %r1;\n@%p1 bra L;", false},
		{"address that is computed anew, and is the same",
			"mov.u64 %rd0, 8;\nL: add.s64 %rd2, %rd1, %rd0;\nld.global.u32 %r1, [%rd2];\nsetp.lt.s32 %p1, %r1, 3;\n@%p1 bra L;", true},
		{"such an address under a guard",
			"mov.u64 %rd0, 8;\nsetp.ne.s32 %p1, 0, 0;\nL: @!%p1 add.s64 %rd2, %rd1, %rd0;\nld.global.u32 %r1, [%rd2];\nsetp.lt.s32 %p1, %r1, 3;\n@%p1 bra L;", true},
		{"address that follows from what was read",
			"mov.u64 %rd2, %rd1;\nL: ld.global.u32 %r1, [%rd2];\ncvt.u64.u32 %rd0, %r1;\nadd.s64 %rd2, %rd1, %rd0;\nsetp.lt.s32 %p1, %r1, 3;\n@%p1 bra L;", false},
		{"shared memory that is told what the turn before has seen",
			"mov.u32 %r2, 0;\n.shared .b32 s;\nL: ld.shared.u32 %r1, [s];\nst.shared.u32 [s], %r2;\nld.volatile.global.u32 %r2, [%rd1];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L;", true},
		{"atomic beside it, on the same memory",
			"mov.u64 %rd2, %rd1;\nL: atom.global.exch.b32 %r2, [%rd1+16], 1;\nld.global.u32 %r1, [%rd2];\ncvt.u64.u32 %rd0, %r1;\nadd.s64 %rd2, %rd1, %rd0;\nsetp.lt.s32 %p1, %r1, 3;\n@%p1 bra L;", true},
	} {
		text := []byte(
			".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 g)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.reg .pred %p<4>;\n" +
				"ld.param.u64 %rd1, [g];\n" + c.body + "\nret;\n}\n")
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := await.Why(m, "k"); err != nil || (at != "") != c.waits {
			t.Errorf("%s: waits for %q, %v", c.name, at, err)
		}
		if _, err := kits[len(kits)-1].Assemble(t, text, "-arch=sm_80", "-c"); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
