package tuner

import (
	"fmt"
	"sync"

	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/rewrite"
)

// A program that was tuned is tuned again: what was decided on all sizes of a kernel, by searches
// that had come to their ends, stands. Its launches are neither captured nor searched on once more, and
// launches of second entries are those of their kernels.

// stood is a kernel whose decision stands.
type stood struct {
	kernel string
	shapes map[policy.Shape]bool // on which; nil: all, it is a second entry
	ratio  float64               // what the recipe makes of the time; 1: it is built with it
}

// on reports whether the decision stands for launches of a size.
func (s *stood) on(l *profile.Launch) bool {
	shape := policy.ShapeOf(l)
	shape.Set = ""
	return s != nil && (s.shapes == nil || s.shapes[shape])
}

// standings are those of a run's kernels.
type standings struct {
	of func(cubin, kernel, device string) *stood
	by sync.Map // of *stood, by module, kernel and model of GPU
}

// find gives that of a launch's kernel, nil: nothing stands.
func (s *standings) find(l *profile.Launch) *stood {
	key := fmt.Sprint(l.Cubin, " ", l.Kernel, " ", l.Model())
	if x, ok := s.by.Load(key); ok {
		return x.(*stood)
	}
	x := s.of(l.Cubin, l.Kernel, l.Model())
	s.by.Store(key, x)
	return x
}

// known is find of what was found already.
func (s *standings) known(l *profile.Launch) *stood {
	if x, ok := s.by.Load(fmt.Sprint(l.Cubin, " ", l.Kernel, " ", l.Model())); ok {
		return x.(*stood)
	}
	return nil
}

// split sorts out what stands of what was seen.
func (s *standings) split(seen []capture.Seen) (open, stand []capture.Seen) {
	for _, x := range seen {
		if s != nil && s.of != nil && s.find(x.Launch).on(x.Launch) {
			stand = append(stand, x)
		} else {
			open = append(open, x)
		}
	}
	return open, stand
}

// stood looks a kernel's decision up. One that the user asks for by other options than the usual is
// searched.
func (r *run) stood(cubin, kernel, device string) *stood {
	o := &r.Options
	if len(o.Levers) > 0 || len(o.Without) > 0 || o.Only != nil || o.Exact != rewrite.Checked ||
		o.Within != (policy.Bound{}) {
		return nil
	}
	known, entry, ok := r.compiler.BuiltAs(cubin, kernel)
	if !ok {
		return nil
	}
	d := r.decisions.Past(&policy.Kernel{Identity: known.Identity}, device)
	if d == nil || d.Evidence.Device != device || len(d.Evidence.Launches) == 0 || d.Imported != "" {
		return nil
	}
	out := &stood{kernel: known.Name, ratio: 1}
	if known.Recipe != d.Recipe {
		out.ratio = d.Evidence.Ratio()
	}
	if entry {
		if known.Recipe != d.Recipe {
			return nil
		}
		return out
	}
	all, _ := d.Evidence.Whole()
	if d.Evidence.Version != o.Version || d.Recipe == "" && d.Evidence.Note != "" ||
		d.Evidence.Rest != nil && d.Evidence.Rest.Others > 0.05*all {
		return nil
	}
	out.shapes = map[policy.Shape]bool{}
	memory, ended := Memos{r.Store}, false
	for _, l := range d.Evidence.Launches {
		shape := policy.ShapeMeasured(l)
		n := decide.Read(memory, decide.Key(d.Identity, device, shape, o.Leave()), d.Identity)
		ended = ended || n.Done
		shape.Set = ""
		was, again := out.shapes[shape]
		out.shapes[shape] = (was || !again) && (n.Done || n.Compared(d.Recipe))
	}
	if !ended {
		return nil
	}
	return out
}
