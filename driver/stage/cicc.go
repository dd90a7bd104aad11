package stage

import (
	"fmt"
	"os"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
)

// The cicc stage: preprocessed device code in, PTX out. It changes nothing. It keeps the device code
// as cicc's front end has lowered it, which nvcc removes later, and notes from which call the PTX
// came, so that the ptxas stage and the tuner can compile a variant of a kernel.

// ciccVariables are set by nvcc.profile, in nvcc's own environment only, and read by cicc.
var ciccVariables = []string{"NVVMIR_LIBRARY_DIR", "LD_LIBRARY_PATH", "CICC_PATH", "_NVVM_BRANCH_"}

// A keptInput is what is known of cicc's input.
type keptInput struct {
	text     []byte
	hash     string
	sources  string // object: the files that it came from
	resident string // cache.Translation.Resident
	same     *reuse // the call for apply, nil where nothing is kept of it
}

func (s *stage) cicc() error {
	s.sameModule()
	c, err := toolcmd.ReadCicc(s.words[1:])
	if err != nil {
		return err
	}
	if err := readsBack(c.Args[c.Out]); err != nil {
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
	t := cache.Translation{
		Command: s.env.Command, Cicc: s.tool, Args: c.Args, Dir: s.dir, Input: input.hash,
		Sources: input.sources, Resident: input.resident, PTX: hash, Time: time.Now().UTC(),
		Source: c.Source}
	if err := s.noteModule(c.Source, string(module)); err != nil {
		return err
	}
	if t.Lowered, err = s.keepLowered(c); err != nil {
		return err
	}
	if c.Stub >= 0 {
		stub, err := os.ReadFile(c.Args[c.Stub])
		if err != nil {
			return fmt.Errorf("read the host stub: %w", err)
		}
		t.Inline = compile.Inline(stub)
	}
	for _, name := range ciccVariables {
		if value, ok := s.env.Lookup(name); ok {
			t.Env = append(t.Env, name+"="+value)
		}
	}
	group := s.group(out, hash)
	s.env.Keep(group, c.Args[c.In], input.text)
	if c.Lowered >= 0 && s.env.KeepIn != "" {
		if text, err := s.store.Object(t.Lowered); err == nil {
			s.env.Keep(group, c.Args[c.Lowered], text)
		}
	}
	s.env.Keep(group, out, ptx)
	s.env.KeepWords(group, "command", s.words)
	return s.noteTranslation(t, ptx)
}

// translate runs cicc, or takes what it wrote before. ran is false where cicc refused the input:
// the user's own error, of which nothing is noted.
func (s *stage) translate(c *toolcmd.Cicc, module []byte) (input keptInput, ran bool, err error) {
	// The input is read and kept while cicc works on it, unless its work may be known.
	prepared := s.beside(func() (err error) {
		input, err = s.keepInput(c, module)
		return err
	})
	if s.env.Reuse && prepared() == nil {
		s.apply.Input(input.text)
		if s.take(input.same) {
			return input, true, nil
		}
	}
	end, err := s.run(nil)
	notKept := prepared()
	if err != nil || !end.OK() {
		return input, false, err
	}
	if notKept != nil {
		return input, false, fmt.Errorf("keep cicc's input: %w", notKept)
	}
	return input, true, s.keepStep(s.asRead(c, input))
}

// keepInput reads cicc's input, and describes the call for apply. The input itself is kept only
// where cicc is not to write the lowered code: it can be asked for that later.
func (s *stage) keepInput(c *toolcmd.Cicc, module []byte) (input keptInput, err error) {
	if input.text, err = os.ReadFile(c.Args[c.In]); err != nil {
		return input, err
	}
	input.hash = cache.Hash(input.text)
	if c.Lowered < 0 {
		if _, err = s.store.PutObject(input.text); err != nil {
			return input, err
		}
	}
	input.sources, err = record.KeepSources(s.store, input.text)
	if err != nil {
		return input, err
	}
	input.resident = compile.Resident(input.text)
	input.same = s.ciccReuse(c, input.hash, module)
	return input, nil
}

// keepLowered keeps the device code as cicc's front end has lowered it. "": it was not asked to
// write it.
func (s *stage) keepLowered(c *toolcmd.Cicc) (hash string, err error) {
	if c.Lowered < 0 {
		return "", nil
	}
	text, err := os.ReadFile(c.Args[c.Lowered])
	if err == nil {
		hash, err = s.store.PutObject(text)
	}
	if err != nil {
		return "", fmt.Errorf("keep the lowered device code: %w", err)
	}
	return hash, nil
}

// ciccReuse describes the call for apply, nil where nothing is kept of it. input is the hash of
// what cicc reads.
func (s *stage) ciccReuse(c *toolcmd.Cicc, input string, module []byte) *reuse {
	if c.Unclear != "" {
		s.log.Debug().Str("option", c.Unclear).Msg("may be about a file: nothing is kept for apply")
		return nil
	}
	r, err := s.newReuse([]string{input, cache.Hash(module)}, c.Outputs())
	if err != nil {
		s.log.Debug().Err(err).Msg("nothing is kept for apply")
		return nil
	}
	return r
}

// noteTranslation keeps a translation where the ptxas stage looks for it, and spools it for the
// store unless an equal one was noted before.
func (s *stage) noteTranslation(t cache.Translation, ptx []byte) error {
	if old, ok := record.LoadTranslation(s.store, t.PTX); ok && old.Input == t.Input &&
		s.store.HasObject(t.PTX) && (old.Command == t.Command && old.Cicc == t.Cicc &&
		old.Lowered == t.Lowered && old.Sources == t.Sources ||
		old.Lowered != "" && t.Lowered == "") { // nvcc -ptx: the call of a build says more
		return nil
	}
	if _, err := s.store.PutObject(ptx); err != nil {
		return fmt.Errorf("keep cicc's output: %w", err)
	}
	if err := record.KeepTranslation(s.store, t); err != nil {
		return fmt.Errorf("note the translation: %w", err)
	}
	if err := s.store.Spool(cache.Translations, t.PTX, t); err != nil {
		return fmt.Errorf("spool the translation: %w", err)
	}
	return nil
}
