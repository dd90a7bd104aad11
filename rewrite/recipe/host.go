package recipe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Host is what of a spec term's conditions the host alone looks at; the copy is not told, and nothing in its code depends on it.
type Host struct {
	Block      [3]int // host(block)=256x1x1; zeros: any
	HasDynamic bool   // host(dynamic)=0: bytes of dynamic shared memory
	Dynamic    int
	Only       bool // there are no other conditions: the copy is the kernel as nvcc compiles it
}

// HostConditions reads them.
func HostConditions(conditions string) (Host, error) {
	h := Host{Only: true}
	conditions, _, _ = strings.Cut(conditions, "|")
	for _, c := range strings.Split(conditions, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(c), "=")
		switch {
		case name == "host(block)":
			parts := strings.Split(value, "x")
			if len(parts) != 3 || h.Block[0] != 0 {
				return h, fmt.Errorf("%s: a block is XxYxZ, and there is one", c)
			}
			for i, p := range parts {
				n, err := strconv.Atoi(p)
				if err != nil || strconv.Itoa(n) != p || n < 1 || n > 1024 {
					return h, fmt.Errorf("%s: %q is not a number from 1 to 1024", c, p)
				}
				h.Block[i] = n
			}
		case name == "host(dynamic)":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || n > 1<<20 || h.HasDynamic || strconv.Itoa(n) != value {
				return h, fmt.Errorf("%s: bytes of dynamic shared memory are a number from 0, and stand once", c)
			}
			h.HasDynamic, h.Dynamic = true, n
		case strings.HasPrefix(name, "host("):
			return h, fmt.Errorf("%s: the host knows host(block) and host(dynamic)", c)
		default:
			h.Only = false
		}
	}
	if h.Only && h.Block[0] == 0 && !h.HasDynamic {
		return h, errors.New("a second entry without a condition")
	}
	return h, nil
}

// HostOnly tells whether a term is a spec that only the host looks at.
func (t Term) HostOnly() bool {
	if t.Lever != "spec" || !t.Brace {
		return false
	}
	h, err := HostConditions(t.Value)
	return err == nil && h.Only
}
