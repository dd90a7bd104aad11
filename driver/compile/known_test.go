package compile

import (
	"bytes"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Of known{...} the host compares the bytes that the PTX loses, and no compile of the source is
// asked for.
func TestKnownChoice(t *testing.T) {
	m, err := ptx.Parse([]byte(".version 7.8\n.target sm_80\n.address_size 64\n" +
		".visible .entry k(.param .u64 k_0, .param .align 8 .b8 k_1[16])\n{\n.reg .f32 %f<2>;\n" +
		"ld.param.f32 %f1, [k_1+4];\nret;\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := recipe.Parse("known{#0=7,#1+4=-2.5,blockDim.x=64,host(dynamic)=0} repeat@1=4")
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := secondsOf("k", r)
	if err != nil || len(seconds) != 1 || !seconds[0].plain() || len(Asked("k", r)) > 0 {
		t.Fatalf("%+v asks for %q (%v)", seconds, Asked("k", r), err)
	}
	c, err := seconds[0].plainChoice(m.Entry("k"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Args) != 2 || c.Args[0].Index != 0 ||
		!bytes.Equal(c.Args[0].Bytes, []byte{7, 0, 0, 0, 0, 0, 0, 0}) || c.Args[1].Index != 1 ||
		c.Args[1].Offset != 4 || !bytes.Equal(c.Args[1].Bytes, []byte{0, 0, 0x20, 0xc0}) ||
		c.Block != [3]int{64, 0, 0} || c.Dynamic == nil || *c.Dynamic != 0 {
		t.Errorf("the choice is %+v", c)
	}
	other := r.Terms[0]
	other.Lever = recipe.Second
	if secondName("k", other, seconds[0].manner, "") == seconds[0].name {
		t.Error("the entry has the name of spec's for the same values")
	}
}
