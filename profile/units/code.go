// What the forms of a function cost in machine code: registers and instructions, read without a GPU
// from the program that measures them (measure.cu's kernel one, which reads arguments, computes
// once and writes).

package units

import (
	"fmt"
	"os"
	"strings"

	"gnvcc/sim/cubin"
	"gnvcc/sim/fatbin"
	"gnvcc/sim/sass"
)

// A Code is what a kernel has in machine code. Ways that few arguments take count as all others do.
type Code struct {
	Registers, Instructions int
	SFU, FP32, FP64         int // instructions of these units
}

// counts reads off the program that Build built what each kernel has, by its number in the program.
// That of copy moves arguments and computes nothing.
func counts(program string) (map[string]Code, error) {
	f, err := os.Open(program)
	if err != nil {
		return nil, fmt.Errorf("count instructions: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("count instructions: %w", err)
	}
	out := map[string]Code{}
	if err := fatbin.Each(f, info.Size(), func(b []byte) error { return count(b, out) }); err != nil {
		return nil, fmt.Errorf("count instructions: %w", err)
	}
	return out, nil
}

func count(b []byte, out map[string]Code) error {
	file, err := cubin.Read(b)
	if err != nil {
		return err
	}
	functions, err := sass.Read(b)
	if err != nil {
		return err
	}
	for _, f := range functions {
		kernel, is := file.Kernel(f.Name)
		// _Z3oneI4div0EvPKN...: the length of the name, and the name
		rest, ours := strings.CutPrefix(f.Name, "_Z3oneI")
		if !is || !ours {
			continue
		}
		if err := f.Known(); err != nil {
			return err
		}
		var n int
		var name string
		if _, err := fmt.Sscanf(rest, "%d%s", &n, &name); err != nil || n > len(name) {
			return fmt.Errorf("a kernel %s", f.Name)
		}
		c, flow := Code{Registers: kernel.Registers}, f.Flow()
		for k := range f.Insts {
			if !flow.Reached(flow.Block(k)) {
				continue
			}
			c.Instructions++
			switch f.Insts[k].Class() {
			case sass.SFU:
				c.SFU++
			case sass.FP32:
				c.FP32++
			case sass.FP64:
				c.FP64++
			}
		}
		out[name[:n]] = c
	}
	return nil
}
