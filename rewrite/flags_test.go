package rewrite

import (
	"testing"

	"gnvcc/rewrite/ptx/ptxtest"
)

// TestFlagsReal: every installed ptxas takes every flag that a recipe may hold, with every value;
// save controls files, which are of another kind (driver/controls_test.go).
func TestFlagsReal(t *testing.T) {
	const text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tst.global.u64 [%rd1], %rd1;\n\tret;\n}\n"
	for _, kit := range ptxtest.Toolkits(t) {
		for _, f := range ptxasFlags {
			if f.name == Controls {
				continue
			}
			flags := []string{f.name}
			if f.values != nil {
				flags = nil
				for _, v := range f.values {
					flags = append(flags, f.name+"="+v)
				}
			}
			for _, flag := range flags {
				if err := checkFlag(flag); err != nil {
					t.Error(err)
				}
				if _, err := kit.Assemble(t, []byte(text), "-arch=sm_80", flag); err != nil {
					t.Errorf("%s: %s: %v", kit.Version, flag, err)
				}
			}
		}
	}
}
