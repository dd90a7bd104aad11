package capture

import (
	"testing"

	"gnvcc/profile"
)

// TestDevices: a program that uses two models of GPU has two configurations of one kernel, each
// with its own captures, times and family, in the run and in the profile; GPUs of one model have
// one.
func TestDevices(t *testing.T) {
	c, cubin := collector(t)
	of := func(name string) *profile.Launch {
		l := launchOf(t, cubin, 1, 5)
		l.Device = &profile.Device{Name: name, UUID: l.Device.UUID}
		return l
	}
	seconds := map[string]float64{"NVIDIA H100": 3, "NVIDIA H200": 2}
	summary := profile.Summary{Whole: true}
	for _, name := range []string{"NVIDIA H100", "NVIDIA H200", "NVIDIA H100"} {
		l := of(name)
		if name == "NVIDIA H200" || len(summary.Kernels) == 0 {
			c.play(t, l, raw())
			if len(c.shape(l).captures) != 1 {
				t.Errorf("%s: %d captures", name, len(c.shape(l).captures))
			}
		}
		summary.Kernels = append(summary.Kernels, profile.Seen{Launch: l, Seconds: seconds[name],
			Sampled: 1})
	}
	seconds["NVIDIA H100"] *= 2 // there are two of them
	c.end(of("NVIDIA H100").Process, summary)
	run := c.Finish()
	if len(run.Seen) != 2 {
		t.Fatalf("%d configurations: %+v", len(run.Seen), run.Seen)
	}
	for _, s := range run.Seen {
		name := s.Launch.Device.Name
		if s.Use.Seconds != seconds[name] || s.Use.Family != 0 || len(s.Captures) != 1 ||
			s.Captures[0].Device != name {
			t.Errorf("%s: %+v, %d captures", name, s.Use, len(s.Captures))
		}
	}
	for range 2 {
		if _, err := c.store.Observed("/bin/app", run); err != nil {
			t.Fatal(err)
		}
	}
	p, err := c.store.Profile("/bin/app")
	if err != nil || len(p.Shapes) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	if got := p.Devices(); got != "NVIDIA H200 and NVIDIA H100" && got != "NVIDIA H100 and NVIDIA H200" {
		t.Errorf("ran on %q", got)
	}
	for _, l := range p.Shapes {
		if l.Seconds != 2*seconds[p.On(l)] {
			t.Errorf("%s: %v s", p.On(l), l.Seconds)
		}
	}
}
