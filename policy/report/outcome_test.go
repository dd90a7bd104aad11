package report

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/policy"
)

func piece(kernel string, seconds, after float64, why string) policy.Piece {
	return policy.Piece{Kernel: kernel, Seconds: seconds, After: after, Why: why}
}

// TestOutcome: shares of time, in order of time, each reason once.
func TestOutcome(t *testing.T) {
	parts := []policy.Piece{piece("small", 0.001, 0.001, "it takes less than 1 % of the time"),
		piece("heavy", 2, 1.5, ""), piece("scan", 0.2, 0.2, "it prints"), piece("rank", 0.5, 0.5, "it traps"),
		piece("sum", 0.6, 0.6, "it prints"), piece("fine", 1, 1, "")}
	want := "GPU time: 4.30 s, of which 69.8 % was searched; recipes reduce it to 3.80 s, 11.6 % less." +
		" Left alone: 18.6 %, sum, scan (it prints); 11.6 %, rank (it traps);" +
		" < 0.1 %, small (it takes less than 1 % of the time)"
	if got := Outcome(parts); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	if got := Outcome(parts[1:2]); got != "GPU time: 2.00 s, of which 100 % was searched;"+
		" recipes reduce it to 1.50 s, 25.0 % less" {
		t.Error(got)
	}
	if got := Outcome([]policy.Piece{piece("k", 1, 1, ""), piece("l", 1e-5, 1e-5, "it prints")}); got !=
		"GPU time: 1.00 s, of which nearly all was searched; no faster recipe was found."+
			" Left alone: < 0.1 %, l (it prints)" {
		t.Error(got)
	}
	cut := []policy.Piece{piece("k", 1, 1, ""), piece("l", 3, 3, "")}
	cut[0].Cut = true
	if got := Outcome(cut); !strings.HasPrefix(got, "GPU time: 4.00 s, of which 100 % was searched"+
		" (25 % not completely: a longer --budget or another run continues); no faster recipe") {
		t.Error(got)
	}
	if got := Outcome([]policy.Piece{piece("k", 1, 1, "it prints")}); !strings.HasPrefix(got,
		"GPU time: 1.00 s, of which nothing was searched; no faster recipe") {
		t.Error(got)
	}
	if got := Outcome(nil) + Outcome([]policy.Piece{piece("k", 0, 0, "")}); got != "" {
		t.Error(got)
	}
	var many []policy.Piece
	for i := range 40 { // four kernels of each of ten reasons
		many = append(many, policy.Piece{Kernel: fmt.Sprint("k", i), Seconds: 1, After: 1,
			Why: fmt.Sprint("reason ", i%10)})
	}
	got := Outcome(many)
	if !strings.Contains(got, "10 %, k0, k10, k20 and 1 more (reason 0)") ||
		!strings.HasSuffix(got, "; 40 %, 16 more for other reasons") {
		t.Error(got)
	}
}
