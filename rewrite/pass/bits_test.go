package pass

import "testing"

// TestBitsOf: the width of each PTX type; what is none has no width.
func TestBitsOf(t *testing.T) {
	for typ, want := range map[string]int{
		"pred": PredBits, "b8": 8, "u16": 16, "s32": 32, "b64": 64, "f32": 32, "f64": 64, "f16": 16, "bf16": 16, "b128": 128,
		"f16x2": 32, "bf16x2": 32, "": 0, "b": 0, "s": 0, "v2": 0, "x32": 0, "b12": 0, "bf": 0, "texref": 0, "tf32": 0,
	} {
		if got := BitsOf(typ); got != want {
			t.Errorf("%q has %d bits, not %d", typ, got, want)
		}
	}
}
