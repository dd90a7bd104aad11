package capture

import (
	"slices"
	"testing"

	"gnvcc/profile"
)

// TestPrograms: one profile a program, not one a process nor one of what started them; and what is
// known of a program counts, whoever starts it.
func TestPrograms(t *testing.T) {
	c, cubin := collector(t)
	of := func(kernel, program string) *profile.Launch {
		l := launchOf(t, cubin, 1, 5)
		l.Kernel, l.Process = kernel, &profile.Process{PID: 7, Program: program}
		return l
	}
	for kernel, program := range map[string]string{"a": "/bin/heavy", "b": "/bin/light (deleted)", "c": ""} {
		l := of(kernel, program)
		c.asks(l)
		for range 4 { // ranks
			c.end(l.Process, profile.Summary{Whole: true, Kernels: []profile.Seen{{Launch: l,
				Seconds: float64('d' - kernel[0])}}})
		}
	}
	heaviest, err := c.store.ObservedAll("/usr/bin/mpirun", c.Finish())
	if err != nil || heaviest != "/bin/heavy" {
		t.Error(heaviest, err)
	}
	for program, want := range map[string]float64{"/bin/heavy": 12, "/bin/light": 8, "/usr/bin/mpirun": 4} {
		if p, err := c.store.Profile(program); err != nil || p.Runs != 1 || p.Seconds != want ||
			len(p.Shapes) != 1 {
			t.Errorf("%s: %+v, %v", program, p, err)
		}
	}
	again := NewCollector(c.store, Usual, t.TempDir(), nil, nil)
	again.start(&profile.Process{PID: 9, Program: "/bin/light"})
	if len(again.known) != 1 {
		t.Errorf("%d configurations are known", len(again.known))
	}
	if heaviest, err := c.store.ObservedAll("/bin/none", Run{}); heaviest != "/bin/none" || err != nil {
		t.Error(heaviest, err)
	}
}

// TestRankArguments: an argument that each process gives another value is no constant of the
// program's, though it is one in each of them. Beside it stand those that are the same in all.
func TestRankArguments(t *testing.T) {
	c, cubin := collector(t)
	const ranks = 64
	for rank := range ranks {
		l := launchOf(t, cubin, 1, byte(rank))
		l.Process = &profile.Process{PID: 7 + rank, Program: "/bin/app"}
		l.Values = []byte{1, 0, 0, 0, 0, 0, 0, 0, byte(rank), 0, 0, 0}
		l.Params[1].Same = []byte{1, 1, 1, 1} // it launches once
		if rank == 0 {
			c.play(t, l, raw())
		}
		mask := []byte{1, 1, 1, 1, 1, 1, 1, 1, 255, 255, 255, 255}
		c.end(l.Process, profile.Summary{Whole: true, Kernels: []profile.Seen{{Launch: l, Seconds: 1,
			Sampled: 1, Sets: profile.Sets{Mask: mask,
				List: []profile.Set{{Values: l.Values, Count: 1, Seconds: 1, Sampled: 1}}}}}})
	}
	seen := c.Finish().Seen
	if len(seen) != 1 || seen[0].Use.Count != ranks || len(seen[0].Captures) != 1 {
		t.Fatalf("%+v", seen)
	}
	if same := seen[0].Use.Params[1].Same; !slices.Equal(same, []byte{0, 1, 1, 1}) {
		t.Errorf("the same in all launches: %v", same)
	}
}
