// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"

	"gnvcc/rewrite/ptx"
	"gnvcc/sim"
	"gnvcc/sim/predict"
	"gnvcc/sim/sass"
)

// The hottest loop of both builds, instruction by instruction, side by side.

// A line is an instruction of either build, or of both.
type line struct{ Before, After string }

// longest is how many instructions of a loop are shown; more are no longer read.
const longest = 400

// sideBySide lines the hottest loops up; nil where neither build has one that can be decoded.
func (k *Kernel) sideBySide() []line {
	was, is := k.before.hottest(k.Launches), []string(nil)
	if !k.Gone {
		is = k.after.hottest(k.Launches)
	}
	return lineUp(was[:min(len(was), longest)], is[:min(len(is), longest)])
}

// lineUp puts equal instructions beside each other, by their longest common sequence.
func lineUp(a, b []string) (out []line) {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if length[i][j] = max(length[i+1][j], length[i][j+1]); a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, line{a[i], b[j]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			out = append(out, line{a[i], ""})
			i++
		default:
			out = append(out, line{"", b[j]})
			j++
		}
	}
	return out
}

// hottest are the instructions of the loop that is thought to take most time: by the model, else
// the innermost one with most instructions.
func (s side) hottest(launches []*Launch) (out []string) {
	f, err := sass.Find(s.content, s.kernel.Name)
	if err != nil {
		return nil
	}
	flow := f.Flow()
	at := -1
	for n, l := range flow.Loops {
		if at < 0 || l.Depth > flow.Loops[at].Depth ||
			l.Depth == flow.Loops[at].Depth && len(l.Blocks) > len(flow.Loops[at].Blocks) {
			at = n
		}
	}
	if header := s.modelled(launches); header >= 0 {
		for n, l := range flow.Loops {
			if f.Insts[flow.Blocks[l.Header].Start].Offset == header {
				at = n
			}
		}
	}
	if at < 0 {
		return nil
	}
	for _, b := range flow.Loops[at].Blocks {
		for i := flow.Blocks[b].Start; i < flow.Blocks[b].End; i++ {
			inst := &f.Insts[i]
			text := inst.Name()
			if inst.Bytes > 0 {
				text += fmt.Sprintf(" %s, %d bytes", inst.Space(), inst.Bytes)
			}
			if inst.Wait != 0 {
				text += " (waits)"
			}
			out = append(out, text)
		}
	}
	return out
}

// modelled is where the hottest loop begins by the model, -1: not known.
func (s side) modelled(launches []*Launch) int {
	cc := ptx.Capability(s.unit.Target)
	device, ok := sim.Lookup(cc)
	rates, err := predict.ForArchitecture(cc)
	if !ok || err != nil || len(launches) == 0 {
		return -1
	}
	shape := launches[0].Shape()
	run, err := predict.NewRun(s.content, s.kernel.Name, device, sim.Shape{Threads: shape.Threads(),
		Shared: shape.Dynamic}, rates)
	if err != nil {
		return -1
	}
	e, err := run.Estimate()
	if err != nil {
		return -1
	}
	return e.Hottest.Offset
}
