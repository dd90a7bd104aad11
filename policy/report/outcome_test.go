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

// TestOutcome: the table's kernels and the reasons in order of time, kernels of libraries together.
func TestOutcome(t *testing.T) {
	o := Outcome{Words: map[string]string{"ns::heavy<ns::T>": "register cap 48"}, Parts: []policy.Piece{
		piece("small", 0.001, 0.001, "it takes less than 1 % of the time"), piece("ns::heavy<ns::T>", 2, 1.5, ""),
		piece("scan", 0.2, 0.2, "it prints"), piece("rank", 0.5, 0.5, "it traps"),
		piece("sum", 0.6, 0.6, "it prints"), piece("ns::fine<int, ns::U>", 1, 1, ""), piece("fine<float>", 0.5, 0.25, ""),
		piece("at::native::fill<4>", 0.3, 0.3, "it was not built with gnvcc"),
		piece("at::native::copy", 0.1, 0.1, "it was not built with gnvcc"),
		piece("ampere_sgemm_128x64_nn", 0.1, 0.1, "it was not built with gnvcc"),
		piece("mine", 0.05, 0.05, "it was not built with gnvcc")}}
	want := `kernel                                       share    before     after  speed-up
heavy                                       37.4 %    2.00 s    1.50 s     1.33x
    register cap 48
fine<int, U>                                18.7 %    1.00 s    1.00 s         -
fine<float>                                  9.3 %    500 ms    250 ms     2.00x

GPU time: 5.35 s, of which 65.4 % was searched; with the recipes 4.60 s, 1.16
times as fast.

Left alone:
  15 %: it prints: sum, scan
  10.3 %: it was not built with gnvcc: 2 kernels of PyTorch (7.5 %), 1 kernel of
  cuBLAS (1.9 %), mine
  9.3 %: it traps: rank
  < 0.1 %: it takes less than 1 % of the time: small
`
	if got := o.String(); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	if o.Verbose = true; !strings.Contains(o.String(), "fill, ampere_sgemm_128x64_nn, copy") {
		t.Error(o.String())
	}
	cut := []policy.Piece{piece("k", 1, 1, ""), piece("l", 3, 3, "")}
	cut[0].Cut = true
	left := []policy.Piece{{Kernel: "k", Seconds: 1, After: 1, Cut: true, Left: 12}, {Kernel: "l", Seconds: 3,
		After: 3, Cut: true, Left: 3}}
	var many []policy.Piece
	for i := range 40 { // four kernels of each of ten reasons
		many = append(many, policy.Piece{Kernel: fmt.Sprint("k", i), Seconds: 1, After: 1,
			Why: fmt.Sprint("reason ", i%10)}, policy.Piece{Kernel: fmt.Sprint("l", i), Seconds: 1, After: 1})
	}
	for _, c := range []struct {
		parts []policy.Piece
		want  []string
	}{
		{o.Parts[1:2], []string{"of which 100 % was searched; with the recipes 1.50 s, 1.33"}},
		{[]policy.Piece{piece("k", 1, 1, ""), piece("l", 1e-5, 1e-5, "it prints")},
			[]string{"GPU time: 1.00 s, of which nearly all was searched; no faster recipe was found.",
				"< 0.1 %: it prints: l"}},
		{cut, []string{"100 % was searched (25 % not completely: a longer --budget or another run continues);"}},
		{left[:1], []string{"(100 % not completely, 12 candidates of k not tried: a longer"}},
		{left, []string{"(100 % not completely, 15 candidates not tried, 12 of them of k: a longer"}},
		{[]policy.Piece{piece("k", 1, 1, "it prints")},
			[]string{"of which nothing was searched; no faster recipe was found."}},
		{many, []string{"5 %: reason 0: k0, k10, k20, 1 more", "20 %: 16 kernels for other reasons (-v lists them)",
			"and 28 more kernels (-v lists them)"}},
	} {
		got := strings.Join(strings.Fields(Outcome{Parts: c.parts}.String()), " ")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	}
	if got := (Outcome{}).String() + (Outcome{Parts: []policy.Piece{piece("k", 0, 0, "")}}).String(); got != "" {
		t.Error(got)
	}
}
