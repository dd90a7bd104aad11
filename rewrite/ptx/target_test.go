package ptx_test

import (
	"testing"

	"gnvcc/rewrite/ptx"
)

func TestCapability(t *testing.T) {
	for target, want := range map[string]int{
		"sm_90": 90, "sm_90a": 90, "sm_100f": 100, "sm_121": 121, "sm_75": 75,
		"compute_90": 0, "sm_": 0, "": 0, "sm_a": 0, "sm_90aa": 0, "sm_-9": 0, "sm_+90": 0, "sm_9x": 0,
		"texmode_unified": 0,
	} {
		if got := ptx.Capability(target); got != want {
			t.Errorf("%q: %d, want %d", target, got, want)
		}
	}
}
