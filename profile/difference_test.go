package profile

import "testing"

func TestDifferenceText(t *testing.T) {
	d := Difference{Words: 1, Where: "allocation 1", Offset: 128, Size: 4096, Got: 2, Want: 1}
	if got, want := d.String(),
		"1 word differs, first in allocation 1 at byte 128 of 4096 (word 32): 0x2 instead of 0x1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.Words = 3
	if got, want := d.String(),
		"3 words differ, first in allocation 1 at byte 128 of 4096 (word 32): 0x2 instead of 0x1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
