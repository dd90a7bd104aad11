package retune

import (
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/policy/watch"
)

// Stale is watch.World's: another GPU or another driver than the decision was measured with.
func (w *World) Stale(k watch.Kernel, list []watch.Captured) watch.News {
	here, driver := w.o.Machine.Device(), w.o.Machine.Driver()
	device := list[0].Device
	if here != "" && !slices.ContainsFunc(list, func(c watch.Captured) bool {
		return c.Device == here
	}) {
		if w.Decided(k.Identity, here) {
			return watch.News{}
		}
		return watch.News{Run: true,
			Why: fmt.Sprintf("its launches were captured on %s, this is %s", device, here)}
	}
	if here != "" {
		device = here
	}
	d, decided := w.decision(k.Identity, device)
	was := d.Evidence.Driver
	if !decided || d.Pinned || driver == "" || was == "" || was == driver {
		return watch.News{}
	}
	return watch.News{Why: fmt.Sprintf("it was measured with driver %s, this is %s", was, driver)}
}

// decision is the newest one that stands for a kernel on a GPU: one that was pinned goes first.
func (w *World) decision(identity, device string) (best cache.Decision, found bool) {
	for _, d := range w.decisions.Known(identity) {
		if d.Pinned {
			return d, true
		}
		if d.Evidence.Device == device && !d.Approximate() &&
			(!found || d.Time.After(best.Time)) {
			best, found = d, true
		}
	}
	return best, found
}
