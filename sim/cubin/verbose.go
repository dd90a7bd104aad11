// What `ptxas -v` prints, for the one fact that a cubin does not hold: the bytes spilled.

package cubin

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

var (
	verboseFunc = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ptxas info\s*: Function properties for (.*)$`)
	})
	verboseFrame = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\d+ bytes stack frame, (-?\d+) bytes spill stores, `)
	})
)

// Spills reads the messages of one ptxas -v run on one target, from among whatever else was
// printed: how many bytes the store instructions of each function spill, per thread. Functions that
// it does not speak of are not in the map.
func Spills(messages string) map[string]int {
	out := map[string]int{}
	function := ""
	for _, line := range strings.Split(messages, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if m := verboseFunc().FindStringSubmatch(line); m != nil {
			function = m[1]
		} else if m := verboseFrame().FindStringSubmatch(line); m != nil && function != "" {
			n, _ := strconv.Atoi(m[1]) // what overflows gives no count worth having
			out[function] = max(n, 0)  // with spilling to shared memory ptxas 13.0 speaks of -8 bytes
			function = ""
		}
	}
	return out
}
