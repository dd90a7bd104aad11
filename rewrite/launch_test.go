package rewrite

import (
	"strings"
	"testing"
)

// TestLaunches: the one rule by which a launch that worked still works.
func TestLaunches(t *testing.T) {
	bytes := func(n int) *int { return &n }
	was := Code{Registers: 64, Shared: 1000}
	for _, c := range []struct {
		name     string
		launches Launches
		now      Code
		want     string
	}{
		{"the same", Launches{Largest: 1024, Waits: "ld"}, was, ""},
		{"fewer", Launches{Largest: 1024, Waits: "ld"}, Code{Registers: 40, Shared: 900, Threads: 1024},
			""},
		{"more registers, small blocks", Launches{Largest: 256}, Code{Registers: 255, Shared: 1000}, ""},
		{"more registers, large blocks", Launches{Largest: 1024}, Code{Registers: 65, Shared: 1000},
			"could not be launched"},
		{"more registers, and blocks wait", Launches{Largest: 32, Waits: "ld"},
			Code{Registers: 65, Shared: 1000}, "wait for each other"},
		{"smaller blocks", Launches{Largest: 512}, Code{Registers: 64, Shared: 1000, Threads: 256},
			"256 threads at most"},
		{"one byte more", Launches{Largest: 32}, Code{Registers: 64, Shared: 1001}, "host(dynamic)"},
		{"more, and it is known how much is left", Launches{Largest: 32, Dynamic: bytes(1024)},
			Code{Registers: 64, Shared: 48<<10 - 1024}, ""},
		{"more than is left", Launches{Largest: 32, Dynamic: bytes(1024)},
			Code{Registers: 64, Shared: 48<<10 - 1023}, "48 KiB"},
		{"more shared memory, and blocks wait", Launches{Largest: 32, Dynamic: bytes(0), Waits: "ld"},
			Code{Registers: 64, Shared: 1001}, "wait for each other"},
		{"local memory that every context has", Launches{Largest: 32},
			Code{Registers: 40, Shared: 1000, Stack: 1024}, ""},
		{"more local memory", Launches{Largest: 32},
			Code{Registers: 40, Shared: 1000, Stack: 1032}, "with all memory taken"},
		{"... in a second entry", Launches{Largest: 32, Instead: true},
			Code{Registers: 40, Shared: 1000, Stack: 1032}, "with all memory taken"},
		{"nvcc's own is more than every context has", Launches{Largest: 32},
			Code{Registers: 40, Shared: 1000, Stack: 1328}, ""},
		{"... and it becomes more", Launches{Largest: 32},
			Code{Registers: 40, Shared: 1000, Stack: 1336}, "that is for a second entry"},
		{"... in a second entry", Launches{Largest: 32, Instead: true},
			Code{Registers: 40, Shared: 1000, Stack: 2656}, ""},
		{"... much more", Launches{Largest: 32, Instead: true},
			Code{Registers: 40, Shared: 1000, Stack: 2664}, "more than twice"},
	} {
		was := was
		if c.now.Stack > 1032 {
			was.Stack = 1328
		}
		err := c.launches.Shrinks(was, c.now)
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if err := (Launches{Largest: 1024}).Shrinks(Code{}, Code{Registers: 65}); err == nil {
		t.Error("65 registers for 1024 threads, and it is not known what was before")
	}
}
