package lever

import (
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// TestTried: what levers try of which kernels.
func TestTried(t *testing.T) {
	const second = " spec{host(block)=32x1x1,host(dynamic)=0}"
	loads := func(cc int) policy.Kernel { return policy.Kernel{Loads: 8, CC: cc} }
	for _, c := range []struct {
		lever   string
		k       policy.Kernel
		threads int
		want    string
	}{
		// thresholds as long as some warps are on either side
		{"bypass", loads(90), 256, "bypass=1; bypass=2; bypass=3; bypass=4; bypass=6"},
		{"bypass", loads(75), 1024, "bypass=1; bypass=2; bypass=3; bypass=4; bypass=8; bypass=16; bypass=24"},
		{"bypass", loads(90), 64, "bypass=1"},
		{"bypass", loads(75), 32, ""},
		// two loads that have an order, and a store
		{"inorder", *Ordered.Put(&policy.Kernel{Loads: 8, Stores: 1}, 2), 32, "inorder=on"},
		{"inorder", *Ordered.Put(&policy.Kernel{Loads: 8, Stores: 1}, 1), 32, ""},
		{"inorder", *Ordered.Put(&policy.Kernel{Loads: 8}, 2), 32, ""},
		// a load behind a store; where that is in a loop, several turns, many of them in a second entry
		{"early", loads(90), 32, ""},
		{"early", *Early.Put(&policy.Kernel{}, EarlyLoads{Loads: 3}), 32, "early=on"},
		{"early", *Early.Put(&policy.Kernel{}, EarlyLoads{Loads: 3, Turns: true}), 32,
			"early=on; early=2; early=4" + second + "; early=8" + second},
		// the next turn's loads, behind this one's store
		{"early", *Early.Put(&policy.Kernel{}, EarlyLoads{Turns: true}), 32, "early=2; early=4" + second + "; early=8" + second},
	} {
		s := &Situation{Kernel: &c.k, Shape: shape(10, c.threads), Values: []policy.Value{
			{Kind: policy.HostValue, Is: recipe.Condition{Kind: recipe.HostBlock, Size: [3]int{32, 1, 1}}},
			{Kind: policy.HostValue, Is: recipe.Condition{Kind: recipe.HostDynamic}}}}
		var got []string
		for _, r := range levers()[c.lever].Try(s) {
			got = append(got, r.String())
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s of %+v: %q, want %q", c.lever, c.k, got, c.want)
		}
	}
}
