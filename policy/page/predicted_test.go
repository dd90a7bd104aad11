package page

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/policy/predicted"
	"gnvcc/sim"
	"gnvcc/sim/predict"
	"gnvcc/sim/xmodel"
)

func predictedOf(p predict.Picture) *Predicted {
	return &Predicted{Kernel: &predicted.Kernel{Picture: p,
		Same: map[string]error{"maxnreg=24": errors.New("<b>other</b> floats")},
		Ranked: []predict.Ranked{{Recipe: "maxnreg=24", Time: 0.5, Paper: 0.7}, {Recipe: "maxnreg=32",
			Err: errors.New("no launch")}}}}
}

// Values of a hostile or odd file draw what can be drawn, and no number that is none.
func TestPredicted(t *testing.T) {
	m := xmodel.Model{Machine: xmodel.Machine{Memory: xmodel.Memory{Latency: 600, Rate: 0.05,
		Cache: 32 << 10, CacheLatency: 30}, Issue: 0.5},
		Work: xmodel.Work{Warps: 64, Intensity: 2, Pace: 0.1, Alpha: 4, Beta: 1000}} // three equilibria
	good := predict.Picture{
		Units: predict.Units{Source: "a <table>"}, Assumed: []string{"many blocks"},
		Limits: []predict.Limit{{Resource: "registers", Blocks: 3, Binds: true}},
		Levels: []sim.Level{{Max: 32}, {Max: 500}},
		Times: []predict.TimePoint{{Registers: 24, Predicted: 0.8, Paper: 1.1, Measured: 0.9},
			{Registers: 32, Predicted: 1, Paper: 1}},
		Graph:   predict.NewGraph(m),
		Cached:  m,
		Hottest: predict.Loop{Offset: 64, Cycles: 100, Issue: 40, Wait: 60, Insts: 9, Share: 0.5},
	}
	odd := good
	odd.Times = []predict.TimePoint{{Registers: 24, Predicted: math.Inf(1), Paper: math.NaN()},
		{Registers: 24, Measured: -1}}
	odd.Graph.Supply, odd.Graph.Demand = []float64{0, 0}, []float64{math.NaN(), 0}
	odd.Graph.K, odd.Graph.Points = []float64{0, 0}, nil
	odd.Graph.Model, odd.Cached = xmodel.Model{}, xmodel.Model{}
	odd.Cached.Warps = math.Inf(1)
	odd.Hottest = predict.Loop{Offset: 1, Cycles: math.Inf(1), Issue: math.NaN()}
	for name, c := range map[string]struct {
		f    *Predicted
		want []string
		not  []string
	}{
		"good": {predictedOf(good), []string{"Rates: a &lt;table&gt;",
			"registers</td><td class=\"n\">3 (binds)", "measured, 24 registers: 0.900", "unstable: ",
			"&lt;b&gt;other&lt;/b&gt; floats", "no launch", "issues 40", "critical point 32",
			"With twice the warps: ", "With half the warps: ", "With half the memory traffic: ",
			"With twice as many independent instructions: ", "With twice the L1 cache: ",
			"With half the warps past the L1 cache: ", "before: ", "after: ", `class="curve old"`},
			[]string{"critical point 500", "<b>other"}},
		"odd": {predictedOf(odd), []string{"maxnreg=24"}, []string{"NaN", "Inf"}},
		"no loop": {predictedOf(predict.Picture{Hottest: predict.Loop{Offset: -1}}),
			[]string{"maxnreg=24"}, []string{"hottest loop", "X-graph"}},
		"none": {&Predicted{Err: errors.New("sm_999 is not in the <table>")},
			[]string{"Nothing can be predicted: sm_999 is not in the &lt;table&gt;"}, []string{"RegDem"}},
	} {
		var out bytes.Buffer
		in := Input{Made: time.Unix(0, 0), Predicted: func(cache.Decision) *Predicted {
			return c.f
		}, Undecided: []cache.Decision{{Identity: "i", Kernel: "_Z1kv", Target: "sm_90"}}}
		if err := Write(&out, in); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(out.String(), "<details")
		for _, want := range append(c.want, "Not tuned yet") {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		for _, not := range append(c.not, "faster") {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q in\n%s", name, not, text)
			}
		}
	}
}
