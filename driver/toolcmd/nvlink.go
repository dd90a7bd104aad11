package toolcmd

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// An Nvlink is an nvlink command, read.
type Nvlink struct {
	Args   []string // without the tool
	Target string
	LTO    bool // nvlink compiles by itself

	inputs        []int // indexes of words that name files
	out           int   // index of what follows -o
	registrations []word
}

// nvlinkTable has nvlink's options that take a value, from nvlink --help of 11.8 to 13.5.
var nvlinkTable = sync.OnceValue(func() *table {
	t := &table{joined: true}
	t.add(option{value: true}, `
		output-file/o arch library-path/L library/l machine/m
		register-link-binaries/reg-link-binaries host-ccbin/ccbin cpu-arch ptxas-options/Xptxas
		nvvm-options/Xnvvm maxrregcount kernels-used/e variables-used nvvmpath split-compile
		split-compile-extended time options-file/optf edit-linker-script gen-host-linker-script/aug-hls
		host-linker-options/Xlinker dot-file`)
	t.add(option{}, `link-time-opt/lto dlto`)
	return t
})

// ReadNvlink reads the arguments of nvlink.
func ReadNvlink(args []string) (*Nvlink, error) {
	c := &Nvlink{Args: args, out: -1}
	words, err := nvlinkTable().read(args)
	if err != nil {
		return nil, err
	}
	for _, w := range words {
		switch {
		case w.input():
			c.inputs = append(c.inputs, w.index)
		case w.name == "link-time-opt" || w.name == "dlto":
			c.LTO = true
		case w.name == "options-file":
			return nil, fmt.Errorf("an option file: %w", ErrAside)
		case w.name == "output-file":
			if w.from > 0 {
				return nil, fmt.Errorf("%s: nvcc does not write it so: %w", w.text, ErrAside)
			}
			c.out = w.at
		case w.name == "arch":
			c.Target = w.value
		case w.name == "register-link-binaries":
			c.registrations = append(c.registrations, w)
		}
	}
	if c.out < 0 || len(c.inputs) == 0 || c.Target == "" {
		return nil, fmt.Errorf("no input, no -o or no target: %w", ErrAside)
	}
	return c, nil
}

// Inputs are the files that are linked.
func (c *Nvlink) Inputs() []string {
	var out []string
	for _, at := range c.inputs {
		out = append(out, c.Args[at])
	}
	return out
}

// Output is the name of the output.
func (c *Nvlink) Output() string { return c.Args[c.out] }

// Template gives the arguments as they are recorded: numbers for the inputs, and a place for the
// output.
func (c *Nvlink) Template() []string {
	args := slices.Clone(c.Args)
	for n, at := range c.inputs {
		args[at] = "<" + strconv.Itoa(n) + ">"
	}
	args[c.out] = PlaceOut
	return args
}

// With gives the arguments with other names of files: some for each input, one for the output, and
// one for the list of what was linked, if it is written.
func (c *Nvlink) With(inputs [][]string, out, registration string) []string {
	args := slices.Clone(c.Args)
	args[c.out] = out
	for _, w := range c.registrations {
		args[w.at] = args[w.at][:w.from] + registration
	}
	for n := len(c.inputs) - 1; n >= 0; n-- { // from the end, so that the indexes before stay right
		args = slices.Replace(args, c.inputs[n], c.inputs[n]+1, inputs[n]...)
	}
	return args
}
