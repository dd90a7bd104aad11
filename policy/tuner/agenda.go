package tuner

import (
	"cmp"
	"math"
	"os"
	"slices"
	"time"

	"gnvcc/policy/search"
	"gnvcc/profile/capture"
)

// In which order captures are replayed, and for how long. Where the budget has room for a whole
// search of each, the heaviest comes first and has its share of the time. Where it has not, each
// configuration is looked at for a moment first (policy/search/first.go), the heaviest first; one
// of which that shows something goes on at once, since its process and memory are there. What is
// left goes to the searches that were ended, those that promise most first: where the look showed
// nothing, last.

const (
	// enough for a whole search: of 725 recorded replays nine in ten took no longer (bench/results)
	enough = 8 * time.Second
	// looks: what a look takes at least and at the most
	shortest, briefly = time.Second, 3 * time.Second
	// What searches took off their kernels' time in the mean, of 203 kernels in bench/results: of
	// those of which no lever alone took off a promising part, of all, and beyond what such a lever
	// had, a part of that.
	promising = 0.03
	nothing   = 0.002
	unknown   = 0.15
	further   = 0.14
	// and what levers alone did, where they did so to one that is like it, or did not (360 pairs)
	likely, unlikely = 0.18, 0.03
)

// An agenda is what is left to be done.
type agenda struct {
	w     *ReplaySearch
	items []*item
	left  func() time.Duration // of the budget
}

// An item is a job, how often its capture was replayed, and what is known of its configuration
// (search.Config).
type item struct {
	Job
	led        *capture.Manifest // who led it before it was searched on itself
	visits     int
	gain       float64
	tried, cut bool
	open       int     // search.Config.Left
	late       bool    // there is no time for it
	hope       float64 // of the gain, while nothing was tried
}

func (w *ReplaySearch) newAgenda(list []Job, left func() time.Duration) *agenda {
	a := &agenda{w: w, left: left}
	for _, j := range list {
		a.items = append(a.items, &item{Job: j, hope: unknown})
	}
	for _, x := range a.items {
		a.learn(x)
	}
	return a
}

// learn takes over what is known of an item, and what that says of those like it.
func (a *agenda) learn(x *item) {
	c := a.w.config(x.Capture)
	x.gain, x.tried, x.cut, x.open = c.Gain(), c.Tried(), c.Cut(), c.Left()
	for _, o := range a.items {
		switch {
		case !x.tried || !x.like(o):
		case x.gain >= promising:
			o.hope = likely
		case o.hope != likely:
			o.hope = unlikely
		}
	}
}

// spread lets another size be searched on where nothing won on the one that leads it: that one in
// the middle, and where its launches are too short for a search, the smallest one. Sizes between
// two on which nothing is better were looked at, too.
func (a *agenda) spread(now *item) {
	c := a.w.config(now.Capture)
	if !now.leads() || now.led != nil && !c.TooShort() || c.Decided() {
		return
	}
	leader := cmp.Or(now.led, now.Capture)
	var next *item
	for _, x := range a.items {
		if x.Leader == leader && x.Rest >= smallest && (next == nil ||
			(threads(x.Capture) > threads(next.Capture)) == (now.led == nil)) {
			next = x
		}
	}
	if next != nil {
		next.led, next.Leader, next.Share = leader, nil, next.Rest
	}
}

// leads tells of a capture on which is searched, and not only checked.
func (j Job) leads() bool { return j.Leader == nil && j.Before == nil }

// next is what promises most; nil: nothing is left. What won is checked before anything new is
// begun: without that it can't be adopted. A file that is there already counts for something.
func (a *agenda) next(there map[*item]<-chan file) *item {
	best, most := a.best(func(*item) bool { return true })
	first, worth := a.best(func(x *item) bool { return there[x] != nil })
	if first != nil && worth > most/2 {
		return first
	}
	return best
}

// after is what comes after an item as far as one knows now, and what may where that shows nothing:
// the first may be like it. There must be room for the files of both, and as much again for others.
func (a *agenda) after(now *item) (next, other *item) {
	next, _ = a.best(func(x *item) bool { return x != now })
	if next == nil || next.visits > 0 || !next.like(now) {
		return next, nil
	}
	other, _ = a.best(func(x *item) bool { return x != now && !x.like(now) })
	if other != nil {
		both := next.Capture.Filled + other.Capture.Filled
		if 4*both > capture.Room(cmp.Or(a.w.memory.For(both), a.w.Scratch, os.TempDir())) {
			other = nil
		}
	}
	return next, other
}

// best is the item that promises most of some.
func (a *agenda) best(of func(*item) bool) (best *item, most float64) {
	for _, x := range a.items {
		if worth, ok := a.worth(x); ok && of(x) && (best == nil || worth > most) {
			best, most = x, worth
		}
	}
	return best, most
}

// worth is the part of the run's time that a replay may well take off; ok: there is one to be done.
func (a *agenda) worth(x *item) (worth float64, ok bool) {
	c := a.w.config(x.Capture)
	if x.late {
		return 0, false
	}
	switch again := a.w.account.row(x.Capture).Same; {
	case x.visits > 1 || x.visits == 1 && !again:
		return 0, false
	case x.visits == 1 && c.Awaited():
		return 1 + x.Share, true
	case x.visits == 1 && !(x.leads() && x.cut): // on which a later winner was not compared
		return -1, c.Missed(x.Capture.ID)
	case a.open(cmp.Or(x.Leader, x.Before)), x.Leader != nil && !c.Decided():
		return 0, true
	case x.Leader != nil, x.Before != nil && c.Decided() && c.Differs():
		return 1 + x.Share, true // without it what won can't be adopted
	case x.tried || x.visits > 0:
		return x.Share * promise(x.gain), true
	}
	return x.Share * x.hope, true
}

// promise is what a search may take off a kernel's time of which is known what a look has.
func promise(gain float64) float64 {
	if gain < promising {
		return nothing
	}
	return further * gain
}

// like tells of the same kernel, and of one whose launches are as large and take about as long.
func (x *item) like(o *item) bool {
	a, b := x.Capture, o.Capture
	if a.Kernel == b.Kernel && a.Cubin == b.Cubin {
		return true
	}
	each := func(m *capture.Manifest) float64 { return m.Use.Seconds / float64(max(m.Use.Count, 1)) }
	return a.Grid == b.Grid && a.Block == b.Block && a.Dynamic == b.Dynamic &&
		math.Abs(each(a)-each(b)) < 0.1*max(each(a), each(b))
}

// open tells whether a capture was not replayed yet.
func (a *agenda) open(m *capture.Manifest) bool {
	return slices.ContainsFunc(a.items, func(x *item) bool { return x.Capture == m && x.visits == 0 })
}

// visited counts the captures that were replayed, or need not be.
func (a *agenda) visited() (n int) {
	for _, x := range a.items {
		n += min(x.visits, 1)
	}
	return n
}

// part is what of the time that is left an item gets: at first by its share of the time, later by
// what it promises.
func (a *agenda) part(now *item) time.Duration {
	var sum, mine float64
	for _, x := range a.items {
		weight := x.Share
		if worth, ok := a.worth(x); now.visits > 0 {
			if weight = max(worth, 0); !ok {
				weight = 0
			}
		} else if x.visits > 0 {
			weight = 0
		}
		if sum += weight; x == now {
			mine = weight
		}
	}
	return time.Duration(float64(a.left()) * mine / max(sum, 1e-12))
}

// look is the look with which the search on an item begins; nil: with none, since there is time
// for all, or nothing else to do. After it the search gets what its promise is worth beside that of
// all others, which take three times as long: they need a process, and their memory in it. Less
// than a look is nothing.
func (a *agenda) look(now *item) *search.Look {
	waiting, others := time.Duration(0), 0.0
	for _, x := range a.items {
		if x.visits == 0 && x.leads() {
			waiting++
		}
		if worth, ok := a.worth(x); ok && x != now && x.leads() {
			others += max(worth, 0)
		}
	}
	left := a.left()
	if waiting < 2 || !now.leads() || left/waiting >= enough {
		return nil
	}
	return &search.Look{For: min(max(left/(2*waiting), shortest), briefly),
		More: func(gain float64) time.Duration {
			mine := 3 * now.Share * promise(gain)
			part := time.Duration(float64(a.left()) * mine / (mine + others) * 4 / 5)
			if part < shortest {
				return 0
			}
			return part
		}}
}

// tell says what the budget did not reach.
func (a *agenda) tell() {
	missed, cut := 0, 0
	for _, x := range a.items {
		switch before := cmp.Or(x.Leader, x.Before); {
		case x.visits == 0 && !a.open(before) && a.w.settled(x.Job, nil):
			a.w.account.stands(before, x.Capture)
		case x.visits == 0:
			missed++
		case x.cut && x.leads():
			cut++
		}
	}
	a.w.Say(
		"the budget of %v is used up: %d of %d captures were not searched, and on %d the search did not come to its end; the next run continues",
		a.w.Budget, missed, len(a.items), cut)
}
