package toolcmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
)

// A Cicc is a cicc command, read.
type Cicc struct {
	Args    []string // without the tool
	In      int      // index of the input
	Out     int      // index of what follows -o
	Module  int      // index of what follows --module_id_file_name, -1: not there
	Lowered int      // index of what follows --gen_device_file_name, -1: not there
	Stub    int      // likewise --stub_file_name
	Source  string   // --orig_src_path_name: the user's file
	Makes   bool     // --gen_module_id_file: cicc writes the module id, it does not read it
	Unclear string   // an option that we don't know and that may be about a file, "" if there is none

	others []word // options that name further files which it writes
}

// ciccWrites is said of options that name a file which cicc writes beside the PTX; with some nvcc
// goes on.
const ciccWrites does = 1

// genModule lets cicc make up the module id, which static symbols are named by.
const genModule = "--gen_module_id_file"

// moduleFile names the file that holds the module id.
const moduleFile = "--module_id_file_name"

// genLowered names the file that gets the device code as the front end lowered it. nvcc 11.8 to 13.5
// ask for it in all compiles but with -ptx.
const genLowered = "--gen_device_file_name"

// ciccTable has cicc's options whose value is the next word, as nvcc 11.8 to 13.5 writes them. They
// need to be known only so that a value is not taken for the input: a user's file may well be
// called x.ii.
var ciccTable = sync.OnceValue(func() *table {
	t := new(table)
	t.exactly(option{value: true}, `
		-o -arch --orig_src_file_name --orig_src_path_name --include_file_name --module_id_file_name
		--gen_c_file --nvvmir-library -nvvmir-library --frandom-seed -maxreg --maxreg -split-compile
		--define_macro --diag_suppress --diag_error --diag_warning`)
	t.exactly(option{value: true, does: ciccWrites}, `
		--gen_c_file_name --stub_file_name --tile_bc_file_name -olto `+genLowered)
	t.exactly(option{}, genModule)
	return t
})

// ReadCicc reads the arguments of cicc.
func ReadCicc(args []string) (*Cicc, error) {
	c := &Cicc{Args: args, In: -1, Out: -1, Module: -1, Lowered: -1, Stub: -1}
	words, err := ciccTable().read(args)
	if err != nil {
		return nil, err
	}
	for _, w := range words {
		if err := c.take(w); err != nil {
			return nil, err
		}
	}
	if c.In < 0 || c.Out < 0 {
		return nil, fmt.Errorf("no input or no -o: %w", ErrAside)
	}
	if filepath.Ext(args[c.Out]) != ".ptx" {
		return nil, fmt.Errorf("the output %q is not PTX: %w", args[c.Out], ErrAside)
	}
	return c, nil
}

// take takes one word in.
func (c *Cicc) take(w word) error {
	switch {
	case w.input():
		switch filepath.Ext(w.text) {
		case ".ii", ".i", ".gpu", ".cup":
			if c.In >= 0 {
				return fmt.Errorf("two inputs, %q and %q: %w", c.Args[c.In], w.text, ErrAside)
			}
			c.In = w.index
		default: // an option's value, as a rule
			if strings.Contains(w.text, "/") {
				return fmt.Errorf("the file %q is of an option that is not known: %w", w.text, ErrAside)
			}
		}
	case w.does == ciccWrites:
		c.others = append(c.others, w)
	case !w.known && c.Unclear == "" && touchesFiles(w.text):
		c.Unclear = w.text
	}
	switch w.name {
	case "-o":
		if c.Out >= 0 {
			return fmt.Errorf("two -o: %w", ErrAside)
		}
		c.Out = w.at
	case moduleFile:
		c.Module = w.at
	case genLowered:
		c.Lowered = w.at
	case "--stub_file_name":
		c.Stub = w.at
	case "--orig_src_path_name":
		c.Source = w.value
	case genModule:
		c.Makes = true
	}
	return nil
}

// Outputs are the files that cicc writes.
func (c *Cicc) Outputs() []string {
	out := []string{c.Args[c.Out]}
	for _, w := range c.others {
		out = append(out, w.value)
	}
	if c.Module >= 0 && c.Makes {
		out = append(out, c.Args[c.Module])
	}
	return out
}

// Slice gives the arguments for a text of ours in the input's place, with input and output in dir.
// What else the call writes, and the module's id, belong to the front end's work on the user's text.
func (c *Cicc) Slice(dir string) (args []string, in, out string) {
	in, out = filepath.Join(dir, "in.ii"), filepath.Join(dir, "out.ptx")
	drop := map[int]bool{}
	for _, w := range c.others {
		drop[w.index], drop[w.at] = true, true
	}
	if c.Module >= 0 {
		drop[c.Module-1], drop[c.Module] = true, true
	}
	for i, word := range c.Args {
		switch {
		case drop[i] || word == genModule:
		case i == c.In:
			args = append(args, in)
		case i == c.Out:
			args = append(args, out)
		default:
			args = append(args, word)
		}
	}
	return args, in, out
}

// Lower gives the arguments for the call's own input in dir, with which cicc writes its lowered
// device code as well.
func (c *Cicc) Lower(dir string) (args []string, in, lowered string) {
	args, in, _ = c.Slice(dir)
	lowered = filepath.Join(dir, "lowered")
	return append(args, genModule, moduleFile, filepath.Join(dir, "module_id"), "--gen_c_file_name",
		filepath.Join(dir, "c"), "--stub_file_name", filepath.Join(dir, "stub"), genLowered,
		lowered), in, lowered
}

// Template gives the arguments of Slice without the names of files that are nvcc's own and other in
// every run.
func (c *Cicc) Template() []string {
	args, _, _ := c.Slice("/")
	for i := range args {
		args[i] = BlotTemporary(args[i])
	}
	return args
}

// A Module is what a command of cicc or cudafe++ says of the module id.
type Module struct {
	Source string // the user's file
	File   string // where the id lies, "" where it is not named
	Make   int    // index of the option that lets the tool make the id up, -1 if it is not there
}

// ReadModule reads that.
func ReadModule(args []string) Module {
	m := Module{Make: -1}
	words, err := ciccTable().read(args) // cudafe++ has these options, too
	if err != nil {
		return m
	}
	for _, w := range words {
		switch {
		case w.name == "--orig_src_path_name":
			m.Source = w.value
		case w.name == moduleFile:
			m.File = w.value
		case w.name == genModule && m.Make < 0:
			m.Make = w.index
		}
	}
	return m
}

// touchesFiles tells whether an option that we don't know may name a file that is read or written.
// Its value could also be the next word.
func touchesFiles(option string) bool {
	for _, part := range []string{"file", "dump", "save", "keep", "path", "dir", "list", "=/"} {
		if strings.Contains(option, part) {
			return true
		}
	}
	return false
}
