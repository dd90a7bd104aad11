package search

import "gnvcc/cache"

// A search costs the time that the program stood still for it, the candidates, and the tools'
// runs. It is kept with what the search found (the notebook, then the decision), and adds up over
// the runs that went on with it.

// spent sums the tools up. Runs that another kernel's candidates cause meanwhile are few: kernels are
// searched one after the other, and what was not compiled in time goes on during the next one.
func (t *Run) spent() cache.Cost {
	var c cache.Cost
	for _, tool := range []struct {
		name string
		runs *int
	}{{"cicc", &c.Cicc}, {"ptxas", &c.Ptxas}} {
		runs, took := t.compiler.Spent(tool.name)
		*tool.runs = runs
		c.Compiling += took.Seconds()
	}
	return c
}

// cost is what the search of this configuration has cost so far, all runs together.
func (s *search) cost() cache.Cost {
	now := s.t.spent()
	return cache.Cost{
		Seconds:    s.before.Seconds + s.t.now().Sub(s.begun).Seconds(),
		Candidates: len(s.c.Notebook.Trials),
		Cicc:       s.before.Cicc + now.Cicc - s.spent.Cicc,
		Ptxas:      s.before.Ptxas + now.Ptxas - s.spent.Ptxas,
		Compiling:  s.before.Compiling + now.Compiling - s.spent.Compiling,
	}
}
