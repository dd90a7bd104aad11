package rewrite

import (
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

func TestEntries(t *testing.T) {
	for _, c := range []struct{ recipe, entries string }{
		{"maxnreg=40 unroll=2", ""},
		{"maxnreg=40 spec{#1=1}", "maxnreg=40 spec{#1=1}"},
		{"hint@ld=cs spec{#1=64} spec{#1=1024}", "hint@ld=cs spec{#1=64}; hint@ld=cs spec{#1=1024}"},
		{"spec{#1=64} spec{#1=1024,blockDim.x=32|maxnreg=96 unroll=4}",
			"spec{#1=64}; maxnreg=96 spec{#1=1024,blockDim.x=32} unroll=4"},
		{"maxnreg=40 spec{#1=64} spec{#1=8|maxnreg=96}", "maxnreg=40 spec{#1=64}; maxnreg=96 spec{#1=8}"},
	} {
		r := mustRecipe(t, c.recipe)
		if r.String() != c.recipe {
			t.Errorf("%q prints as %q", c.recipe, r)
		}
		if err := Check(r); err != nil {
			t.Error(err)
		}
		entries, err := r.Entries()
		if err != nil {
			t.Error(err)
		}
		var words []string
		for _, e := range entries {
			words = append(words, e.String())
		}
		if got := strings.Join(words, "; "); got != c.entries {
			t.Errorf("%s: entries %q, want %q", c.recipe, got, c.entries)
		}
		if len(entries) == 0 {
			continue
		}
		again, err := recipe.Join(entries).Entries()
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%s joined again: %v, %v", c.recipe, again, err)
		}
		for i := range again {
			if again[i].String() != entries[i].String() {
				t.Errorf("%s joined again: entry %d is %s, was %s", c.recipe, i, again[i], entries[i])
			}
		}
	}
	for _, bad := range []string{"spec{#1=1|maxnreg}",
		"spec{#1=1|frobnicate=2}"} {
		if err := Check(mustRecipe(t, bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// throttle is for second entries that are chosen by the launch's dynamic shared memory, and for
// nothing else.
func TestThrottle(t *testing.T) {
	for text, n := range map[string]int{
		"spec{host(dynamic)=0} throttle=3":                                     3,
		"spec{host(block)=256x1x1,host(dynamic)=4096,#1=1024} throttle=1":      1,
		"maxnreg=40 spec{host(dynamic)=0}":                                     0,
		"spec{host(dynamic)=0|throttle=2} spec{host(dynamic)=64|unroll=4}":     0,
		"spec{host(dynamic)=0} spec{host(dynamic)=64,blockDim.x=8} throttle=2": 2,
	} {
		r := mustRecipe(t, text)
		if err := Check(r); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if Throttle(r) != n {
			t.Errorf("%s: throttled to %d, want %d", text, Throttle(r), n)
		}
	}
	for _, bad := range []string{"throttle=3", "spec{#1=1} throttle=3",
		"spec{host(dynamic)=0} throttle=0", "spec{host(dynamic)=0} throttle=x",
		"spec{host(dynamic)=} throttle=1", "spec{#1=1|throttle=3}",
		"spec{host(dynamic)=0} spec{#1=1} throttle=3"} {
		if err := Check(mustRecipe(t, bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	for text, want := range map[string]Exactness{
		"spec{host(dynamic)=0} throttle=3":            ByConstruction, // nvcc's own code
		"hint@ld=cs spec{host(dynamic)=0} throttle=3": ByConstruction,
		"spec{host(dynamic)=0,#1=1} throttle=3":       Checked,
		"spec{host(dynamic)=0} throttle=3 unroll=2":   Checked,
		"spec{host(dynamic)=0|unroll=2}":              Checked,
		"spec{host(dynamic)=0|throttle=2} spec{#1=8}": Checked,
	} {
		if got := ExactnessOf(mustRecipe(t, text)); got != want {
			t.Errorf("%s is exact as %s, want %s", text, got, want)
		}
	}
}

// Who may be throttled: nobody whose blocks may wait for each other, and nobody who would see it.
func TestThrottleable(t *testing.T) {
	const head = ".version 8.0\n.target sm_90\n.address_size 64\n.func f(.param .b64 a)\n{\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\tmembar.gl;\n\tret;\n}\n" +
		".visible .entry k(.param .u64 a)\n{\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\tld.param.u64 %rd1, [a];\n\t"
	spin := func(look string) string {
		return "L:\n\t" + look + "\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra L;"
	}
	for text, ok := range map[string]bool{
		"ld.global.u32 %r1, [%rd1];":                      true,
		"red.global.add.u32 [%rd1], 1;":                   true,
		"atom.global.add.u32 %r1, [%rd1], 1;":             true, // once
		"membar.gl;":                                      true,
		"bar.sync 0;":                                     true,
		spin("atom.shared.cas.b32 %r1, [%r2], 0, 1;"):     true, // the block's own
		spin("ld.volatile.shared.u32 %r1, [%r2];"):        true,
		spin("atom.global.add.u32 %r1, [%rd1], 1;"):       false, // a queue: it counts as waiting
		spin("atom.global.add.u32 %r1, [%rd1], 0;"):       false,
		spin("atom.cas.b32 %r1, [%rd1], 0, 1;"):           false,
		spin("ld.volatile.global.u32 %r1, [%rd1];"):       false,
		spin("ld.acquire.gpu.global.u32 %r1, [%rd1];"):    false,
		spin("ld.relaxed.sys.u32 %r1, [%rd1];"):           false,
		spin("bar.sync 0;\n\tld.global.u32 %r1, [%rd1];"): false,
		spin("{ .param .b64 p; st.param.b64 [p], %rd1; call.uni f, (p); }" +
			"\n\tld.global.u32 %r1, [%rd1];"): false, // f has a fence
		"call %rd1, (), proto;":            false,
		"mov.u32 %r1, %dynamic_smem_size;": false,
	} {
		m, err := ptx.Parse([]byte(head + text + "\n\tret;\n}\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := Throttleable(m, "k"); (err == nil) != ok {
			t.Errorf("%s: %v, may be throttled: %v", text, err, ok)
		}
	}
}
