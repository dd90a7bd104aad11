package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/child"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
)

// Reuse: in gnvcc apply no source has changed as a rule, so cudafe++, cicc and the host compiler
// would write what they wrote in the build, device code aside. What they wrote is kept under all
// that it depends on, cicc's by every build, the others' by apply (driver/prefix.go says why);
// apply alone takes it from the store in place of running them. The host's preprocessor
// still runs, each time: what it gives is the input that has to be the same. So a source or a
// header that did change is compiled as it now is.
//
// The key: the tool (path, size, time of modification) and libdevice likewise, its arguments,
// folder and environment, the content of every file that it reads. nvcc's temporary files are
// called otherwise in every run; their names are left out of the key, and replaced in what is
// written. What the tool printed is not kept: apply shows the messages of failed commands only.

// A reuse is one run of a tool whose outputs are kept.
type reuse struct {
	key     string
	names   []string // of nvcc's temporary files in the arguments, each once
	outputs []string // files that the tool writes

	// Of an object only the part is kept that is the same with other device code; nil: all of an
	// output is. Such an output is binary, and a temporary name in it can be replaced by one of its
	// length only.
	bare  func(written []byte) ([]byte, error)
	whole func(bare []byte) ([]byte, error)
}

// A keptStep is the memo of such a run: the names as they were, and the outputs as objects.
type keptStep struct {
	Names   []string
	Outputs []string // hashes; "" for a file that the tool did not write
}

// StepMemos are the memos of what tools wrote, which gnvcc apply alone takes.
const StepMemos = "step"

const memoStep cache.Memos[keptStep] = StepMemos

// newReuse makes the key. inputs are the hashes of the files that the tool reads; their names are
// among the words, save where they are temporary. texts are whatever else the result depends on;
// temporary names are looked for in them as in the words. The error says why nothing is kept of
// this run.
func (s *stage) newReuse(inputs, outputs []string, texts ...string) (*reuse, error) {
	if toolkit.IsScript(s.tool) {
		return nil, fmt.Errorf("%s is a script, which may do anything", s.tool)
	}
	tool, err := s.store.FileKey(s.tool)
	if err != nil {
		return nil, err
	}
	r := &reuse{outputs: outputs}
	parts := []string{"step 1", s.name, tool, s.dir}
	add := func(text string) error {
		short, names, err := toolcmd.CutTemporary(text)
		if err != nil {
			return err
		}
		parts = append(parts, short)
		for _, name := range names {
			at := slices.Index(r.names, name)
			if at < 0 {
				at = len(r.names)
				r.names = append(r.names, name)
			}
			// which are the same is part of the key, what they are is not
			parts = append(parts, strconv.Itoa(at))
		}
		return nil
	}
	for i, word := range s.words[1:] {
		if i > 0 && strings.HasSuffix(s.words[i], "nvvmir-library") { // s.words[i] is the word before
			if word, err = s.store.FileKey(toolcmd.Inside(s.dir, word)); err != nil {
				return nil, err
			}
		}
		if slices.Contains(outputs, word) && !strings.Contains(word, toolcmd.Temporary) {
			word = toolcmd.PlaceOut // it says where the result goes, and not what it is
		}
		if err := add(word); err != nil {
			return nil, err
		}
	}
	parts = append(parts, "texts")
	for _, text := range texts {
		if err := add(text); err != nil {
			return nil, err
		}
	}
	parts = append(parts, "environment")
	parts = append(parts, environment.Of(environment.Of(s.env.Tool()).Without("GNVCC_NVCC")).Compile()...) // the tool is known
	if dir := s.env.Get("NVVMIR_LIBRARY_DIR"); dir != "" && s.name == "cicc" {
		library, err := s.store.FileKey(filepath.Join(toolcmd.Inside(s.dir, dir), "libdevice.10.bc"))
		if err != nil {
			return nil, err
		}
		parts = append(parts, library)
	}
	parts = append(parts, "inputs")
	r.key = cache.HashOf(append(parts, inputs...)...)
	return r, nil
}

// take writes the outputs that were kept, and reports whether there were any.
func (s *stage) take(r *reuse) bool {
	if r == nil || !s.env.Reuse {
		return false
	}
	contents, ok := s.load(r)
	if !ok {
		return false
	}
	for i, content := range contents {
		if content == nil {
			continue
		}
		if r.whole != nil {
			removeOrdinary(r.outputs[i])
		}
		if err := install(r.outputs[i], content); err != nil {
			// and writes the files anew
			s.log.Warn().Err(err).Msg("what was kept can't be written, the tool runs")
			return false
		}
	}
	s.log.Debug().Strs("words", s.words).Msg("taken from the store")
	s.result = &child.Ending{}
	s.outcome = outTaken
	return true
}

// load reads what was kept, with the names of this run.
func (s *stage) load(r *reuse) ([][]byte, bool) {
	kept, ok := memoStep.Get(s.store, r.key)
	if !ok || len(kept.Names) != len(r.names) || len(kept.Outputs) != len(r.outputs) {
		return nil, false
	}
	contents := make([][]byte, len(kept.Outputs))
	for i, hash := range kept.Outputs {
		if hash == "" {
			continue
		}
		content, err := s.store.Object(hash)
		if err != nil {
			return nil, false
		}
		if r.whole != nil && !sameLengths(kept.Names, r.names) {
			return nil, false
		}
		if contents[i], err = toolcmd.RenameTemporary(content, kept.Names, r.names); err != nil {
			return nil, false
		}
		if r.whole != nil {
			if contents[i], err = r.whole(contents[i]); err != nil {
				return nil, false
			}
		}
	}
	return contents, true
}

func sameLengths(a, b []string) bool {
	return slices.EqualFunc(a, b, func(x, y string) bool { return len(x) == len(y) })
}

// removeOrdinary takes away a file or link that an object is to be written to, as the assembler
// does (unlink_if_ordinary of GNU binutils): another link to the old file keeps the old content.
func removeOrdinary(path string) {
	if info, err := os.Lstat(path); err == nil && (info.Mode().IsRegular() ||
		info.Mode()&os.ModeSymlink != 0) {
		os.Remove(path)
	}
}

// keepStep keeps what the tool wrote.
func (s *stage) keepStep(r *reuse) error {
	if r == nil {
		return nil
	}
	if _, ok := memoStep.Get(s.store, r.key); ok && !s.env.Reuse {
		return nil // kept before; where an object is gone, apply finds out and comes here
	}
	kept := keptStep{Names: r.names, Outputs: make([]string, len(r.outputs))}
	for i, path := range r.outputs {
		content, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read what the tool wrote: %w", err)
		}
		if r.bare != nil {
			content, err = r.bare(content)
		}
		if err == nil {
			_, err = toolcmd.RenameTemporary(content, r.names, r.names)
		}
		if err != nil {
			s.log.Debug().Err(err).Str("file", path).Msg("not kept for apply")
			return nil
		}
		if kept.Outputs[i], err = s.store.PutObject(content); err != nil {
			return fmt.Errorf("keep what the tool wrote: %w", err)
		}
	}
	return memoStep.Put(s.store, r.key, kept)
}
