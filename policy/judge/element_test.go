package judge

import "testing"

// TestElement: the words of a type decide, and not parts of them.
func TestElement(t *testing.T) {
	for is, want := range map[string]struct {
		size int
		name string
	}{"const double*__restrict__": {8, "double"}, "double2*": {8, "double"}, "float4*": {4, "float"}, "T*": {0, ""},
		"unsigned long*": {8, "long long"}, "long int*": {8, "long long"}, "size_t*": {8, "long long"},
		"unsigned*": {4, "int"}, "unsigned char*": {1, "char"}, "uint8_t*": {1, "char"}, "int64_t*": {8, "long long"},
		"__half2*": {2, "half"}, "__nv_bfloat16*": {2, "half"}, "bool*": {1, "char"}, "float**": {8, "long long"},
		"Point*": {0, ""}, "doublets*": {0, ""}, "MyT*": {0, ""}, "charge*": {0, ""}, "longitude*": {0, ""}, "": {0, ""}} {
		if size, name := element(is); size != want.size || name != want.name {
			t.Errorf("%q: %d, %q", is, size, name)
		}
	}
}
