package decide

import (
	"encoding/json"
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// How what was found outlives the run: trials are kept, and the next run begins where this one
// ended.

// A Notebook is what is remembered of one kernel identity on one configuration, device and driver.
type Notebook struct {
	Identity string // of the kernel: its name is a hash, and gnvcc pin --forget has to find it
	Trials   []*policy.Trial
	Done     bool // the search had ended by itself, not by its budget
	Cost     cache.Cost
	Counts   *cache.Counts `json:",omitempty"` // of one launch of it
}

// Compared reports whether a recipe, or an entry of it, was compared on fresh samples and not refused.
func (n *Notebook) Compared(text string) bool {
	texts := []string{text}
	if r, err := recipe.Parse(text); err == nil {
		entries, _ := r.Entries()
		for _, e := range entries {
			texts = append(texts, e.String())
		}
	}
	return slices.ContainsFunc(n.Trials, func(tr *policy.Trial) bool {
		return tr.Refused == "" && tr.Confirmed != nil && slices.Contains(texts, tr.Text)
	})
}

// Key names it. What was found with leave to approximate is kept apart from what was found without
// (leave is ""). The driver's version is not part: it schedules nothing within a kernel; a trial is
// compared anew before it is adopted anyway.
func Key(identity, device string, s policy.Shape, leave string) string {
	text := fmt.Sprintf("notebook 1\n%s\n%s\n%v %v %d\n%s", identity, device, s.Grid, s.Block,
		s.Dynamic, leave)
	if s.Set != "" {
		text += "\nvalues " + s.Set
	}
	return cache.Hash([]byte(text))
}

// Read gives an empty one where there is none, or one that doesn't say whose it is.
func Read(m policy.Memory, key, identity string) Notebook {
	n := Notebook{Identity: identity}
	if m == nil {
		return n
	}
	var old Notebook
	if b, ok := m.Recall(key); !ok || json.Unmarshal(b, &old) != nil || old.Identity != identity {
		return n
	}
	n = old
	kept := n.Trials[:0]
	for _, t := range n.Trials {
		if t == nil {
			continue // not written by us
		}
		r, err := recipe.Parse(t.Text)
		if err != nil {
			continue // of another version: tried again
		}
		t.Recipe = r
		kept = append(kept, t)
	}
	n.Trials = kept
	return n
}

// NotebookOf gives the identity of the kernel whose notebook a text is, "" where it is none.
func NotebookOf(text []byte) string {
	var n struct{ Identity string }
	if json.Unmarshal(text, &n) != nil {
		return ""
	}
	return n.Identity
}

// Write keeps it.
func Write(m policy.Memory, key string, n Notebook) error {
	if m == nil {
		return nil
	}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return m.Remember(key, b)
}
