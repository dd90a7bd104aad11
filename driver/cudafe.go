package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The cudafe stage: preprocessed code in, host code out. It changes nothing; it is there for apply, which takes from the store
// what cudafe++ wrote (reuse.go).

// A cudafeCall is a cudafe++ command, read.
type cudafeCall struct {
	in      string
	outputs []string
	reads   []string // besides the input
}

// cudafeValued are cudafe++'s options whose value is the next word, as nvcc 11.8 to 13.5 writes them.
var cudafeValued = set(`
	--orig_src_file_name --orig_src_path_name --gen_c_file_name --stub_file_name --module_id_file_name --define_macro --diag_suppress --diag_error
	--diag_warning --include_file_name
`)

// readCudafe reads the arguments. An option that is not known and speaks of a file is an error: it may be one more output.
func readCudafe(args []string) (*cudafeCall, error) {
	c := &cudafeCall{}
	module, makes := "", false
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case cudafeValued[word]:
			i++
			if i >= len(args) {
				return nil, fmt.Errorf("%s has no value: %w", word, errAside)
			}
			switch word {
			case "--gen_c_file_name":
				c.outputs = append(c.outputs, args[i])
			case "--module_id_file_name":
				module = args[i]
			}
		case word == genModule:
			makes = true
		case strings.HasPrefix(word, "-"):
			if touchesFiles(word) {
				return nil, fmt.Errorf("%s may be about a file: %w", word, errAside)
			}
		default:
			switch filepath.Ext(word) {
			case ".ii", ".i":
			default:
				return nil, fmt.Errorf("%q is not preprocessed code: %w", word, errAside)
			}
			if c.in != "" {
				return nil, fmt.Errorf("two inputs, %q and %q: %w", c.in, word, errAside)
			}
			c.in = word
		}
	}
	if c.in == "" || len(c.outputs) != 1 {
		return nil, fmt.Errorf("no input or no output: %w", errAside)
	}
	if module != "" {
		if makes {
			c.outputs = append(c.outputs, module)
		} else {
			c.reads = append(c.reads, module)
		}
	}
	return c, nil
}

// touchesFiles tells whether an option that we don't know may name a file that is read or written. Its value could also be the next word.
func touchesFiles(option string) bool {
	for _, part := range []string{"file", "dump", "save", "keep", "path", "dir", "list", "=/"} {
		if strings.Contains(option, part) {
			return true
		}
	}
	return false
}

func (s *stage) cudafe() error {
	if s.store == nil {
		return fmt.Errorf("%w: %w", errNoStore, errAside)
	}
	s.sameModule()
	c, err := readCudafe(s.words[1:])
	if err != nil {
		return err
	}
	// Reading takes place while cudafe++ works, unless its work may be known.
	type prepared struct {
		r   *reuse
		err error
	}
	done := make(chan prepared, 1)
	prepare := func() {
		var p prepared
		var inputs [][]byte
		for _, path := range append([]string{c.in}, c.reads...) {
			content, err := os.ReadFile(path)
			if err != nil {
				done <- prepared{err: err}
				return
			}
			inputs = append(inputs, content)
		}
		saw(inputMark, inputs[0])
		p.r, p.err = s.newReuse(inputs, c.outputs)
		done <- p
	}
	var p prepared
	if on(varReuse) {
		prepare()
		if p = <-done; p.err == nil && s.take(p.r) {
			return nil
		}
	} else {
		go prepare()
	}
	end, err := s.run(nil)
	if !on(varReuse) {
		p = <-done
	}
	if err != nil || !end.ok() {
		return err
	}
	if p.err != nil {
		s.log.Debug().Err(p.err).Msg("nothing is kept for apply")
		return nil
	}
	return s.keepStep(p.r)
}
