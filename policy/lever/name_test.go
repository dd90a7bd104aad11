package lever

import (
	"fmt"
	"testing"

	"gnvcc/policy"
)

// A name is tried where it is asked for, and where the kernel's own has not the word.
func TestName(t *testing.T) {
	for _, c := range []struct {
		levers     []string
		name, want string
	}{
		{[]string{"name"}, "k", "[name=cutlass spec{host(block)=256x1x1,host(dynamic)=0}]"},
		{nil, "k", "[]"},
		{[]string{"name"}, "_ZN7cutlass1kEv", "[]"},
	} {
		got := Named("name").Try(&Situation{Kernel: &policy.Kernel{Name: c.name},
			Options: &policy.Options{Levers: c.levers},
			Values:  valuesOf(t, policy.HostValue, "host(block)=256x1x1,host(dynamic)=0")})
		if fmt.Sprint(got) != c.want {
			t.Errorf("--levers %v, %s: %v, want %s", c.levers, c.name, got, c.want)
		}
	}
}
