package toolcmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Cicc is a cicc command, read.
type Cicc struct {
	Args    []string // without the tool
	In      int      // index of the input
	Out     int      // index of what follows -o
	Module  int      // index of what follows --module_id_file_name, -1: not there
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
		--gen_c_file_name --stub_file_name --gen_device_file_name --tile_bc_file_name -olto`)
	t.exactly(option{}, genModule)
	return t
})

// ReadCicc reads the arguments of cicc.
func ReadCicc(args []string) (*Cicc, error) {
	c := &Cicc{Args: args, In: -1, Out: -1, Module: -1}
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
	case "--module_id_file_name":
		c.Module = w.at
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

// ModuleFile is the name of the file with the module id, in the folder of Elsewhere.
const ModuleFile = "module_id"

// Elsewhere gives the arguments with all files in dir, and the names of input and output. nvcc's
// own files must not be touched: it goes on with some of them.
func (c *Cicc) Elsewhere(dir string) (args []string, in, out string) {
	args = slices.Clone(c.Args)
	in = filepath.Join(dir, "in"+filepath.Ext(args[c.In]))
	out = filepath.Join(dir, "out.ptx")
	args[c.In], args[c.Out] = in, out
	if c.Module >= 0 {
		args[c.Module] = filepath.Join(dir, ModuleFile)
	}
	for _, w := range c.others {
		args[w.at] = filepath.Join(dir, "other"+strconv.Itoa(w.index))
	}
	if c.Makes {
		// The variant's static symbols are to be called as the default's are: the id is given, not made.
		args = slices.DeleteFunc(args, func(word string) bool { return word == genModule })
	}
	return args, in, out
}

// Template gives the arguments without the names of files that are nvcc's own and other in every
// run.
func (c *Cicc) Template() []string {
	args, _, _ := c.Elsewhere("/")
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
		case w.name == "--module_id_file_name":
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
