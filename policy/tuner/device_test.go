package tuner

import (
	"context"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/search"
	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// TestTwoDevices: what was decided for one model of GPU says nothing about the time that the same
// kernel takes on another one, and each has a result of its own.
func TestTwoDevices(t *testing.T) {
	seen := func(device string, seconds float64) capture.Seen {
		return capture.Seen{Launch: &profile.Launch{Kernel: "k", Cubin: "c", Grid: [3]int{8, 1, 1},
			Block: [3]int{32, 1, 1}, Count: 1, Process: &profile.Process{},
			Device: &profile.Device{Name: device}}, Why: "too large",
			Use: capture.Use{Count: 1, Seconds: seconds, Sampled: 1}}
	}
	made := Observed{Run: capture.Run{Seen: []capture.Seen{seen("H100", 4), seen("H200", 2)}}}
	own := search.NewRun(context.Background(), policy.Defaults(), kernelsByName{}, nil, nil, nil)
	store, err := capture.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &ReplaySearch{Captures: store, Run: own, Kernel: kernelsByName{}.Kernel, Say: t.Logf}
	r := &run{Request: Request{Signals: noSignals{context.Background()}}}
	if _, err := w.searchSeen(r, made); err != nil {
		t.Fatal(err)
	}
	results, err := own.Finish()
	if err != nil || len(results) != 2 || results[0].Device == results[1].Device {
		t.Fatalf("%+v, %v", results, err)
	}

	var a account
	for i, device := range []string{"H100", "H200"} {
		a.rows = append(a.rows, row{Kernel: "k", Device: device, Seconds: float64(4 - 2*i)})
	}
	d := &cache.Decision{Recipe: "maxnreg=32", Evidence: cache.Evidence{Device: "H100",
		Launches: []cache.Launch{{Count: 1, Before: cache.Time{Median: 2},
			After: cache.Time{Median: 1}}}}}
	pieces := a.pieces([]decide.Result{{Kernel: policy.Kernel{Name: "k"}, Device: "H100", Decision: d},
		{Kernel: policy.Kernel{Name: "k"}, Device: "H200"}})
	if len(pieces) != 1 || pieces[0].Seconds != 6 || pieces[0].After != 2+2 {
		t.Errorf("%+v", pieces)
	}
}
