package recipe

import "testing"

func must(t testing.TB, text string) Recipe {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestText(t *testing.T) {
	for _, c := range [][2]string{ // as given, as printed
		{"", ""},
		{"maxnreg=56", "maxnreg=56"},
		{"  unroll@2=8   maxnreg=56 spec{n=1024,blockDim.x=256} hint@ld=L2::256B unroll=4 ",
			"hint@ld=L2::256B maxnreg=56 spec{n=1024,blockDim.x=256} unroll=4 unroll@2=8"},
		{"spec{n=1} spec{n=2}", "spec{n=1} spec{n=2}"},
		{"spec{}", "spec{}"},
	} {
		r, err := Parse(c[0])
		if err != nil {
			t.Errorf("%q: %v", c[0], err)
			continue
		}
		if r.String() != c[1] {
			t.Errorf("%q prints as %q, want %q", c[0], r, c[1])
		}
		if again := must(t, r.String()); again.String() != r.String() {
			t.Errorf("%q reads back as %q", r, again)
		}
	}
	for _, bad := range []string{"maxnreg", "maxnreg=", "=5", "spec{n=1", "spec{n=1}x",
		"maxnreg=1 maxnreg=2", "hint@ld1=a hint@ld1=b", "a=}", "@3=x", "}", "spec{a{b}", "spec{n=1\n}"} {
		if r, err := Parse(bad); err == nil {
			t.Errorf("%q is taken as %q", bad, r)
		}
	}
}
