package source

import (
	"testing"

	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
)

// FuzzMergeShared gives it foreign PTX on both sides. What comes out can be parsed, and has the entry.
func FuzzMergeShared(f *testing.F) {
	const s = "_ZZ1kPfiE3buf"
	f.Add(sharedModule(s+" 32"), sharedModule(s+" 32", s+"_0 32"), uint8(1))
	f.Add(sharedModule(s+" 32", s+"_0 16"), sharedModule(s+" 32", s+"_0 16", s+"_1 32", s+"_2 16"), uint8(1))
	f.Add(sharedModule(s+" 32"), sharedModule(s+" 32", s+"_0 32", s+"_1 32", s+"_2 32"), uint8(3))
	u, err := Parse([]byte("# 1 \"x.cu\"\n__attribute__((global)) void k(float *a, int n) { { __attribute__((shared)) float buf[8]; buf[0] = n; } { __attribute__((shared)) float buf[4]; a[0] = buf[0] = n; } }\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, standard, variant []byte, copies uint8) {
		var terms []rewrite.Term
		for range copies%4 + 1 {
			terms = append(terms, rewrite.Term{Lever: "spec", Value: "n=1", Brace: true})
		}
		out, err := u.MergeShared("_Z1kPfi", terms, standard, variant)
		if err != nil {
			return
		}
		m, err := ptx.Parse(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if m.Entry("_Z1kPfi") == nil {
			t.Fatalf("the entry is gone\n%s", out)
		}
	})
}
