package tuner

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/policy/report"
	"gnvcc/policy/search"
	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// TestThousand: of a thousand kernels that take the same, most of which were not captured, the
// closing paragraph says in one sentence that another run goes on, and not that most of the time is
// too small to be looked at.
func TestThousand(t *testing.T) {
	var made Observed
	for i := range 1000 {
		s := capture.Seen{Launch: &profile.Launch{Kernel: fmt.Sprint("k", i), Cubin: "c", Count: 1,
			Grid: [3]int{8, 1, 1}, Block: [3]int{32, 1, 1}, Process: &profile.Process{},
			Device: &profile.Device{}}, Use: capture.Use{Count: 1, Seconds: 0.01, Sampled: 1, Sets: 1}}
		if i >= 950 { // beside them some that weigh nothing
			s.Use.Seconds = 1e-5
		}
		made.Seen = append(made.Seen, s)
	}
	store, err := capture.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own := search.NewRun(context.Background(), policy.Defaults(), kernelsByName{}, nil, nil, nil)
	w := &ReplaySearch{Captures: store, Run: own, Kernel: kernelsByName{}.Kernel, Say: t.Logf}
	r := &run{Request: Request{Signals: noSignals{context.Background()}}}
	if _, err := w.searchSeen(r, made); err != nil {
		t.Fatal(err)
	}
	results, err := own.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if len(r.Alone) > 0 {
			t.Fatalf("each is listed: %+v", r.Alone)
		}
	}
	got := strings.Join(strings.Fields(report.Outcome{Parts: w.account.pieces(nil)}.String()), " ")
	if !strings.Contains(got, "nearly all: "+manyMissing+": k") || !strings.Contains(got, ", 947 more < 0.1 %: "+tooSmall) ||
		!strings.HasSuffix(got, ", 47 more") || len(got) > 400 {
		t.Error(got)
	}
}
