package driver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/stub"
)

// The ptxas stage: PTX in, cubin out. It knows the kernels of the PTX and looks their recipes up.
//
//	no recipe, seen before    become ptxas
//	no recipe                 run ptxas, read the cubin back, write down what was seen
//	recipes, built before     the cubin from the store, ptxas' messages from the store
//	recipes                   nvcc's own compile first, unless it was seen before: its messages are the user's, and its registers
//	                          the measure; then the one with the recipes, quietly; its cubin takes the other's place
//
// In the end there is always either ptxas' own result or one that was read back and found sound.

func (s *stage) ptxas() error {
	call, err := toolcmd.ReadPtxas(s.words[1:])
	if err != nil {
		return err
	}
	if s.store == nil {
		return fmt.Errorf("%w: %w", errNoStore, toolcmd.ErrAside)
	}
	text, err := readRegular(call.Input(), maxPTX)
	if err != nil {
		return err
	}
	j, err := newJob(s.store, call, s.tool, text)
	if err != nil {
		return err
	}
	std, seen := j.loadStandard(s.store)
	var kernels []cache.Kernel
	if seen {
		kernels = std.Kernels
	} else if kernels, err = j.identities(); err != nil {
		return err
	}
	saw(ptxMark, text)
	recipes, refused := map[string]recipe.Recipe{}, map[string]error{}
	if !call.Debug && len(kernels) > 0 {
		recipes, refused = s.recipesOf(kernels)
	}
	for name, reason := range refused {
		s.log.Warn().Str("kernel", name).Err(reason).Msg("a recipe can't be read")
	}
	group := s.group(call.Input(), j.hash)
	keepWords(group, "command", s.words)
	keep(group, "default.ptx", text)

	if len(recipes) == 0 {
		if seen && on(varStop) && s.knownCubin(j, std) {
			return nil
		}
		if seen && frozenHere() == nil && s.noted(j, std.Cubin, kernels) {
			s.outcome = outSeen
			return nil // the stage becomes ptxas
		}
		_, err := s.standard(j, kernels, group)
		return err
	}
	return s.tuned(j, std, kernels, recipes, group)
}

// recipesOf gives the recipes that the kernels are to be built with: those that apply says, else those of the store.
func (s *stage) recipesOf(kernels []cache.Kernel) (recipes map[string]recipe.Recipe, refused map[string]error) {
	f := frozenHere()
	if f != nil {
		recipes, refused = f.of(kernels)
	}
	sn, err := s.store.Snapshot()
	if err != nil {
		s.log.Debug().Err(err).Msg("no decisions")
		return recipes, refused
	}
	defer sn.Close()
	stand, not, normals := wanted(sn, kernels, askerOf(s.store, s.command, os.Getenv))
	s.normals = normals
	if f == nil {
		return stand, not
	}
	for name, r := range recipes { // one that stands no more is built again to compare with what is there, and no decision proves it
		if stand[name].String() != r.String() {
			delete(s.normals, name)
		}
	}
	return recipes, refused
}

// readRegular reads a file that is a plain one of at most limit bytes: what comes out of a pipe could not be read twice.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, toolcmd.ErrAside) // ptxas has its own words for that
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file: %w", path, toolcmd.ErrAside)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes: %w", path, info.Size(), toolcmd.ErrAside)
	}
	return io.ReadAll(f)
}

// standard runs ptxas as the user asked for, and writes down what came out. The result is nil where ptxas failed.
func (s *stage) standard(j *job, kernels []cache.Kernel, group string) (*standard, error) {
	t := newTee()
	end, err := s.run(t)
	if err != nil || !end.ok() {
		return nil, err
	}
	content, err := os.ReadFile(j.call.Output())
	if err != nil {
		return nil, fmt.Errorf("read the cubin: %w", err)
	}
	keep(group, "default.cubin", content)
	kernels, _, err = readBack(kernels, content)
	if err != nil {
		return nil, err
	}
	spills(kernels, t.messages)
	std := &standard{Kernels: kernels, Cubin: cache.Hash(content), Messages: t.messages, Whole: t.whole}
	if err := j.keepStandard(s.store, std); err != nil {
		return std, fmt.Errorf("note what ptxas gave: %w", err)
	}
	return std, s.note(j, content, kernels)
}

// noteText says what is worth a new record: the cubin, and what was applied or refused in it.
func noteText(cubinHash string, kernels []cache.Kernel) string {
	text := cubinHash
	for _, k := range kernels {
		if k.Recipe != "" || k.Reason != "" {
			text += "\n" + k.Name + "\n" + k.Recipe + "\n" + k.Reason + "\n" + k.Proof
		}
	}
	return text
}

// noted tells whether this command's assembly was written down before as it is now. Where the cubin may be another
// one each time (-lineinfo keeps a file's time) that is not known beforehand.
func (s *stage) noted(j *job, cubinHash string, kernels []cache.Kernel) bool {
	if j.call.Lineinfo || j.call.Debug {
		return false
	}
	text, ok := memoNoted.Get(s.store, cache.HashOf(j.key, s.command))
	return ok && text == noteText(cubinHash, kernels) && s.store.HasObject(j.hash)
}

// note writes down what was built.
func (s *stage) note(j *job, content []byte, kernels []cache.Kernel) error {
	if len(kernels) == 0 {
		return nil // functions only; the device link's record leads to the kernels that call them
	}
	kernels = slices.Clone(kernels)
	for i, k := range kernels {
		if k.Reason != "" {
			kernels[i].Proof = proofOf(s.normals[k.Name])
		}
	}
	hash := cache.Hash(content)
	beside := os.Getenv(varApply)
	if beside == "" && s.noted(j, hash, kernels) {
		return nil
	}
	if _, err := s.store.PutObject(j.ptx); err != nil {
		return fmt.Errorf("keep the PTX: %w", err)
	}
	if j.call.Reloc || on(varStop) {
		if _, err := s.store.PutObject(content); err != nil {
			return fmt.Errorf("keep the cubin: %w", err)
		}
	}
	a := j.assembly(s.command, s.dir, hash, kernels)
	a.Time = time.Now().UTC()
	if beside != "" {
		return hold(beside, heldNote{
			Key: assemblyKey(hash, s.command), Assembly: a,
			MemoKey: cache.HashOf(j.key, s.command), MemoText: noteText(hash, kernels),
		})
	}
	if err := s.store.Spool(cache.Assemblies, assemblyKey(hash, s.command), a); err != nil {
		return fmt.Errorf("spool the assembly: %w", err)
	}
	if err := memoNoted.Put(s.store, cache.HashOf(j.key, s.command), noteText(hash, kernels)); err != nil {
		return fmt.Errorf("note the assembly: %w", err)
	}
	return nil
}

// A keptBuild is the memo of a build with recipes.
type keptBuild struct {
	Cubin   string // object; "" where no recipe could be applied
	Kernels []cache.Kernel
	Choices []stub.Choice `json:",omitempty"`
}

const memoBuild cache.Memos[keptBuild] = "build"

// tuned builds with recipes. std is nil where nvcc's own compile was not seen before.
func (s *stage) tuned(j *job, std *standard, kernels []cache.Kernel, recipes map[string]recipe.Recipe, group string) error {
	ran := false
	if std == nil || !std.Whole {
		var err error
		if std, err = s.standard(j, kernels, group); err != nil || std == nil {
			return err
		}
		ran = true
	}
	// From here on nvcc's own result is there, or will be by becoming ptxas.
	keep(group, "recipes", []byte(recipesText(recipes)+"\n"))
	host := s.stubOf(j)
	key, t := s.buildKey(j, recipes, host)
	content, kept, ok := s.loadBuild(key, j, host)
	s.outcome = outKept
	if !ok {
		s.outcome = outCompiled
		var err error
		if content, kept, err = s.buildAnew(key, j, t, recipes, std, host, group); err != nil {
			return err
		}
	}
	if content == nil { // no recipe could be carried out: nvcc's own cubin it is
		s.outcome = outRefused
		if !ran {
			var err error
			if std, err = s.standard(j, kernels, group); err != nil || std == nil {
				return err
			}
		}
		final, err := os.ReadFile(j.call.Output())
		if err != nil {
			return err
		}
		return s.note(j, final, kept.Kernels)
	}
	if err := s.put(j, content, kept, host, group); err != nil {
		s.result = nil // what lies there may be half a file: ptxas is to write its own
		return err
	}
	if !ran {
		replay(std.Messages)
		s.result = &ending{}
	}
	return s.note(j, content, kept.Kernels)
}

// stubOf finds the host stub of a job, when it is asked for.
func (s *stage) stubOf(j *job) func() (*hostStub, error) {
	return sync.OnceValues(func() (*hostStub, error) {
		if c, err := loadCommand(s.store, s.command); err != nil || !hasHost(c) {
			return nil, fmt.Errorf("a second entry is chosen by host code, and this command compiles none")
		}
		return findStub(j.call.Input())
	})
}

// buildKey is the key of all that a build with recipes depends on. t is nil where it is not known which
// call of cicc the PTX came from.
func (s *stage) buildKey(j *job, recipes map[string]recipe.Recipe, host func() (*hostStub, error)) (key string, t *translation) {
	depends := []string{"build 1", j.key, recipesText(recipes), normalsText(s.normals), cache.OwnKey()}
	if found, ok := loadTranslation(s.store, j.hash); ok {
		t = &found
		depends = append(depends, t.Input, t.Module)
	}
	for _, r := range recipes {
		if r.HasSecond() {
			if _, err := host(); err != nil {
				depends = append(depends, err.Error())
			}
			break
		}
	}
	return cache.HashOf(depends...), t
}

// buildAnew compiles with recipes, and keeps what came out. The content is nil where none could be carried out.
func (s *stage) buildAnew(key string, j *job, t *translation, recipes map[string]recipe.Recipe, std *standard,
	host func() (*hostStub, error), group string) (content []byte, kept keptBuild, err error) {
	built, err := s.compile(j, t, recipes, std.Kernels, host, group)
	if err != nil {
		return nil, kept, err
	}
	for name, reason := range built.refused {
		s.log.Warn().Str("kernel", name).Str("recipe", recipes[name].String()).Err(reason).Msg("not applied")
		if on(varStrict) {
			return nil, kept, fmt.Errorf("%s: recipe %q: %w", name, recipes[name], reason)
		}
	}
	content, kept.Kernels, kept.Choices = built.content, built.kernels, built.choices
	if content == nil {
		kept.Kernels = append([]cache.Kernel(nil), std.Kernels...)
		for i, k := range kept.Kernels {
			if reason, ok := built.refused[k.Name]; ok {
				kept.Kernels[i].Reason = reasonText(recipes[k.Name], reason)
			}
		}
	}
	lasting := true
	for _, reason := range built.refused {
		lasting = lasting && !transient(reason)
	}
	if lasting {
		s.keepBuild(key, content, kept)
	}
	return content, kept, nil
}

// put writes a build where nvcc looks for it: the cubin, and the stub that chooses its second entries.
func (s *stage) put(j *job, content []byte, kept keptBuild, host func() (*hostStub, error), group string) error {
	keep(group, "final.cubin", content)
	if err := install(j.call.Output(), content); err != nil {
		return err
	}
	if len(kept.Choices) > 0 {
		// Without a change to the stub the second entries would lie there unused: no harm, no gain.
		h, err := host()
		if err == nil {
			text, _ := h.patch(kept.Choices)
			keep(group, "stub.c", text)
			err = replace(h.path, text)
		}
		if err != nil {
			return fmt.Errorf("change the host stub: %w", err)
		}
	}
	return nil
}

// loadBuild finds what was built before from the same things. A stub that would not take the choices any more makes it void.
func (s *stage) loadBuild(key string, j *job, host func() (*hostStub, error)) ([]byte, keptBuild, bool) {
	kept, ok := memoBuild.Get(s.store, key)
	if !ok || j.call.Lineinfo {
		return nil, keptBuild{}, false
	}
	if kept.Cubin == "" {
		return nil, kept, true
	}
	if len(kept.Choices) > 0 {
		h, err := host()
		if err != nil {
			return nil, keptBuild{}, false
		}
		if _, refused := h.patch(kept.Choices); len(refused) > 0 {
			return nil, keptBuild{}, false
		}
	}
	content, err := s.store.Object(kept.Cubin)
	return content, kept, err == nil
}

// keepBuild keeps a result. If that fails it is made again.
func (s *stage) keepBuild(key string, content []byte, kept keptBuild) {
	var err error
	if content != nil {
		if kept.Cubin, err = s.store.PutObject(content); err != nil {
			s.log.Warn().Err(err).Msg("a build is not kept")
			return
		}
	}
	if err := memoBuild.Put(s.store, key, kept); err != nil {
		s.log.Warn().Err(err).Msg("a build is not kept")
	}
}

// compile makes the cubin with the recipes.
func (s *stage) compile(j *job, t *translation, recipes map[string]recipe.Recipe, std []cache.Kernel, host func() (*hostStub, error), group string) (*built, error) {
	folder, err := s.watch.folder()
	if err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	b := &bench{
		store: s.store, log: s.log, folder: folder,
		start: func(cmd *exec.Cmd) (ending, error) { return s.watch.run(cmd, true) },
		kept:  func(name string, content []byte) { keep(group, name, content) },
		stub:  host, normals: s.normals,
	}
	ctx, cancel := context.WithTimeout(context.Background(), limitBuild)
	defer cancel()
	return b.build(ctx, j, t, recipes, std)
}

// install writes a cubin where ptxas would have written it, the way ptxas does: into the file that is there (which may be a
// link, or have its own mode), else into a new one. The only reader, nvcc, waits for us to end.
func install(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return fmt.Errorf("write the cubin: %w", err)
	}
	_, err = f.Write(content)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("write the cubin: %w", err)
	}
	return nil
}

// replace puts a new content into a temporary file of nvcc's, all or nothing.
func replace(path string, content []byte) error {
	beside := path + ".gnvcc"
	if err := os.WriteFile(beside, content, 0o600); err != nil {
		os.Remove(beside)
		return err
	}
	if err := os.Rename(beside, path); err != nil {
		os.Remove(beside)
		return err
	}
	return nil
}
