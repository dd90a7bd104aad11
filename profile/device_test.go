package profile

import "testing"

// TestNoDevice: a launch on a GPU of which the agent has told nothing, such as the 33rd, is counted
// and left alone: nobody could say where it was captured.
func TestNoDevice(t *testing.T) {
	launch := func(ordinal uint32) *Launch {
		t.Helper()
		p := &process{run: &run{options: Options{Dies: true}}, info: &Process{},
			devices: map[int]*Device{0: {Name: "NVIDIA Test"}}, shapes: map[uint32]*Seen{},
			modules: map[uint32]*module{1: {hash: "c", contents: &contents{}}}}
		var w writer
		for _, v := range []uint32{7, ordinal, 1} {
			w.u32(v)
		}
		w.str("k")
		for range 3 + 3 + 1 + 7 + 1 { // grid, block, dynamic memory, attributes, its most
			w.u32(1)
		}
		w.u64(1)
		w.u32(0)
		for range 3 { // values, those that are the same, the set's
			w.bytes(nil)
		}
		w.u32(0)
		w.str("")
		w.u64(0)
		w.u64(0)
		w.bytes(nil)
		w.u8(0)
		l, err := p.launch(&reader{b: w.b})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for ordinal, want := range map[uint32]bool{0: false, 32: true} {
		l := launch(ordinal)
		if left := l.LeaveAlone == noDevice; left != want {
			t.Errorf("device %d: %q", ordinal, l.LeaveAlone)
		}
	}
}
