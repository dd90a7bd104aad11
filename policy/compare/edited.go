// SPDX-License-Identifier: Apache-2.0

package compare

import "gnvcc/cache"

// Edited kernels beside their originals, for the page of gnvcc judge: what became of them has been
// found out already.

// An Edited is one of them.
type Edited struct {
	Name, Short, Source, Target string
	Content                     [2][]byte      // the cubins: of the original, of the edit
	Build                       [2]cache.Build // what ptxas said of them
	Launch                      *Launch        // the first on which they were run; nil: none
	Equal, Slower, Faster       bool
	Why                         string  // in words
	Ratio                       float64 // 0: not known
	Predicted                   bool
}

// Edits are they as a comparison.
func Edits(before, after string, list []Edited) *Pair {
	p := &Pair{Before: before, After: after}
	for _, e := range list {
		k := &Kernel{Kernel: e.Short, Name: e.Name, Source: e.Source, Target: e.Target, Why: e.Why}
		for n, s := range []*side{&k.before, &k.after} {
			b := e.Build[n]
			*s = side{content: e.Content[n], kernel: cache.Kernel{
				Name: e.Name, Registers: b.Registers, Spill: b.Spill, Stack: b.Stack, Shared: b.Shared,
				Barriers: b.Barriers}}
			s.unit.Target = e.Target
		}
		k.Before, k.After = k.before.code(), k.after.code()
		if e.Launch != nil {
			k.Launches = []*Launch{e.Launch}
			k.fit()
		}
		if k.Ratio = e.Ratio; e.Predicted {
			k.Ratio, k.Predicted = 0, e.Ratio
		}
		switch {
		case !e.Equal:
			k.Verdict = unequal
		case e.Slower:
			k.Verdict = slower
		case e.Faster:
			k.Verdict = faster
		default:
			k.Verdict = alike
		}
		p.Kernels = append(p.Kernels, k)
	}
	return p
}
