package same

import (
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestWords: what a packed struct's number is put together of is the load of the number that a
// variant has, which knows an alignment; another one of the struct is not.
func TestWords(t *testing.T) {
	const text = `struct __attribute__((__packed__)) S { float x, y; int n; float z; };
extern "C" __global__ void k(const S *__restrict__ s, const float *__restrict__ a, float *o, int n) {
  float sum = a[threadIdx.x];
  for (int i = 0; i < n; i++) {
    S e = s[i];
    sum = fmaxf(sum, e.n > 3 ? (sum - e.x) * 2.5f : e.y / 3.0f) - sqrtf(e.z);
  }
  o[threadIdx.x] = sum;
}
`
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := built(compiled(t, kit, text), "k")
		if !strings.Contains(string(def.Module.Bytes()), "prmt.b32") {
			t.Fatalf("%s: the numbers are not put together of bytes", kit.Version)
		}
		for from, to := range map[string]string{"": "", "e.y / 3.0f": "e.x / 3.0f", "sqrtf(e.z)": "sqrtf(e.y)"} {
			aligned := strings.Replace(strings.Replace(text, from, to, 1), "struct __attribute__((__packed__))",
				"struct __align__(16)", 1)
			answer, err := Same(def, built(compiled(t, kit, aligned), "k"), fold.Fixed{})
			if (err == nil) != (from == "") {
				t.Errorf("%q with %s: %v", to, kit.Version, err)
			}
			if err != nil {
				continue
			}
			for _, s := range answer.Sums {
				for _, d := range s.May {
					if d.Func != def.Module.Entry("k") {
						t.Errorf("%s: an answer about a copy", kit.Version)
					}
				}
			}
		}
	}
}

// TestChosenByWords: a number that is compared may be known behind that, and with it the quotient
// by what it chooses. A variant for an alignment that has each instruction of the kernel has
// computed none of it. What is loaded before the kernel stores its products is none of them.
func TestChosenByWords(t *testing.T) {
	const text = `struct __attribute__((__packed__)) S { float x, y; int n; float z; };
extern "C" __global__ void k(const S *__restrict__ s, const S *__restrict__ q, float *o, int n) {
  S own = q[threadIdx.x];
  float sum = own.x - own.z * own.z;
  int i = 0;
  #pragma unroll 1
  do {
    S e = s[i];
    float d = e.x - own.x, r = sqrtf(d * d + own.y);
    float far = e.z < 0.0f ? (own.z < 0.0f ? 5.5f : 1.0f) : 2.0f, near = e.n == 70 && own.n == 70 ? 4.0f : 3.0f;
    sum += (1.0f - r * (1.0f / far)) * (r < near ? 1.0f : 0.0f);
    sum += e.n == 69 || own.n == 69 ? e.y * r : fabsf(e.z);
  } while (++i < n);
  o[threadIdx.x] = sum * 0.5f;
}
`
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := built(compiled(t, kit, text, "-use_fast_math"), "k")
		for from, to := range map[string]string{"": "", "own.z < 0.0f": "own.y < 0.0f", "5.5f": "5.0f",
			"e.x - own.x": "e.y - own.x", "== 70": "== 71", "? 4.0f : 3.0f": "? 3.0f : 4.0f"} {
			aligned := strings.Replace(strings.Replace(text, from, to, 1), "struct __attribute__((__packed__))",
				"struct __align__(16)", 1)
			answer, err := Same(def, built(compiled(t, kit, aligned, "-use_fast_math"), "k"), fold.Fixed{})
			if (err == nil) != (from == "") {
				t.Errorf("%q with %s: %v", to, kit.Version, err)
			}
			if err == nil && len(answer.Both) > 0 {
				t.Errorf("%s: what is loaded may be a product: %v", kit.Version, answer.Both)
			}
		}
	}
}

// TestOffset: inline assembly may write an offset in any base, as PTX does.
func TestOffset(t *testing.T) {
	for text, want := range map[string]int{"[%rd1]": 0, "[%rd1+20]": 20, "[%rd1+-4]": -4,
		"[%rd1 + 0x14]": 20, "[%rd1+-0x4]": -4} {
		if name, offset := base(text); name != "%rd1" || offset != want {
			t.Errorf("%s is %s and %d", text, name, offset)
		}
	}
}

// TestWordsOf: only four bytes in a row, in their order, of one place that nothing changes
// meanwhile, are a word.
func TestWordsOf(t *testing.T) {
	word := `ld.global.u8 %rs1, [%rd1+4]; cvt.u32.u8 %r1, %rs1; ld.global.u8 %rs2, [%rd1+5]; cvt.u32.u8 %r2, %rs2;
prmt.b32 %r3, %r2, %r1, 30212; ld.global.u8 %rs3, [%rd1+6]; cvt.u32.u8 %r4, %rs3; ld.global.u8 %rs4, [%rd1+7];
cvt.u32.u8 %r5, %rs4; prmt.b32 %r6, %r5, %r4, 30212; prmt.b32 %r7, %r6, %r3, 4180;`
	for from, to := range map[string]string{
		"":                             "",
		"[%rd1+7]":                     "[%rd1+8]",
		"[%rd1+6]":                     "[%rd2+6]",
		"4180":                         "30212",
		"%r2, %r1, 30212":              "%r1, %r2, 30212",
		"%r6, %r3, 4180":               "%r3, %r6, 4180",
		"%r3, %r2, %r1, 30212":         "%r3, %r2, %r1, 0x760C",
		"%rs3, [%rd1+6];":              "%rs3, [%rd1+6]; st.global.u8 [%rd2], %rs1;",
		"%rs3, [%rd1+6]; ":             "%rs3, [%rd1+6]; @%p1 st.global.u8 [%rd2], %rs1;",
		"cvt.u32.u8 %r4":               "add.s64 %rd1, %rd1, 1; cvt.u32.u8 %r4",
		"cvt.u32.u8 %r5":               "L: cvt.u32.u8 %r5",
		"cvt.u32.u8 %r5,":              "@%p1 cvt.u32.u8 %r5,",
		"ld.global.u8 %rs4":            "ld.global.s8 %rs4",
		"ld.global.u8 %rs4,":           "ld.volatile.global.u8 %rs4,",
		"prmt.b32 %r6":                 "mov.u32 %r3, 7; prmt.b32 %r6",
		"prmt.b32 %r7, %r6, %r3, 4180": "prmt.b32.b4e %r7, %r6, %r3, 4180",
		"ld.global.u8 %rs1":            "ld.shared.u8 %rs1",
		"prmt.b32 %r7":                 "cvt.u32.u8 %r3, %r3; prmt.b32 %r7",
		"prmt.b32 %r7, %r6":            "cvt.u32.u8 %r6, %r6; prmt.b32 %r7, %r6",
	} {
		m, err := ptx.Parse([]byte(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n" +
			".reg .pred %p<3>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n" +
			strings.Replace(word, from, to, 1) + "\nst.global.u32 [%rd2], %r7;\nret;\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := wordsOf(m.Entry("k"))
		if (len(got) == 1) != (from == "") || len(got) > 1 {
			t.Errorf("%q: %v", to, got)
		}
		for _, load := range got {
			if load != "ld.global.u32 %r7, [%rd1+4];" {
				t.Errorf("the word is %s", load)
			}
		}
	}
}
