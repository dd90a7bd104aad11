package main

import (
	"strings"
	"testing"
)

// TestBlocksFor: as many registers as ptxas 11.8 and 13.0 gave a kernel that wants more, built for
// sm_80 with __launch_bounds__(block, blocks).
func TestBlocksFor(t *testing.T) {
	for _, c := range []struct {
		registers string
		block     int
		blocks    string
	}{
		{"80", 256, "3"}, {"48", 256, "5"}, {"80", 96, "7"}, {"72", 100, "7"}, {"56", 128, "9"},
		{"40", 128, "11"}, {"64", 1024, "1"}, {"40", 512, "3"}, {"96", 32, "17"}, {"64", 192, "5"},
		{"56", 64, "17"},
	} {
		if got, err := blocksFor(c.registers, c.block); got != c.blocks || err != nil {
			t.Errorf("%s registers, blocks of %d: %s, %v; want %s", c.registers, c.block, got, err, c.blocks)
		}
	}
	for _, c := range []struct {
		registers string
		block     int
		says      string
	}{
		{"56", 256, "gives 64 or 48 registers, not 56"}, {"128", 1024, "gives 64 registers, not 128"},
		{"x", 256, "invalid syntax"},
	} {
		got, err := blocksFor(c.registers, c.block)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s registers, blocks of %d: %s, %v; want %q", c.registers, c.block, got, err, c.says)
		}
	}
}
