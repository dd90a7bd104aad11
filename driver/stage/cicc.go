package stage

import (
	"fmt"
	"os"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
)

// The cicc stage: preprocessed device code in, PTX out. It changes nothing. It keeps the input,
// which nvcc removes later, and notes from which call the PTX came, so that the ptxas stage and the
// tuner can compile a variant of it.

// ciccVariables are set by nvcc.profile, in nvcc's own environment only, and read by cicc.
var ciccVariables = []string{"NVVMIR_LIBRARY_DIR", "LD_LIBRARY_PATH", "CICC_PATH", "_NVVM_BRANCH_"}

// A keptInput is cicc's input, as it was read and kept.
type keptInput struct {
	hash string
	text []byte
	err  error
}

func (s *stage) cicc() error {
	s.sameModule()
	c, err := toolcmd.ReadCicc(s.words[1:])
	if err != nil {
		return err
	}
	var module []byte
	if c.Module >= 0 && !c.Makes {
		module, _ = os.ReadFile(c.Args[c.Module])
	}
	input, ran, err := s.translate(c, module)
	if err != nil || !ran {
		return err
	}
	out := c.Args[c.Out]
	ptx, err := os.ReadFile(out)
	if err != nil {
		return fmt.Errorf("read cicc's output: %w", err)
	}
	hash := cache.Hash(ptx)
	if c.Module >= 0 && c.Makes {
		module, _ = os.ReadFile(c.Args[c.Module])
	}
	t := record.Translation{Translation: cache.Translation{
		Command: s.env.Command, Cicc: s.tool, Args: c.Args, Dir: s.dir, Input: input.hash, PTX: hash,
		Time: time.Now().UTC(),
	}, Source: c.Source, Module: string(module)}
	for _, name := range ciccVariables {
		if value, ok := s.env.Lookup(name); ok {
			t.Env = append(t.Env, name+"="+value)
		}
	}
	group := s.group(out, hash)
	s.env.Keep(group, c.Args[c.In], input.text)
	s.env.Keep(group, out, ptx)
	s.env.KeepWords(group, "command", s.words)
	return s.noteTranslation(t, ptx)
}

// translate runs cicc, or takes what it wrote before. ran is false where cicc refused the input:
// the user's own error, of which nothing is noted.
func (s *stage) translate(c *toolcmd.Cicc, module []byte) (input keptInput, ran bool, err error) {
	// Reading and keeping the input takes place while cicc works on it, unless its work may be
	// known.
	done := make(chan keptInput, 1)
	read := func() {
		text, err := os.ReadFile(c.Args[c.In])
		k := keptInput{text: text, err: err}
		if err == nil {
			k.hash, k.err = s.store.PutObject(text)
		}
		done <- k
	}
	var same *reuse
	if s.env.Reuse {
		read()
		if input = <-done; input.err == nil {
			s.apply.Input(input.text)
			if same = s.ciccReuse(c, input.text, module); s.take(same) {
				return input, true, nil
			}
		}
	} else {
		go read()
	}
	end, err := s.run(nil)
	if !s.env.Reuse {
		input = <-done
	}
	if err != nil || !end.OK() {
		return input, false, err
	}
	if input.err != nil {
		return input, false, fmt.Errorf("keep cicc's input: %w", input.err)
	}
	if same == nil {
		same = s.ciccReuse(c, input.text, module)
	}
	return input, true, s.keepStep(same)
}

// ciccReuse describes the call for apply, nil where nothing is kept of it.
func (s *stage) ciccReuse(c *toolcmd.Cicc, text, module []byte) *reuse {
	if c.Unclear != "" {
		s.log.Debug().Str("option", c.Unclear).Msg("may be about a file: nothing is kept for apply")
		return nil
	}
	r, err := s.newReuse([][]byte{text, module}, c.Outputs())
	if err != nil {
		s.log.Debug().Err(err).Msg("nothing is kept for apply")
		return nil
	}
	return r
}

// noteTranslation keeps a translation where the ptxas stage looks for it, and spools it for the
// store unless an equal one was noted before.
func (s *stage) noteTranslation(t record.Translation, ptx []byte) error {
	if old, ok := record.LoadTranslation(s.store, t.PTX); ok && old.Command == t.Command &&
		old.Input == t.Input && old.Cicc == t.Cicc &&
		s.store.HasObject(t.PTX) {
		return nil
	} else if ok && old.Input == t.Input && old.Module != "" && t.Module == "" &&
		s.store.HasObject(t.PTX) {
		// nvcc -ptx: the module's id, without which no variant can be compiled, is in the call of a build
		// only
		return nil
	}
	if _, err := s.store.PutObject(ptx); err != nil {
		return fmt.Errorf("keep cicc's output: %w", err)
	}
	if err := t.Keep(s.store); err != nil {
		return fmt.Errorf("note the translation: %w", err)
	}
	if err := s.store.Spool(cache.Translations, t.PTX, t); err != nil {
		return fmt.Errorf("spool the translation: %w", err)
	}
	return nil
}
