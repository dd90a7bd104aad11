package predicted

import (
	"errors"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/sim/predict"
)

func TestShape(t *testing.T) {
	d := &cache.Decision{Evidence: cache.Evidence{Launches: []cache.Launch{
		{Grid: [3]int{10, 1, 1}, Block: [3]int{64, 1, 1}, Count: 1, Before: cache.Time{Median: 100}},
		{Grid: [3]int{20, 2, 1}, Block: [3]int{32, 8, 1}, Dynamic: 512, Count: 5,
			Before: cache.Time{Median: 90}},
	}}}
	if s, assumed := shapeOf(&policy.Kernel{}, d, 0); s.Threads() != 256 || s.Blocks() != 40 ||
		s.Dynamic != 512 || len(assumed) != 0 {
		t.Errorf("the launch that takes most time: %+v, %v", s, assumed)
	}
	s, assumed := shapeOf(&policy.Kernel{MaxThreads: 128, Dynamic: true}, nil, 0)
	if s.Threads() != 128 || s.Blocks() != 0 || !strings.Contains(strings.Join(assumed, ";"),
		"128 threads") || len(assumed) != 3 {
		t.Errorf("nothing known: %+v, %v", s, assumed)
	}
}

// A cap with other floating-point instructions is passed over, however fast it is predicted to be.
func TestBest(t *testing.T) {
	k := Kernel{Ranked: []predict.Ranked{{Recipe: "maxnreg=24", Time: 0.5}, {Recipe: "maxnreg=32",
		Time: 0.8}}, Same: map[string]error{}}
	if r, ok := k.Best(); !ok || r.Recipe != "maxnreg=24" {
		t.Errorf("%+v, %v", r, ok)
	}
	k.Same["maxnreg=24"] = errors.New("other floating-point instructions")
	if r, ok := k.Best(); !ok || r.Recipe != "maxnreg=32" {
		t.Errorf("%+v, %v", r, ok)
	}
	k.Ranked[1].Time = 0.93 // within what models are wrong by
	if _, ok := k.Best(); ok {
		t.Error("7 % predicted are enough")
	}
	// A copy for a block that nobody has seen is ranked, and not taken.
	copied := "demote=spill maxnreg=32 spec{host(block)=256x1x1,host(dynamic)=0}"
	k.Ranked = append([]predict.Ranked{{Recipe: copied, Time: 0.6}}, k.Ranked...)
	k.Ranked[2].Time = 0.8
	k.Assumed = []string{"blocks of 256 threads"}
	if r, ok := k.Best(); !ok || r.Recipe != "maxnreg=32" {
		t.Errorf("%+v, %v", r, ok)
	}
	k.Assumed = nil
	if r, ok := k.Best(); !ok || r.Recipe != copied {
		t.Errorf("%+v, %v", r, ok)
	}
}

// TestNote: what the model can't tell apart is called so.
func TestNote(t *testing.T) {
	k := Kernel{Same: map[string]error{}}
	if n := k.Note(predict.Ranked{Time: 0.997}); !strings.Contains(n, "as fast as nvcc's own") {
		t.Errorf("%q", n)
	}
	if n := k.Note(predict.Ranked{Time: 0.9}); n != "" {
		t.Errorf("%q", n)
	}
}

// TestCurve: a row a count, with bars of warps and of spills.
func TestCurve(t *testing.T) {
	c := Curve{Kernel: &policy.Kernel{Short: "k", Target: "sm_90"}, Assumed: []string{"many blocks"}, Own: 48, Points: []CurvePoint{
		{32, 64, 100, true}, {40, 48, 50, false}, {48, 32, 0, true}}}
	var out strings.Builder
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	want := "k (sm_90), every register count that ptxas gives, many blocks\n" +
		"registers  warps                                    spill accesses\n" +
		"       32     64  ################################     100  ################################  critical point\n" +
		"       40     48  ########################              50  ################\n" +
		"       48     32  ################                       0    critical point  nvcc's own\n"
	if out.String() != want {
		t.Errorf("%s\nnot\n%s", out.String(), want)
	}
}
