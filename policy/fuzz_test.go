package policy

import (
	"encoding/json"
	"io"
	"regexp"
	"testing"

	"gnvcc/cache"
)

// oneBook is a memory with one text under every key.
type oneBook []byte

func (m oneBook) Recall(string) ([]byte, bool)  { return m, true }
func (m oneBook) Remember(string, []byte) error { return nil }

// FuzzNotebook reads a foreign notebook, and asks of its trials what the search and the decision ask.
func FuzzNotebook(f *testing.F) {
	f.Add([]byte(`{"Trials":[{"Text":"maxnreg=56 ld=cs"},{"Text":"spec{#1=1}"},null],"Done":true}`))
	f.Add([]byte(`{"Trials":[{"Text":"unroll=","Confirmed":{}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := readNotebook(oneBook(b), "key", NotebookOf(b))
		for i, a := range n.Trials {
			if again := a.Recipe.String(); again == "" && len(a.Recipe.Terms) > 0 {
				t.Fatalf("%q", a.Text)
			}
			leverOf(a.Recipe)
			a.Recipe.HasCopy()
			if i > 0 {
				simpler(a.Recipe, n.Trials[i-1].Recipe)
			}
		}
	})
}

// FuzzDecision reads a foreign decision, and reports and explains it.
func FuzzDecision(f *testing.F) {
	for _, d := range someDecisions() {
		b, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"Target":"sm_","Recipe":"spec{|}","Evidence":{"Launches":[{"Grid":[-1,0,0],"Block":[0,-5,9],"Count":-9,"Before":{"Median":1e308}}],"Tried":[{}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d cache.Decision
		if json.Unmarshal(b, &d) != nil {
			return
		}
		Explain(io.Discard, NewEntry(d))
		for _, o := range []ReportOptions{{}, {Verbose: true}, {JSON: true}, {Kernel: regexp.MustCompile("k")}} {
			if err := Report(io.Discard, []cache.Decision{d, d}, o); err != nil && !o.JSON {
				t.Fatal(err)
			}
		}
	})
}
