// What `ptxas -v` prints, for the one fact that a cubin does not hold: the bytes spilled.

package cubin

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A Usage is what ptxas -v says about one function. Bytes are per thread, shared memory per block.
type Usage struct {
	Registers int // entries only; 0 for functions
	Shared    int // static
	Stack     int // own frame
	Stores    int // spilled, bytes of store instructions
	Loads     int // spilled, bytes of load instructions
}

var (
	verboseEntry = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ptxas info\s*: Compiling entry function '(.*)' for '[^']*'$`)
	})
	verboseFunc = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ptxas info\s*: Function properties for (.*)$`)
	})
	verboseFrame = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`^\s*(\d+) bytes stack frame, (-?\d+) bytes spill stores, (-?\d+) bytes spill loads$`)
	})
	verboseUsed = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ptxas info\s*: Used (\d+) registers(.*)$`)
	})
	verboseSmem = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`, (\d+)(?:\+(\d+))? bytes smem`)
	})
)

// Spills reads the messages of one ptxas -v run on one target, from among whatever else was
// printed. Functions that it does not speak of are not in the map.
func Spills(messages string) map[string]Usage {
	out := map[string]Usage{}
	var entry, function string
	for _, line := range strings.Split(messages, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if m := verboseEntry().FindStringSubmatch(line); m != nil {
			entry = m[1]
			out[entry] = Usage{}
		} else if m := verboseFunc().FindStringSubmatch(line); m != nil {
			function = m[1]
		} else if m := verboseFrame().FindStringSubmatch(line); m != nil && function != "" {
			u := out[function]
			u.Stack, u.Stores, u.Loads = count(m[1]), count(m[2]), count(m[3])
			out[function], function = u, ""
		} else if m := verboseUsed().FindStringSubmatch(line); m != nil && entry != "" {
			u := out[entry]
			u.Registers = count(m[1])
			if s := verboseSmem().FindStringSubmatch(m[2]); s != nil {
				u.Shared = count(s[1]) + count(s[2])
			}
			out[entry], entry = u, ""
		}
	}
	return out
}

func count(digits string) int {
	n, _ := strconv.Atoi(digits) // "" and what overflows give no count worth having
	return max(n, 0)             // with spilling to shared memory ptxas 13.0 speaks of -8 bytes
}
