package rewrite

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestReadsReal: in what nvcc gives for known sources, old and new, what is read as floating point
// is told from what is not.
func TestReadsReal(t *testing.T) {
	want := map[string]map[Pointer]Numbers{
		"mixed": {{0, 0}: Floats, {1, 0}: Floats, {2, 0}: Integers, {3, 0}: Doubles, {4, 0}: Integers,
			{6, 0}: Doubles},
		"math":    {{1, 0}: Floats, {2, 0}: Floats, {3, 0}: Doubles},
		"vectors": {{1, 0}: Floats, {2, 0}: Doubles, {3, 0}: Words},
		"others":  {{1, 0}: Floats, {3, 0}: NearFloats, {4, 0}: Integers, {5, 0}: Halves},
		"halves":  {{1, 0}: Halves, {2, 0}: Bfloat16s, {3, 0}: Halves, {4, 0}: Integers, {6, 0}: Integers},
		"tile":    {{1, 0}: Floats},
		"weights": {{1, 0}: Floats, {2, 0}: Bytes, {3, 0}: Words, {4, 0}: Integers, {5, 0}: NearFloats, {6, 0}: Integers},
	}
	tables := map[string]Numbers{"taps": Floats, "where": Integers, "rate": Doubles, "given": Floats}
	for _, kit := range ptxtest.Toolkits(t) {
		m, err := ptx.Parse(kit.PTX(t, "testdata/reads.cu", "-arch=sm_80"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Entries() {
			for name, pointers := range want {
				if !strings.Contains(f.Name, name+"P") {
					continue
				}
				got := Reads(f)
				if found := Variables(m, f.Name); name == "weights" && !reflect.DeepEqual(found, tables) || name == "mixed" && len(found) > 0 {
					t.Errorf("%s: %s: variables %v, want %v", kit.Version, name, found, tables)
				}
				for p, n := range pointers {
					if name == "mixed" && p.Index == 4 {
						continue // bits taken for a number: either is right
					}
					if got[p] != n {
						t.Errorf("%s: %s: %v is %q, want %q", kit.Version, name, p, got[p], n)
					}
				}
				if read, written, whole := Touched(f); name == "tile" && (!whole || !reflect.DeepEqual(written,
					[][2]int{{0, 0}}) || slices.Contains(read, [2]int{0, 0})) || name == "others" && (!whole ||
					!slices.Contains(read, [2]int{4, 0}) || slices.Contains(written, [2]int{4, 0}) ||
					!slices.Contains(written, [2]int{0, 0}) || slices.Contains(read, [2]int{0, 0})) ||
					name == "mixed" && whole && !slices.Contains(read, [2]int{0, 0}) {
					t.Errorf("%s: %s reads %v, and writes %v; all: %v", kit.Version, name, read, written, whole)
				}
				if len(got) > len(pointers) {
					t.Errorf("%s: %s: %v", kit.Version, name, got)
				}
			}
		}
	}
}

// TestScalars: arguments that only floating-point instructions use are numbers; one that is converted
// to an integer, or whose address is taken, is none.
func TestScalars(t *testing.T) {
	m, err := ptx.Parse([]byte(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_0, .param .f32 k_1, .param .f64 k_2, .param .f32 k_3, .param .u32 k_4, .param .align 8 .b8 k_5[16], .param .f32 k_6)
{
.reg .b32 %f<9>;
.reg .b64 %fd<9>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [k_0];
ld.param.f32 %f1, [k_1];
ld.param.b64 %fd1, [k_2];
ld.param.f32 %f2, [k_3];
ld.param.u32 %r1, [k_4];
ld.param.b32 %f3, [k_5+4];
ld.param.b32 %r2, [k_5+8];
mov.b64 %rd2, k_6;
add.f32 %f4, %f1, %f3;
mul.f64 %fd2, %fd1, %fd1;
cvt.rzi.s32.f32 %r3, %f2;
mad.lo.s32 %r4, %r1, %r2, %r3;
st.global.f32 [%rd1], %f4;
ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := Scalars(m.Entry("k"))
	for p, n := range got {
		if n != Floats && n != Doubles {
			delete(got, p)
		}
	}
	if want := map[Pointer]Numbers{{1, 0}: Floats, {2, 0}: Doubles, {5, 4}: Floats}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}
