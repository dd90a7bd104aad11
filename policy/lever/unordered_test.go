package lever

import (
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/ptx"
)

// TestUnordered: atomics and clocks are reasons for other results in another run, in functions that
// are called, too; integers that are added up without a result are none.
func TestUnordered(t *testing.T) {
	for body, want := range map[string]string{
		"red.global.add.f32 [%rd1], %f1;":                                "its sums depend on the order of atomics",
		"atom.shared.add.f64 %fd1, [%rd1], %fd1;":                        "its sums depend on the order of atomics",
		"atom.global.cas.b32 %r1, [%rd1], %r1, %r1;":                     "its results depend on the order of atomics",
		"atom.global.add.u32 %r1, [%rd1], 1;":                            "",
		"atom.global.add.u32 %r1, [%rd1], 1; st.global.u32 [%rd1], %r1;": "its results depend on the order of atomics",
		"red.global.add.u32 [%rd1], 1;":                                  "",
		"mov.u32 %r1, %clock;":                                           "its results depend on a clock that it reads",
		"mov.u64 %rd1, %globaltimer;":                                    "its results depend on a clock that it reads",
		"st.global.f32 [%rd1], %f1;":                                     "",
		"call.uni f, ();":                                                "its sums depend on the order of atomics",
	} {
		m, err := ptx.Parse([]byte(".version 8.0\n.target sm_90\n.address_size 64\n" +
			".func f()\n{\n.reg .f32 %f<2>; .reg .b64 %rd<2>;\nred.global.add.f32 [%rd1], %f1;\nret;\n}\n" +
			".visible .entry k()\n{\n.reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .f32 %f<2>; .reg .f64 %fd<2>;\n" + body + "\nret;\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := unordered(policy.Code{Module: m, Entry: m.Entry("k")}); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
