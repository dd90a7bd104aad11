// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"gnvcc/cache/lock"
	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/profile/profiletest"
	"gnvcc/rewrite/manner"
)

// A simulated session: the original takes 1 ms, the other build as long as is said.
type session struct {
	// of the later build, over the earlier one's; other: with the L2 cache's other state
	times, other float64
	noise        float64
	unsteady     bool
	differs      profile.Difference
	fault        error
}

func (s *session) simulated() *profiletest.Session {
	return &profiletest.Session{
		Loads: func(string, string, manner.Manner) (profile.Attributes, error) {
			return profile.Attributes{}, s.fault
		},
		Time: func(c profile.Candidate, m profile.Measurement) float64 {
			t := 1e6 * (1 + s.noise*rand.Float64())
			switch {
			case c == profile.Original:
			case m.Other:
				t *= s.other
			default:
				t *= s.times
			}
			return t
		},
		Leaves: func(c profile.Candidate, _ profile.Schedule) (profile.Difference, error) {
			if c == profile.Original {
				return profile.Difference{Same: !s.unsteady, Words: 1}, nil
			}
			if s.differs.Words > 0 {
				return s.differs, nil
			}
			return profile.Difference{Same: true}, nil
		}}
}

// TestTurns: what is said of a later build is what its times and its bits bear out.
func TestTurns(t *testing.T) {
	of := func(s *session, either bool) (Measured, error) {
		x := &turns{before: Loaded{Kernel: &policy.Kernel{Name: "k", Writes: "f32"}},
			after: Loaded{Kernel: &policy.Kernel{Name: "k"}}}
		err := x.compare(context.Background(), &profile.Launch{Either: either}, s.simulated())
		return x.out, err
	}
	for _, c := range []struct {
		name           string
		s              session
		either         bool
		slower, faster bool
	}{
		{"as fast", session{times: 1, noise: 0.002}, false, false, false},
		{"half a percent", session{times: 1.005, noise: 0.001}, false, false, false},
		{"slower", session{times: 1.05, noise: 0.002}, false, true, false},
		{"faster", session{times: 0.95, noise: 0.002}, false, false, true},
		{"noise", session{times: 1.02, noise: 2}, false, false, false},
		{"slower in one state of the cache", session{times: 1.05, other: 0.9, noise: 0.002}, true, false,
			false},
		{"slower in both", session{times: 1.05, other: 1.1, noise: 0.002}, true, true, false},
	} {
		m, err := of(&c.s, c.either)
		if err != nil || m.Slower != c.slower || m.Faster != c.faster || m.Bits != sameBits {
			t.Errorf("%s: %+v, %v", c.name, m, err)
		}
	}
	m, _ := of(&session{times: 1, differs: profile.Difference{Words: 3, Where: "allocation 1",
		Relative32: 1e-6}}, false)
	if m.Bits != otherBits || m.Words != 3 || m.Error != 1e-6 ||
		!strings.Contains(m.Where, "allocation 1") {
		t.Errorf("other bits: %+v", m)
	}
	if m, _ := of(&session{times: 1, unsteady: true, differs: profile.Difference{Words: 1}},
		false); m.Bits != unsteady {
		t.Errorf("unsteady: %+v", m)
	}
	fault := &profile.Fault{Text: "an illegal address", Code: 700}
	if _, err := of(&session{times: 1, fault: fault}, false); !errors.Is(err, errFails) ||
		!errors.As(err, &fault) {
		t.Errorf("a fault: %v", err)
	}
}

// TestNarrower: where no launch was seen, it is said which can't be done any more. 80 registers
// don't fit a block of 1024 threads, 64 do.
func TestNarrower(t *testing.T) {
	for _, c := range []struct {
		before, after, most int
		seen                bool
		want                string
	}{
		{58, 80, 1024, false, "blocks of more than 768 threads fails now, and up to 1024"},
		{58, 64, 1024, false, ""},
		{80, 58, 1024, false, ""},
		{58, 80, 512, false, ""},
		{58, 80, 1024, true, ""},
	} {
		k := &Kernel{Target: "sm_89", Before: Code{Registers: c.before, MaxThreads: c.most},
			After: Code{Registers: c.after, MaxThreads: c.most}}
		k.before.unit.Target, k.after.unit.Target = "sm_89", "sm_89"
		if c.seen {
			k.add(&Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{256, 1, 1}})
		}
		k.seen(nil, nil, nil)
		k.fit()
		if text := strings.Join(k.notes(), " "); !strings.Contains(text, c.want) ||
			(c.want == "") != (k.Narrower == "") {
			t.Errorf("%+v: %q", c, text)
		}
	}
	if c := (&Kernel{}).cells(); c.Instructions != "" {
		t.Errorf("%q instructions of code that was not read", c.Instructions)
	}
	one := Pair{Failed: []Failure{{}}}
	if text := one.summary(); !strings.HasSuffix(text, "1 command no longer compiles") {
		t.Error(text)
	}
}

// TestJudge: a kernel's verdict is the worst of its launches', and what lost counts.
func TestJudge(t *testing.T) {
	k := func(launches ...*Launch) *Kernel {
		k := &Kernel{Launches: launches}
		k.judge()
		return k
	}
	fast := &Launch{Seconds: 3, Measured: &Measured{Ratio: 0.9, Faster: true}}
	slow := &Launch{Seconds: 1, Measured: &Measured{Ratio: 1.3, Slower: true}}
	fails1 := &Launch{Fails: "too many registers"}
	for want, k := range map[string]*Kernel{faster: k(fast), slower: k(fast, slow),
		other: k(&Launch{}), fails: k(fast, fails1),
		alike: k(&Launch{Seconds: 1, Measured: &Measured{Ratio: 1}})} {
		if k.Verdict != want {
			t.Errorf("%q, not %q", k.Verdict, want)
		}
	}
	if r := k(fast, slow).Ratio; r < 0.999 || r > 1.001 {
		t.Errorf("by weight it takes %g of the time", r)
	}
	p := Pair{Kernels: []*Kernel{k(slow), k(fast), k(fails1)}, Failed: []Failure{{Before: true},
		{Kernels: []string{"a", "b"}}}}
	if p.Losses() != 4 {
		t.Errorf("%d losses", p.Losses())
	}
}

// TestClaims: what a lock file claims is held against what was measured, 3 % allowed; what it claims
// of another GPU is not judged.
func TestClaims(t *testing.T) {
	run := func(ratio float64) *Claims {
		x := &timed{name: "_Z1kPf", kernel: "k", target: "sm_90", recipe: "hint@ld=cs", seconds: 1,
			Measured: Measured{Ratio: ratio, Low: ratio, High: ratio}}
		return &Claims{device: "a", kernels: []*timed{x}}
	}
	claim := lock.Line{Kernel: "_Z1kPf", Target: "sm_90", Device: "a", Recipe: "hint@ld=cs", Gain: 1.25}
	for ratio, want := range map[float64]string{0.8: alike, 0.81: alike, 0.9: slower} {
		b := run(ratio)
		if err := b.judge([]lock.Line{claim}); err != nil || b.kernels[0].verdict != want ||
			(b.Losses > 0) != (want == slower) {
			t.Errorf("%g: %s, %v", ratio, b.kernels[0].verdict, err)
		}
	}
	other := claim
	other.Device = "b"
	if err := run(1).judge([]lock.Line{other}); err == nil {
		t.Error("a claim on another GPU is judged")
	}
	claim.Recipe = "hint@ld=cg"
	if b := run(0.8); b.judge([]lock.Line{claim}) != nil || b.Losses != 1 {
		t.Errorf("a recipe that a build does not take: %+v", b.kernels[0])
	}
}
