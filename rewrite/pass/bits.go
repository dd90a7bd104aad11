package pass

import (
	"bytes"
	"strconv"
)

// The widths of PTX types.

// PredBits stands for a predicate register's width.
const PredBits = 1

// BitsOf is the width of a PTX type, 0 for what is none (vectors of halves have the width of all).
func BitsOf(typ string) int {
	switch typ {
	case "pred":
		return PredBits
	case "f16x2", "bf16x2":
		return 32
	}
	if n, ok := bytes.CutPrefix([]byte(typ), []byte("bf")); ok {
		typ = "f" + string(n)
	}
	if len(typ) < 2 || typ[0] != 'b' && typ[0] != 'u' && typ[0] != 's' && typ[0] != 'f' {
		return 0
	}
	switch n, _ := strconv.Atoi(typ[1:]); n {
	case 8, 16, 32, 64, 128:
		return n
	}
	return 0
}
