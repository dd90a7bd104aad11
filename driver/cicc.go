package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gnvcc/cache"
)

// The cicc stage: preprocessed device code in, PTX out. It changes nothing. It keeps the input, which nvcc removes
// later, and notes from which call the PTX came, so that the ptxas stage and the tuner can compile a variant of it.

// A ciccCall is a cicc command, read.
type ciccCall struct {
	args   []string // without the tool
	in     int      // index of the input
	out    int      // index of what follows -o
	module int      // index of what follows --module_id_file_name, -1: not there
	source string   // --orig_src_path_name: the user's file

	makesModule bool // --gen_module_id_file: cicc writes the module id, it does not read it
}

// ciccValued are cicc's options whose value is the next word, as nvcc 11.8 to 13.5 writes them. They need to be known only so
// that a value is not taken for the input: a user's file may well be called x.ii.
var ciccValued = set(`
	-o -arch --orig_src_file_name --orig_src_path_name --include_file_name --module_id_file_name --gen_c_file_name --stub_file_name
	--gen_device_file_name --gen_c_file --nvvmir-library -nvvmir-library --frandom-seed -maxreg --maxreg -split-compile --define_macro --diag_suppress
	--diag_error --diag_warning --tile_bc_file_name
`)

// ciccOutputs are files that cicc writes beside the PTX, some of which nvcc goes on with.
var ciccOutputs = set(`--gen_c_file_name --stub_file_name --gen_device_file_name --tile_bc_file_name`)

// genModule lets cicc make up the module id, which static symbols are named by.
const genModule = "--gen_module_id_file"

func readCicc(args []string) (*ciccCall, error) {
	c := &ciccCall{args: args, in: -1, out: -1, module: -1}
	for i := 0; i < len(args); i++ {
		word := args[i]
		if ciccValued[word] {
			i++
			if i >= len(args) {
				return nil, fmt.Errorf("%s has no value: %w", word, errAside)
			}
			switch word {
			case "-o":
				if c.out >= 0 {
					return nil, fmt.Errorf("two -o: %w", errAside)
				}
				c.out = i
			case "--module_id_file_name":
				c.module = i
			case "--orig_src_path_name":
				c.source = args[i]
			}
			continue
		}
		if strings.HasPrefix(word, "-") {
			c.makesModule = c.makesModule || word == genModule
			continue
		}
		switch filepath.Ext(word) {
		case ".ii", ".i", ".gpu", ".cup":
			if c.in >= 0 {
				return nil, fmt.Errorf("two inputs, %q and %q: %w", args[c.in], word, errAside)
			}
			c.in = i
		}
	}
	if c.in < 0 || c.out < 0 {
		return nil, fmt.Errorf("no input or no -o: %w", errAside)
	}
	if filepath.Ext(args[c.out]) != ".ptx" {
		return nil, fmt.Errorf("the output %q is not PTX: %w", args[c.out], errAside)
	}
	return c, nil
}

// A translation is the record of a cicc call with what a second run of it needs besides.
type translation struct {
	cache.Translation
	Source string   // the user's file
	Module string   // content of the file of --module_id_file_name, which names of static symbols are made from; nvcc removes it
	Env    []string // what nvcc.profile set for cicc
}

// ciccVariables are set by nvcc.profile, in nvcc's own environment only, and read by cicc.
var ciccVariables = []string{"NVVMIR_LIBRARY_DIR", "LD_LIBRARY_PATH", "CICC_PATH", "_NVVM_BRANCH_"}

// memoTranslation keeps translations by the hash of their PTX, for the ptxas stage of the same build, which runs long
// before anybody merges the spool.
const memoTranslation cache.Memos[translation] = "translation"

func (s *stage) cicc() error {
	if s.store == nil {
		return fmt.Errorf("%w: %w", errNoStore, errAside)
	}
	s.sameModule()
	c, err := readCicc(s.words[1:])
	if err != nil {
		return err
	}
	type kept struct {
		hash string
		text []byte
		err  error
	}
	// Reading and keeping the input takes place while cicc works on it, unless its work may be known.
	done := make(chan kept, 1)
	read := func() {
		text, err := os.ReadFile(c.args[c.in])
		k := kept{text: text, err: err}
		if err == nil {
			k.hash, k.err = s.store.PutObject(text)
		}
		done <- k
	}
	var module []byte
	if c.module >= 0 && !c.makesModule {
		module, _ = os.ReadFile(c.args[c.module])
	}
	var input kept
	var again *reuse
	taken := false
	if on(varReuse) {
		read()
		if input = <-done; input.err == nil {
			saw(inputMark, input.text)
			again = s.ciccReuse(c, input.text, module)
			taken = s.take(again)
		}
	} else {
		go read()
	}
	if !taken {
		end, err := s.run(nil)
		if !on(varReuse) {
			input = <-done
		}
		if err != nil {
			return err
		}
		if !end.ok() {
			return nil // the user's own error; nothing to note
		}
		if input.err != nil {
			return fmt.Errorf("keep cicc's input: %w", input.err)
		}
		if again == nil {
			again = s.ciccReuse(c, input.text, module)
		}
		if err := s.keepStep(again); err != nil {
			return err
		}
	}
	out := c.args[c.out]
	ptx, err := os.ReadFile(out)
	if err != nil {
		return fmt.Errorf("read cicc's output: %w", err)
	}
	hash := cache.Hash(ptx)
	if c.module >= 0 && c.makesModule {
		module, _ = os.ReadFile(c.args[c.module])
	}
	t := translation{Translation: cache.Translation{
		Command: s.command, Cicc: s.tool, Args: c.args, Dir: s.dir, Input: input.hash, PTX: hash, Time: time.Now().UTC(),
	}, Source: c.source, Module: string(module)}
	for _, name := range ciccVariables {
		if value, ok := os.LookupEnv(name); ok {
			t.Env = append(t.Env, name+"="+value)
		}
	}
	group := s.group(out, hash)
	keep(group, c.args[c.in], input.text)
	keep(group, out, ptx)
	keepWords(group, "command", s.words)
	return s.noteTranslation(t, ptx)
}

// ciccReuse describes the call for apply, nil where nothing is kept of it.
func (s *stage) ciccReuse(c *ciccCall, text, module []byte) *reuse {
	outputs := []string{c.args[c.out]}
	for i := 0; i < len(c.args); i++ {
		switch word := c.args[i]; {
		case ciccValued[word]:
			i++
			if ciccOutputs[word] {
				outputs = append(outputs, c.args[i])
			}
		case strings.HasPrefix(word, "-") && word != genModule && touchesFiles(word):
			s.log.Debug().Str("option", word).Msg("may be about a file: nothing is kept for apply")
			return nil
		}
	}
	if c.module >= 0 && c.makesModule {
		outputs = append(outputs, c.args[c.module])
	}
	r, err := s.newReuse([][]byte{text, module}, outputs)
	if err != nil {
		s.log.Debug().Err(err).Msg("nothing is kept for apply")
		return nil
	}
	return r
}

// noteTranslation keeps a translation where the ptxas stage looks for it, and spools it for the store unless an equal one
// was noted before.
func (s *stage) noteTranslation(t translation, ptx []byte) error {
	if old, ok := loadTranslation(s.store, t.PTX); ok && old.Command == t.Command && old.Input == t.Input && old.Cicc == t.Cicc &&
		s.store.HasObject(t.PTX) {
		return nil
	} else if ok && old.Input == t.Input && old.Module != "" && t.Module == "" && s.store.HasObject(t.PTX) {
		return nil // nvcc -ptx: the module's id, without which no variant can be compiled, is in the call of a build only
	}
	if _, err := s.store.PutObject(ptx); err != nil {
		return fmt.Errorf("keep cicc's output: %w", err)
	}
	if err := memoTranslation.Put(s.store, t.PTX, t); err != nil {
		return fmt.Errorf("note the translation: %w", err)
	}
	if err := s.store.Spool(cache.Translations, t.PTX, t); err != nil {
		return fmt.Errorf("spool the translation: %w", err)
	}
	return nil
}

// loadTranslation finds the cicc call that a PTX came from.
func loadTranslation(store *cache.Store, ptxHash string) (translation, bool) {
	t, ok := memoTranslation.Get(store, ptxHash)
	if !ok || t.PTX != ptxHash {
		return translation{}, false
	}
	return t, true
}
