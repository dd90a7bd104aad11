package recipe

import (
	"maps"
	"slices"
	"testing"
)

func mustGuard(t testing.TB, text string) Guard {
	t.Helper()
	g, err := ParseGuard(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGuardText(t *testing.T) {
	for _, text := range []string{
		"#1=1024", "#0+8=-3", "n=2.5e-07", "s.rows=7,blockDim.x=256,gridDim.z=65535",
		"align(#0)=16,align(p)=128",
		"host(block)=256x1x1,host(grid)=80x2x1,host(dynamic)=0", "host(#1:4)=1024,host(#2+8:8)=-3", "#1=1|hint@ld=cs maxnreg=96",
		"blockDim.x=64,host(block)=64x1x1",
	} {
		if g := mustGuard(t, text); g.String() != text {
			t.Errorf("%q prints as %q", text, g)
		}
	}
	for _, bad := range []string{
		"", ",", "n", "n=", "=1", "n=1,", "n=1,n=2", "n=1 2", "n=1=2", "#=1", "#01=1", "#1+0=1", "#1+=1",
		"#-1=1", "#4097=1", "a#1=1",
		"blockDim.w=1", "blockDim.x=0", "blockDim.z=65", "blockDim.xy=1", "gridDim.y=65536", "align(p)=3",
		"align(p)=1", "align(p)=256",
		"align()=16", "align(p=16", "host(block)=1x1", "host(block)=0x1x1", "host(dynamic)=-1",
		"host(dynamic)=01", "host(clock)=1",
		"host(#1)=1", "host(#1:3)=1", "host(#1:4)=01", "host(#1:1)=128", "host(#1:4=1", "host(n:4)=1",
		"host(#1:4)=2.5",
		"n=1|", "n=1|maxnreg", "n=1|spec{n=2}", "blockDim.x=32,host(block)=64x1x1",
		"gridDim.x=32,host(grid)=64x1x1", "|maxnreg=40",
	} {
		if g, err := ParseGuard(bad); err == nil && bad != "n=1|" {
			t.Errorf("%q is taken as %q", bad, g)
		}
	}
}

func TestGuardAnswers(t *testing.T) {
	g := mustGuard(t, "#1=1024,align(#0)=16,blockDim.x=64,blockDim.y=2,blockDim.z=1,host(dynamic)=48")
	if b := g.Block(); b != [3]int{64, 2, 1} {
		t.Errorf("block %v", b)
	}
	if b := mustGuard(t, "blockDim.y=2").Block(); b != [3]int{0, 2, 0} {
		t.Errorf("open block %v", b)
	}
	if n, ok := g.Dynamic(); n != 48 || !ok {
		t.Errorf("dynamic %d, %v", n, ok)
	}
	if g.HostOnly() || !mustGuard(t, "host(block)=1x1x1,host(dynamic)=0").HostOnly() {
		t.Error("what the host alone looks at")
	}
	if raw := mustGuard(t, "host(#2+8:4)=-2").Conditions[0].Raw(); !slices.Equal(raw, []byte{0xfe, 255, 255, 255}) {
		t.Errorf("-2 in four bytes is %v", raw)
	}
	launch := map[string]string{"#1": "1024", "align(#0)": "16", "blockDim.x": "64", "blockDim.y": "2",
		"blockDim.z": "1", "host(dynamic)": "48"}
	have := func(key string) (string, bool) { v, ok := launch[key]; return v, ok }
	if !g.Holds(have) || g.Excludes(have) {
		t.Error("it holds")
	}
	whole := maps.Clone(launch)
	for key := range whole {
		launch = maps.Clone(whole)
		delete(launch, key)
		if g.Holds(have) || g.Excludes(have) {
			t.Errorf("%s is not known: neither holds nor excludes", key)
		}
		launch[key] = "7"
		if g.Holds(have) || g.Excludes(have) != (key != "align(#0)") {
			t.Errorf("%s has another value", key)
		}
	}
	launch = map[string]string{"#1": "8", "align(#0)": "32", "blockDim.x": "128"}
	if got := g.For(
		have).String(); got != "#1=8,align(#0)=16,blockDim.x=128,blockDim.y=2,blockDim.z=1,host(dynamic)=48" {
		t.Errorf("for another launch: %s", got)
	}
	var left []string
	for _, less := range g.LeaveOut() {
		left = append(left, less.String())
	}
	if want := []string{
		"align(#0)=16,blockDim.x=64,blockDim.y=2,blockDim.z=1,host(dynamic)=48",
		"#1=1024,blockDim.x=64,blockDim.y=2,blockDim.z=1,host(dynamic)=48",
		"#1=1024,align(#0)=16,host(dynamic)=48",
	}; !slices.Equal(left, want) {
		t.Errorf("left out: %q", left)
	}
	if got := mustGuard(t, "#1=1,host(dynamic)=0").And(mustGuard(t,
		"host(dynamic)=8,host(block)=2x1x1")).String(); got != "#1=1,host(dynamic)=0,host(block)=2x1x1" {
		t.Errorf("joined: %s", got)
	}
	named := mustGuard(t, "n=1,align(p)=16,#2=3")
	if named.Named() != "n" || g.Named() != "" {
		t.Errorf("names: %q, %q", named.Named(), g.Named())
	}
	resolved, err := named.Places(func(p Place) (Place, error) {
		if p.Name != "" {
			p = Place{Index: map[string]int{"n": 5, "p": 0}[p.Name]}
		}
		return p, nil
	})
	if err != nil || resolved.String() != "#5=1,align(#0)=16,#2=3" {
		t.Errorf("resolved: %s, %v", resolved, err)
	}
}

// FuzzText: whatever is taken comes back as it is printed, a guard and its parts too.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"", "maxnreg=56 hint@ld3=cs", "spec{#1=1} spec{n=2}",
		"spec{host(block)=32x1x1,host(dynamic)=0|throttle=3}", "x={", "a=b}c", "spec{|}",
		"spec{align(#0)=16,blockDim.x=8}", "unroll@f.1=8 unroll@2=full", "spec{#0+8=-3,s.n=1e5|hint@ld=cs}",
		"spec{n=1,n=1}", "spec{blockDim.x=32,host(block)=64x1x1}", "spec{ #1=1 , #2=2 }",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(r.String()); err != nil || again.String() != r.String() {
			t.Fatalf("%q prints as %q, which reads as %q, %v", text, r, again, err)
		}
		for _, term := range r.Terms {
			g, err := term.Guard()
			if err != nil {
				continue
			}
			again, err := ParseGuard(g.String())
			if err != nil || again.String() != g.String() {
				t.Fatalf("%s prints as %q, which reads as %q, %v", term, g, again, err)
			}
			all := map[string]string{}
			for _, c := range g.Conditions {
				all[c.Key()] = c.Text()
			}
			have := func(key string) (string, bool) { v, ok := all[key]; return v, ok }
			if !g.Holds(have) || g.Excludes(have) || g.For(have).String() != g.String() {
				t.Fatalf("%s does not hold for its own values", term)
			}
			if back := g.And(g); back.String() != g.String() {
				t.Fatalf("%s joined with itself is %s", term, back)
			}
			for _, less := range g.LeaveOut() {
				if _, err := ParseGuard(less.String()); err != nil || !less.Holds(have) {
					t.Fatalf("%s less one condition is %s: %v", term, less, err)
				}
			}
		}
		entries, err := r.Entries()
		if err != nil || len(entries) < 2 {
			return
		}
		back, err := Join(entries).Entries()
		if err != nil || len(back) != len(entries) {
			t.Fatalf("%q has %d entries; joined, %d, %v", text, len(entries), len(back), err)
		}
		for i := range back {
			if back[i].String() != entries[i].String() {
				t.Fatalf("%q: entry %q came back as %q", text, entries[i], back[i])
			}
		}
	})
}
