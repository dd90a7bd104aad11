package decide

import (
	"testing"

	"gnvcc/policy"
	"gnvcc/policy/lever"
)

// oneNotebook is a memory with one text under every key.
type oneNotebook []byte

func (m oneNotebook) Recall(string) ([]byte, bool) { return m, true }

func (m oneNotebook) Remember(string, []byte) error { return nil }

// FuzzNotebook reads a hostile notebook, and asks of its trials what the search and the decision
// ask.
func FuzzNotebook(f *testing.F) {
	f.Add([]byte(`{"Trials":[{"Text":"maxnreg=56 hint@ld=cs"},{"Text":"spec{#1=1}"},null],"Done":true}`))
	f.Add([]byte(`{"Trials":[{"Text":"unroll=","Confirmed":{}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := Read(oneNotebook(b), "key", NotebookOf(b))
		for i, a := range n.Trials {
			if again := a.Recipe.String(); again == "" && len(a.Recipe.Terms) > 0 {
				t.Fatalf("%q", a.Text)
			}
			lever.Of(a.Recipe)
			a.Recipe.HasSecond()
			if i > 0 {
				policy.Simpler(a.Recipe, n.Trials[i-1].Recipe)
			}
		}
	})
}
