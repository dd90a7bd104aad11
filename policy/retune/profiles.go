package retune

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gnvcc/cache"
	"gnvcc/policy/tuner"
	"gnvcc/policy/watch"
	"gnvcc/profile/nsight"
)

// What other profilers have measured, and what that says of decisions: a folder in which files are
// put (gnvcc profile --json, nsys, ncu). The newest file that has a kernel counts for it. What was
// decided after a file had come is not asked for again by it, whatever it says: a search that has
// seen it gave what it gave.

// A profiled is a file of the folder.
type profiled struct {
	*nsight.Profile
	path string
	came time.Time // into the folder, or was written there
	size int64
	err  error
}

// Profiles is watch.World's.
func (w *World) Profiles() (say []string) {
	if w.o.Profiles == "" {
		return nil
	}
	entries, err := os.ReadDir(w.o.Profiles)
	if err != nil {
		return []string{fmt.Sprintf("the folder of profiles can't be read: %v", err)}
	}
	w.mu.Lock()
	known := slices.Clone(w.profiles)
	w.mu.Unlock()
	var list []profiled
	for _, e := range entries {
		path := filepath.Join(w.o.Profiles, e.Name())
		own, err := e.Info()
		info, gone := os.Stat(path) // of a link, what it leads to: that is written again, not the link
		if err != nil || gone != nil || info.IsDir() || info.Size() == 0 || strings.HasPrefix(e.Name(), ".") {
			continue // an empty one is just being written
		}
		p := profiled{path: path, came: came(info), size: info.Size()}
		if c := came(own); c.After(p.came) {
			p.came = c
		}
		at := slices.IndexFunc(known, func(old profiled) bool {
			return old.path == p.path && old.came.Equal(p.came) && old.size == p.size
		})
		if at >= 0 {
			list = append(list, known[at])
			continue
		}
		if p.Profile, p.err = nsight.Read(context.Background(), p.path); p.err != nil {
			say = append(say, p.err.Error())
		} else {
			say = append(say, fmt.Sprintf("%s: %d kernels", p.path, len(p.Kernels)))
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b profiled) int {
		return cmp.Or(b.came.Compare(a.came), strings.Compare(a.path, b.path))
	})
	w.mu.Lock()
	w.profiles = list
	w.mu.Unlock()
	return say
}

// came is when a file was written, or moved or copied here: a copy may keep the time of writing.
func came(info os.FileInfo) time.Time {
	t := info.ModTime()
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		if c := time.Unix(s.Ctim.Unix()); c.After(t) {
			t = c
		}
	}
	return t
}

// profile is the newest one that has a kernel, nil for none.
func (w *World) profile(kernel string) (*profiled, float64) {
	w.mu.Lock()
	list := w.profiles
	w.mu.Unlock()
	for i := range list {
		if list[i].Profile == nil {
			continue
		}
		if share, known := list[i].Share(kernel); known {
			return &list[i], share
		}
	}
	return nil, 0
}

// Share is watch.World's.
func (w *World) Share(kernel string) (float64, bool) {
	p, share := w.profile(kernel)
	return share, p != nil
}

// Stale is watch.World's.
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
	p, share := w.profile(k.Name)
	if here != "" {
		device = here
	}
	d, decided := w.decision(k.Identity, device)
	switch {
	case decided && d.Pinned:
		return watch.News{}
	case !decided:
		if p == nil || share < nsight.Smallest || !slices.ContainsFunc(list, func(c watch.Captured) bool {
			return p.came.After(c.Made)
		}) {
			return watch.News{}
		}
		return watch.News{Why: fmt.Sprintf("it takes %.0f %% of the time in the profile %s, and was not tuned",
			100*share, filepath.Base(p.path))}
	}
	if why := tuner.Stale(d, nil, here, driver); why != "" {
		return watch.News{Why: why}
	}
	if p == nil {
		return watch.News{}
	}
	if p.came.After(d.Time) {
		if news := due(d, p, list); news.Why != "" {
			return news
		}
	}
	for _, s := range tuner.Unmeasured(d, p.Profile) {
		if !captured(list, s) {
			return watch.News{Run: true, Why: fmt.Sprintf(
				"it is launched as %v x %v in the profile %s, and no such launch is captured", s.Grid, s.Block,
				filepath.Base(p.path))}
		}
	}
	return watch.News{}
}

// due says why a profile that came after a decision asks for another one, on what is captured.
func due(d cache.Decision, p *profiled, list []watch.Captured) watch.News {
	unmeasured := tuner.Unmeasured(d, p.Profile)
	for _, s := range unmeasured {
		if captured(list, s) {
			return watch.News{Why: fmt.Sprintf(
				"it is launched as %v x %v in the profile %s, which was not measured", s.Grid, s.Block,
				filepath.Base(p.path))}
		}
	}
	if len(unmeasured) > 0 {
		return watch.News{} // whose launches come first
	}
	return watch.News{Why: tuner.Stale(d, p.Profile, "", "")}
}

func captured(list []watch.Captured, s nsight.Shape) bool {
	return slices.ContainsFunc(list, func(c watch.Captured) bool {
		return c.Grid == s.Grid && c.Block == s.Block
	})
}

// decision is the newest one that stands for a kernel on a GPU: one that was pinned goes first.
func (w *World) decision(identity, device string) (best cache.Decision, found bool) {
	for _, d := range w.decisions.Known(identity) {
		if d.Pinned {
			return d, true
		}
		if d.Evidence.Device == device && !d.Approximate() && (!found || d.Time.After(best.Time)) {
			best, found = d, true
		}
	}
	return best, found
}
