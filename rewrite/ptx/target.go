package ptx

import (
	"strconv"
	"strings"
)

// Capability is the compute capability, times 10, that a target's name stands for: 90 for sm_90,
// sm_90a and sm_90f, 121 for sm_121; 0 for what is no name of a real architecture.
func Capability(target string) int {
	digits, ok := strings.CutPrefix(target, "sm_")
	if !ok {
		return 0
	}
	if last := len(digits) - 1; last >= 0 && (digits[last] == 'a' || digits[last] == 'f') {
		digits = digits[:last]
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 10 || n > 999 || digits[0] == '+' {
		return 0
	}
	return n
}
