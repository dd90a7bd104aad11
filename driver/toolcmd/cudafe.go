package toolcmd

import (
	"fmt"
	"path/filepath"
	"sync"
)

// A Cudafe is a cudafe++ command, read.
type Cudafe struct {
	In      string
	Outputs []string
	Reads   []string // besides the input
}

// cudafeTable has cudafe++'s options whose value is the next word, as nvcc 11.8 to 13.5 writes
// them.
var cudafeTable = sync.OnceValue(func() *table {
	t := new(table)
	t.exactly(option{value: true}, `
		--orig_src_file_name --orig_src_path_name --gen_c_file_name --stub_file_name
		--module_id_file_name --define_macro --diag_suppress --diag_error --diag_warning
		--include_file_name`)
	t.exactly(option{}, genModule)
	return t
})

// ReadCudafe reads the arguments of cudafe++. An option that is not known and speaks of a file is
// an error: it may be one more output.
func ReadCudafe(args []string) (*Cudafe, error) {
	c := new(Cudafe)
	words, err := cudafeTable().read(args)
	if err != nil {
		return nil, err
	}
	module, makes := "", false
	for _, w := range words {
		switch {
		case w.input():
			if ext := filepath.Ext(w.text); ext != ".ii" && ext != ".i" {
				return nil, fmt.Errorf("%q is not preprocessed code: %w", w.text, ErrAside)
			}
			if c.In != "" {
				return nil, fmt.Errorf("two inputs, %q and %q: %w", c.In, w.text, ErrAside)
			}
			c.In = w.text
		case !w.known && touchesFiles(w.text):
			return nil, fmt.Errorf("%s may be about a file: %w", w.text, ErrAside)
		case w.name == "--gen_c_file_name":
			c.Outputs = append(c.Outputs, w.value)
		case w.name == "--module_id_file_name":
			module = w.value
		case w.name == genModule:
			makes = true
		}
	}
	switch {
	case c.In == "" || len(c.Outputs) != 1:
		return nil, fmt.Errorf("no input or no output: %w", ErrAside)
	case module != "" && makes:
		c.Outputs = append(c.Outputs, module)
	case module != "":
		c.Reads = append(c.Reads, module)
	}
	return c, nil
}
