// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/policy"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim"
)

// A Launch is a configuration in which a kernel was seen.
type Launch struct {
	Capture     string `json:",omitempty"` // its ID, where one is captured
	Grid, Block [3]int
	Dynamic     int     // dynamic shared memory, bytes
	Set         string  `json:",omitempty"`
	Count       int     `json:",omitempty"` // launches seen
	Seconds     float64 `json:",omitempty"` // on the device, in the program
	Before      Resident
	After       Resident
	// why the later build can't be launched so, though the earlier one can; "" where it can
	Fails    string    `json:",omitempty"`
	Measured *Measured `json:",omitempty"`
	Unrun    string    `json:",omitempty"` // why it was not replayed

	manifest *capture.Manifest
}

// Resident is what of a launch is on one multiprocessor at a time.
type Resident struct {
	Blocks int
	Part   float64 // of the warps that there can be
	Limit  string  `json:",omitempty"` // what keeps it from being more
}

// Shape is what makes it one configuration.
func (l *Launch) Shape() policy.Shape {
	return policy.Shape{Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic, Set: l.Set}
}

// seen gathers the launches of a kernel: those captured; else those that programs were seen to do;
// else those of its decisions, which lock files bring to machines that have run nothing; else one
// is assumed.
func (k *Kernel) seen(profiles []*capture.Profile, builds *apply.Builds,
	decided []cache.Decision) {
	for _, m := range k.captures {
		k.Launches = append(k.Launches, &Launch{Capture: m.ID, Grid: m.Grid, Block: m.Block,
			Dynamic: m.Dynamic, Set: m.Use.Set, Count: m.Use.Count, Seconds: m.Weight(), manifest: m})
	}
	// A profile knows launches that were not captured as well: they have to be launchable, too.
	for _, p := range profiles {
		for _, line := range p.Shapes {
			// another program may have a kernel of the same name
			if ptx.StableName(line.Kernel) == ptx.StableName(k.Name) &&
				slices.ContainsFunc(builds.Of(line.Cubin, line.Kernel), func(at apply.Place) bool {
					return at.Output == k.output
				}) {
				k.add(&Launch{Grid: line.Grid, Block: line.Block, Dynamic: line.Dynamic, Count: line.Count,
					Seconds: line.Seconds})
			}
		}
	}
	for _, d := range decided {
		if slices.Contains(k.identities, d.Identity) {
			for _, l := range d.Evidence.Launches {
				k.add(&Launch{Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic, Count: l.Count,
					Seconds: l.Seconds})
			}
		}
	}
	slices.SortStableFunc(k.Launches, func(a, b *Launch) int {
		return cmp.Compare(b.Seconds, a.Seconds)
	})
	if len(k.Launches) == 0 {
		threads := min(assumedThreads, k.Before.MaxThreads)
		if !k.Gone {
			threads = min(threads, k.After.MaxThreads)
		}
		k.Launches = []*Launch{{Grid: [3]int{1, 1, 1}, Block: [3]int{threads, 1, 1}}}
		k.Assumed = fmt.Sprintf("many blocks of %d threads", threads)
	}
}

// assumedThreads is the block where none was seen: what most programs use.
const assumedThreads = 256

// add adds a launch, unless one of its shape is there.
func (k *Kernel) add(l *Launch) {
	if !slices.ContainsFunc(k.Launches, func(had *Launch) bool {
		a, b := had.Shape(), l.Shape()
		a.Set, b.Set = "", ""
		return a == b
	}) {
		k.Launches = append(k.Launches, l)
	}
}

// fit says how the launches fit onto a multiprocessor in both builds, and which don't any more.
func (k *Kernel) fit() {
	was, known1 := sim.Lookup(ptx.Capability(k.before.unit.Target))
	is, known2 := sim.Lookup(ptx.Capability(k.Target))
	if k.Assumed != "" && !k.Gone && known1 && known2 {
		if now, then := k.After.largest(is), k.Before.largest(was); now < then {
			k.Narrower = fmt.Sprintf("no launch was seen: one in blocks of more than %d threads fails now, "+
				"and up to %d were possible", now, then)
		}
	}
	for _, l := range k.Launches {
		if known1 {
			l.Before = k.Before.resident(was, l, k.Assumed != "")
		}
		if k.Gone || !known2 {
			continue
		}
		l.After = k.After.resident(is, l, k.Assumed != "")
		threads := l.Shape().Threads()
		switch {
		case threads > k.After.MaxThreads && threads <= k.Before.MaxThreads:
			l.Fails = fmt.Sprintf("blocks of %d threads, and its directives allow %d now", threads,
				k.After.MaxThreads)
		case l.After.Blocks == 0 && (l.Before.Blocks > 0 || !known1):
			l.Fails = fmt.Sprintf("blocks of %d threads need too much of: %s (%d registers a thread)",
				threads, l.After.Limit, k.After.Registers)
			if most := is.MostRegisters(threads); l.After.Limit == sim.LimitRegisters && most >= sim.Floor {
				l.Fails += fmt.Sprintf("; -maxrregcount=%d, or gnvcc pin with maxnreg=%d, lets them run", most,
					most)
			}
		}
	}
}

// largest is the largest block that can be launched, in whole warps.
func (c Code) largest(d sim.Device) int {
	for threads := min(c.MaxThreads, sim.BlockThreads) / 32 * 32; threads > 0; threads -= 32 {
		l := &Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{threads, 1, 1}}
		if c.resident(d, l, true).Blocks > 0 {
			return threads
		}
	}
	return 0
}

// resident is how a launch fits.
func (c Code) resident(d sim.Device, l *Launch, assumed bool) Resident {
	s := l.Shape().Sim(cache.Build{Registers: c.Registers, Shared: c.Shared, Barriers: c.Barriers})
	if assumed {
		s.Blocks = 0
	}
	o := d.Occupancy(c.Registers, s)
	return Resident{Blocks: o.Blocks, Part: d.Fraction(o), Limit: o.Limit}
}
