package toolcmd

import (
	"testing"
)

func TestTemporaryNames(t *testing.T) {
	const one, two = "tmpxft_0000abcd_00000000-3_", "tmpxft_0000abcd_00000000-12_"
	short, names, err := CutTemporary("/tmp/" + one + "a.ii:" + two + "b")
	if err != nil || short != "/tmp/tmpxft_a.ii:tmpxft_b" || len(names) != 2 || names[0] != one ||
		names[1] != two {
		t.Errorf("%q %q %v", short, names, err)
	}
	for _, odd := range []string{"tmpxft_", "tmpxft_0000abcd_00000000", "tmpxft_0000ABCD_00000000-3_",
		"tmpxft_000abcd_00000000-3_", "tmpxft_0000abcd_00000000-_", "tmpxft_0000abcd_00000000-3"} {
		if _, _, err := CutTemporary(odd); err == nil {
			t.Errorf("%q taken for a temporary name", odd)
		}
	}
	const now = "tmpxft_00000001_00000000-3_"
	got, err := RenameTemporary([]byte("x "+one+"a y "+one+"b"), []string{two, one},
		[]string{two, now})
	if err != nil || string(got) != "x "+now+"a y "+now+"b" {
		t.Errorf("%q %v", got, err)
	}
	got, err = RenameTemporary([]byte("_GLOBAL__sub_I_tmpxft_0000abcd_00000000_3_a"),
		[]string{two, one}, []string{two, now})
	if err != nil || string(got) != "_GLOBAL__sub_I_tmpxft_00000001_00000000_3_a" {
		t.Errorf("%q %v", got, err)
	}
	for _, odd := range []string{"x " + two, "tmpxft_0000abcd_00000000_4_a", "tmpxft_",
		one + "a tmpxft_y"} {
		if _, err := RenameTemporary([]byte(odd), []string{one}, []string{now}); err == nil {
			t.Errorf("%q renamed", odd)
		}
	}
}
