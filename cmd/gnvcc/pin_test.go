package main

import "testing"

// TestCalled: a kernel is known by every name that gnvcc prints for it. Those of a file's own
// namespace differ from file to file, and only one of what is alike is on record.
func TestCalled(t *testing.T) {
	const (
		a        = "_ZN31_GLOBAL__N__51ec0c57_4_a_cu_cee4anonILi3EEEvPfPKfi"
		b        = "_ZN34_GLOBAL__N__4359a3b9_4_b_cu_waitsb4anonILi3EEEvPfPKfi"
		identity = "0123456789abcdef0123"
	)
	for _, c := range []struct {
		kernel, name string
		want         bool
	}{
		{a, a, true}, {a, b, true}, {b, a, true}, {a, "anon<3>", true}, {a, "anon<4>", false},
		{a, identity, true}, {a, identity[:8], true}, {a, identity[:7], false},
		{"_Z1kPf", "_Z1kPf", true}, {"_Z1kPf", "k", true}, {"_Z1kPf", "k(float*)", true},
		{"_Z1kPf", "k(float *)", true}, {"_Z1kPf", "_Z1kPd", false}, {"_Z1kPf", "", false},
	} {
		if got := called(c.kernel, identity, c.name); got != c.want {
			t.Errorf("%s by the name %s: %v", c.kernel, c.name, got)
		}
	}
}
