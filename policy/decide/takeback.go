package decide

import (
	"fmt"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// TakeBack makes a decision one for nvcc's own code, since the program is no faster with its recipe.
// The notebooks of what it was measured on say so, too: the next search looks for another one.
func TakeBack(m policy.Memory, d *cache.Decision, leave, why string) error {
	refused := fmt.Sprintf("%s (in the program, all launches)", why)
	texts := []string{d.Recipe}
	if r, err := recipe.Parse(d.Recipe); err == nil {
		entries, _ := r.Entries()
		for _, e := range entries {
			texts = append(texts, e.String())
		}
	}
	d.Evidence.Note = strings.TrimSuffix(fmt.Sprintf("%s was taken back: %s; %s", d.Recipe, why, d.Evidence.Note), "; ")
	d.Recipe, d.Exactness = "", rewrite.ExactnessOf(recipe.Recipe{}).String()
	d.Evidence.Chosen, d.Evidence.Normals, d.Evidence.Outvoted = d.Evidence.Default, nil, nil
	if rest := d.Evidence.Rest; rest != nil {
		d.Evidence.Rest = &cache.Rest{Others: rest.Others + rest.Between}
	}
	d.Evidence.Launches = append([]cache.Launch(nil), d.Evidence.Launches...)
	for i := range d.Evidence.Launches {
		l := &d.Evidence.Launches[i]
		l.After = l.Before
		key := Key(d.Identity, d.Evidence.Device, policy.ShapeMeasured(*l), leave)
		n := Read(m, key, d.Identity)
		for _, text := range texts {
			refuse(&n, text, refused)
		}
		if err := Write(m, key, n); err != nil {
			return fmt.Errorf("keep why %s was taken back: %w", d.Kernel, err)
		}
	}
	return nil
}

// refuse notes in a notebook that a recipe is not to be taken, and that there may be others.
func refuse(n *Notebook, text, why string) {
	n.Done = false
	for _, tr := range n.Trials {
		if tr.Text == text {
			tr.Refused = why
			return
		}
	}
	if r, err := recipe.Parse(text); err == nil {
		n.Trials = append(n.Trials, &policy.Trial{Recipe: r, Text: text, Refused: why})
	}
}
