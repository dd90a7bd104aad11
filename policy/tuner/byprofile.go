package tuner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/profile/capture"
	"gnvcc/profile/nsight"
)

// Tuning by what another profiler measured: kernels by their share of the time there, and those
// below 1 % left out.

// ByProfile is another profiler's measurement that a run goes by; nil: it goes by what it observes
// itself.
type ByProfile struct {
	*nsight.Profile
	say func(format string, args ...any)
}

// ReadProfile reads the file of --profile, nil where none is named.
func ReadProfile(ctx context.Context, path string) (*ByProfile, error) {
	if path == "" {
		return nil, nil
	}
	p, err := nsight.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	return &ByProfile{Profile: p}, nil
}

// refuse says why a kernel is not looked at, nil where it is.
func (p *ByProfile) refuse(kernel string) error {
	if p == nil {
		return nil
	}
	switch share, known := p.Share(kernel); {
	case !known:
		return fmt.Errorf("it is not in the profile %s", p.Path)
	case share < nsight.Smallest:
		return fmt.Errorf(
			"it takes %.2g %% of the time in the profile %s, and below %g %% nothing is searched", 100*share,
			p.Path, 100*nsight.Smallest)
	}
	return nil
}

// weighs gives the share of the time that a capture stands for: by the profile, its kernel's, of
// which each configuration has the part that the profile tells, else the one that it has in the
// observed run; without a profile, that of the observed run.
func (p *ByProfile) weighs(list []*capture.Manifest,
	total float64) func(m *capture.Manifest) float64 {
	if p == nil {
		return func(m *capture.Manifest) float64 { return m.Weight() / max(total, 1e-12) }
	}
	type shape struct {
		kernel string
		nsight.Shape
	}
	at := func(m *capture.Manifest) shape {
		return shape{m.Kernel, nsight.Shape{Grid: m.Grid, Block: m.Block}}
	}
	of, in := map[string]float64{}, map[shape]float64{}
	for _, m := range list {
		of[m.Kernel] += m.Weight()
		in[at(m)] += m.Weight()
	}
	return func(m *capture.Manifest) float64 {
		share, _ := p.Share(m.Kernel)
		if part, ok := p.Parts(m.Kernel)[at(m).Shape]; ok {
			return share * part * m.Weight() / max(in[at(m)], 1e-12)
		}
		return share * m.Weight() / max(of[m.Kernel], 1e-12)
	}
}

// worth leaves out the captures of kernels that are not worth a search by the profile.
func (p *ByProfile) worth(list []*capture.Manifest) []*capture.Manifest {
	if p == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(m *capture.Manifest) bool {
		return p.refuse(m.Kernel) != nil
	})
}

// tell sums the profile up beside what is launched here: its heaviest kernels, those of them that
// are not, and a GPU that is another one. An error: none of its kernels is.
func (p *ByProfile) tell(launched []string, device string, say func(format string,
	args ...any)) error {
	if p == nil {
		return nil
	}
	found := map[string]bool{}
	part := 0.0
	var heavy, unknown []string
	for _, kernel := range launched {
		if share, known := p.Share(kernel); known && !found[kernel] {
			found[kernel] = true
			if share >= nsight.Smallest {
				heavy = append(heavy, policy.ShortName(kernel))
				part += share
			}
		}
	}
	for _, k := range p.Missing(launched) {
		if len(unknown) < 3 {
			unknown = append(unknown, k)
		}
	}
	if len(found) == 0 {
		return fmt.Errorf(
			"none of the %d kernels in the profile %s is launched here (the heaviest there: %s): is it of another program?",
			len(p.Kernels), p.Path, p.Kernels[0].Name)
	}
	say("by the profile %s: worth a search: %s, with %.0f %% of its time", p.Path,
		policy.Count(len(heavy), "kernel"), 100*min(part, 1))
	if len(unknown) > 0 {
		say("in the profile, and not launched here: %s", strings.Join(unknown, ", "))
	}
	if p.Left > 0 {
		say("left out of the profile, since it makes no sense: %s", policy.Count(p.Left, "row"))
	}
	if p.Device != "" && device != "" && p.Device != device {
		say("the profile was made on %s, this is %s: its shares count, times are measured here", p.Device,
			device)
	}
	return nil
}

// Stale says why a decision has to be made again, by a profile and for the GPU and driver that are
// here ("" where they are not known); "" where it stands.
func Stale(d cache.Decision, p *nsight.Profile, device, driver string) string {
	switch {
	case device != "" && d.Evidence.Device != "" && d.Evidence.Device != device:
		return fmt.Sprintf("it was measured on %s, this is %s", d.Evidence.Device, device)
	case driver != "" && d.Evidence.Driver != "" && d.Evidence.Driver != driver:
		return fmt.Sprintf("it was measured with driver %s, this is %s", d.Evidence.Driver, driver)
	}
	for _, s := range Unmeasured(d, p) {
		return fmt.Sprintf("it is launched as %v x %v in the profile, which was not measured", s.Grid,
			s.Block)
	}
	return shifted(d, p)
}

// Unmeasured are the shapes of a profile in which a decision's kernel was not measured.
func Unmeasured(d cache.Decision, p *nsight.Profile) (out []nsight.Shape) {
	if p == nil || len(d.Evidence.Launches) == 0 {
		return nil
	}
	for _, s := range p.Shapes(d.Kernel) {
		if !slices.ContainsFunc(d.Evidence.Launches, func(l cache.Launch) bool {
			return l.Grid == s.Grid && l.Block == s.Block
		}) {
			out = append(out, s)
		}
	}
	return out
}

// moved is the part of a kernel's time that has to be in other shapes than it was for its decision
// to be made again: a speed-up is a mean over the shapes, weighed by their time.
const moved = 0.25

// shifted says how much of a kernel's time a profile has in other shapes than its decision; "":
// little, or one of them does not tell.
func shifted(d cache.Decision, p *nsight.Profile) string {
	if p == nil {
		return ""
	}
	is := p.Parts(d.Kernel)
	was, sum := map[nsight.Shape]float64{}, 0.0
	for _, l := range d.Evidence.Launches {
		seconds := cmp.Or(l.Seconds, float64(l.Count)*l.Before.Median/1e9)
		was[nsight.Shape{Grid: l.Grid, Block: l.Block}] += seconds
		sum += seconds
	}
	if len(is) == 0 || sum <= 0 {
		return ""
	}
	part := 0.0
	for s, share := range is {
		part += max(0, share-was[s]/sum)
	}
	if part < moved {
		return ""
	}
	return fmt.Sprintf("%.0f %% of its time is in other shapes than when it was measured", 100*part)
}

// tellStale names the decisions that are made again.
func (p *ByProfile) tellStale(b *Decisions, device, driver string) {
	sn, err := b.store.Snapshot()
	if err != nil {
		return
	}
	defer sn.Close()
	all, _ := sn.AllDecisions()
	for _, d := range all {
		if _, known := p.Share(d.Kernel); !known || d.Evidence.Device != device && device != "" {
			continue
		}
		if why := Stale(d, p.Profile, device, driver); why != "" {
			p.say("%s is tuned again: %s", policy.ShortName(d.Kernel), why)
		}
	}
}
