package main

import (
	"testing"

	"gnvcc/rewrite/recipe"
)

func TestLeverOf(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "hint@ld=cs": "hint", "hint@ld=cs hint@ld0=none": "hint", "hint@ld=cs hint@st=cs": "hint", "maxnreg=40": "maxnreg",
		"demote=8:loops maxnreg=40": "demote", "demote=spill maxnreg=40": "demote",
		"hint@ld=cs maxnreg=40": "", "spec{host(block)=128x1x1,host(dynamic)=0} throttle=3": "throttle",
		"demote=8:loops maxnreg=40 spec{host(block)=128x1x1,host(dynamic)=0}": "demote",
		"shape=64x1x1 spec{host(block)=128x1x1,host(dynamic)=0}":              "shape",
		"maxnreg=40 spec{n=4}": "",
	} {
		r, err := recipe.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := leverOf(r); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
