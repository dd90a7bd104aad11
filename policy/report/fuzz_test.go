package report

import (
	"encoding/json"
	"io"
	"testing"

	"gnvcc/cache"
)

// FuzzDecision reads a hostile decision, and reports and explains it.
func FuzzDecision(f *testing.F) {
	for _, d := range someDecisions() {
		b, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(
		[]byte(
			`{"Target":"sm_","Recipe":"spec{|}","Evidence":{"Launches":[{"Grid":[-1,0,0],"Block":[0,-5,9],"Count":-9,"Before":{"Median":1e308}}],"Tried":[{}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d cache.Decision
		if json.Unmarshal(b, &d) != nil {
			return
		}
		Explain(io.Discard, NewEntry(d))
		if err := Write(io.Discard, []cache.Decision{d, d}, Options{}); err != nil {
			t.Fatal(err)
		}
	})
}
