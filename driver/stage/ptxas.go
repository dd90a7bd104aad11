package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/child"
	"gnvcc/driver/compile"
	"gnvcc/driver/job"
	"gnvcc/driver/record"
	"gnvcc/driver/standing"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/stub"
)

// The ptxas stage: PTX in, cubin out. It knows the kernels of the PTX and looks their recipes up.
//
//	no recipe, seen before    become ptxas
//	no recipe                 run ptxas, read the cubin back, write down what was seen
//	never seen                start ptxas, and find out beside it which of the two it is: either begins with it
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
	if err := readsBack(call.Output()); err != nil {
		return err
	}
	text, err := cache.ReadRegular(call.Input(), maxPTX)
	if err != nil { // ptxas has its own words for that, and a pipe can't be read twice
		return fmt.Errorf("%w: %w", err, toolcmd.ErrAside)
	}
	j, err := job.Of(s.store, call, s.tool, text)
	if err != nil {
		return err
	}
	std, seen := j.LoadDefault(s.store)
	var own *atWork
	if !seen && !s.env.Strict { // there an error of ours comes before ptxas' output
		own = s.begin()
		defer own.wait()
	}
	if err := j.AskVersion(s.store); err != nil {
		return err
	}
	var kernels []cache.Kernel
	if seen {
		kernels = std.Kernels
	} else if kernels, err = j.Kernels(); err != nil {
		return err
	}
	s.apply.PTX(text)
	recipes, refused := map[string]recipe.Recipe{}, map[string]error{}
	if !call.Debug && len(kernels) > 0 {
		if recipes, refused, err = s.recipesOf(kernels); err != nil {
			return err
		}
	}
	for name, reason := range refused {
		s.log.Warn().Str("kernel", name).Err(reason).Msg("a recipe can't be read")
	}
	group := s.group(call.Input(), j.Hash)
	s.env.KeepWords(group, "command", s.words)
	s.env.Keep(group, "default.ptx", text)

	if s.lock != "" && s.env.Strict {
		for name, reason := range refused {
			return fmt.Errorf("%s: %w", name, reason)
		}
	}
	if len(recipes) == 0 {
		if seen && s.env.Stop && s.knownCubin(j, std) {
			return nil
		}
		if seen && s.apply == nil && s.noted(j, std.Cubin, kernels, s.unitOf(j)) {
			s.outcome = outSeen
			return nil // the stage becomes ptxas
		}
		_, err := s.runDefault(own, j, kernels, group)
		return err
	}
	return s.tuned(own, j, std, kernels, recipes, group)
}

// recipesOf gives the recipes that the kernels are to be built with: those that apply says, else
// those that are known to this build. An error is one of GNVCC_STRICT.
func (s *stage) recipesOf(kernels []cache.Kernel) (recipes map[string]recipe.Recipe,
	refused map[string]error, err error) {
	if s.apply != nil {
		recipes, refused = s.apply.Recipes(kernels)
	}
	kn, err := standing.KnownAt(s.store, s.dir, s.env)
	//lint:ignore SA5001 what could be read is there beside an error
	defer kn.Close()
	for _, reason := range kn.Missing {
		s.log.Warn().Err(reason).Msg("recipes of others")
	}
	if kn.Lock != "" {
		s.lock = kn.Lock
		s.log.Debug().Str("lock", kn.Lock).Msg("recipes by a lock file")
	}
	if kn.Problem != nil {
		s.log.Warn().Err(kn.Problem).Msg("every kernel is nvcc's own")
		if s.env.Strict {
			return nil, nil, kn.Problem
		}
	}
	if err != nil {
		// none were published, as a rule: no error, and not called one
		s.log.Debug().Str("why", err.Error()).Msg("no recipes")
		return recipes, refused, nil
	}
	stand, not, normals := standing.Recipes(kn, kernels, standing.AskerOf(s.store, s.env.Command,
		s.env))
	s.normals = normals
	if s.apply == nil {
		return stand, not, nil
	}
	// one that stands no more is built again to compare with what is there, and no decision proves it
	for name, r := range recipes {
		if stand[name].String() != r.String() {
			delete(s.normals, name)
		}
	}
	return recipes, refused, nil
}

// runDefault runs ptxas as the user asked for, where it is not yet at work, and writes down what
// came out. The result is nil where ptxas failed.
func (s *stage) runDefault(own *atWork, j *job.Job, kernels []cache.Kernel,
	group string) (*job.Default, error) {
	if own == nil {
		own = s.begin()
	}
	end, err := own.wait()
	if err != nil || !end.OK() {
		return nil, err
	}
	content, err := os.ReadFile(j.Call.Output())
	if err != nil {
		return nil, fmt.Errorf("read the cubin: %w", err)
	}
	s.env.Keep(group, "default.cubin", content)
	kernels, _, err = job.ReadBack(kernels, content)
	if err != nil {
		return nil, err
	}
	job.Spills(kernels, own.heard.Messages)
	std := &job.Default{Kernels: kernels, Cubin: cache.Hash(content), Code: job.CodeOf(content),
		Messages: own.heard.Messages, Whole: own.heard.Whole}
	if err := j.KeepDefault(s.store, std); err != nil {
		return std, fmt.Errorf("note what ptxas gave: %w", err)
	}
	return std, s.note(j, content, kernels, std.Code)
}

// noteText says what is worth a new record: the job, its cubin, and what was applied or refused in
// it.
func noteText(j *job.Job, cubinHash string, kernels []cache.Kernel) string {
	text := j.Key + "\n" + cubinHash
	for _, k := range kernels {
		if k.Recipe == "" && k.Unapplied == nil {
			continue
		}
		text += "\n" + k.Name + "\n" + k.Recipe + "\n" + k.Unapplied.String()
		if k.Unapplied != nil {
			text += "\n" + k.Unapplied.Normals
		}
	}
	return text
}

// unitOf is the key of what this command made last of the job's source file for its target.
func (s *stage) unitOf(j *job.Job) string {
	source := toolcmd.BlotTemporary(j.Call.Input())
	if t, ok := record.LoadTranslation(s.store, j.Hash); ok {
		source = t.Source
	}
	return cache.HashOf("unit 1", s.env.Command, j.Call.Target, source)
}

// noted tells whether this is what the newest record of the command's unit says: then none is
// written, and the stage may become ptxas. A build of something else in between (an edit, another
// branch) is another record, which this one has to come after. Where the cubin may be another one
// each time (-lineinfo keeps a file's time) it is not known beforehand.
func (s *stage) noted(j *job.Job, cubinHash string, kernels []cache.Kernel, unit string) bool {
	if j.Call.Lineinfo || j.Call.Debug {
		return false
	}
	text, ok := record.Noted.Get(s.store, unit)
	return ok && text == noteText(j, cubinHash, kernels) && s.store.HasObject(j.Hash)
}

// note writes down what was built; own is the hash of the code that nvcc's own compile gives.
func (s *stage) note(j *job.Job, content []byte, kernels []cache.Kernel, own string) error {
	if len(kernels) == 0 {
		return nil // functions only; the device link's record leads to the kernels that call them
	}
	kernels = slices.Clone(kernels)
	for i, k := range kernels {
		if k.Unapplied != nil {
			unapplied := *k.Unapplied
			unapplied.Normals = standing.HashOf(s.normals[k.Name])
			kernels[i].Unapplied = &unapplied
		}
	}
	hash, unit := cache.Hash(content), s.unitOf(j)
	if s.apply == nil && s.noted(j, hash, kernels, unit) {
		return nil
	}
	if _, err := s.store.PutObject(j.PTX); err != nil {
		return fmt.Errorf("keep the PTX: %w", err)
	}
	if j.Call.Reloc || s.env.Stop {
		if _, err := s.store.PutObject(content); err != nil {
			return fmt.Errorf("keep the cubin: %w", err)
		}
	}
	a := j.Assembly(s.env.Command, s.dir, hash, kernels)
	a.Code, a.Own, a.Time = job.CodeOf(content), own, time.Now().UTC()
	n := record.Note{Assembly: a, Unit: unit, Text: noteText(j, hash, kernels)}
	if s.apply != nil {
		return s.apply.Hold(n)
	}
	return n.Keep(s.store)
}

// A keptBuild is the memo of a build with recipes.
type keptBuild struct {
	Cubin   string // object; "" where no recipe could be applied
	Kernels []cache.Kernel
	Choices []stub.Choice `json:",omitempty"`
	Error   string        `json:",omitempty"` // it failed on our side, and would again
}

const memoBuild cache.Memos[keptBuild] = "build"

// tuned builds with recipes. std is nil where nvcc's own compile was not seen before; own is then
// at work.
func (s *stage) tuned(own *atWork, j *job.Job, std *job.Default, kernels []cache.Kernel,
	recipes map[string]recipe.Recipe, group string) error {
	ran := false
	if std == nil || !std.Whole || len(std.Messages) > 0 && child.Unread() {
		var err error
		if std, err = s.runDefault(own, j, kernels, group); err != nil || std == nil {
			return err
		}
		ran = true
	}
	// From here on nvcc's own result is there, or will be by becoming ptxas.
	s.env.Keep(group, "recipes", []byte(compile.RecipesText(recipes)+"\n"))
	host := s.stubOf(j)
	s.allResident = compile.HostResident(j.Call.Input())
	key, t := s.buildKey(j, recipes, host)
	content, kept, ok := s.loadBuild(key, j, host)
	if ok && s.env.Strict { // kept by a build that was not
		for _, k := range kept.Kernels {
			if k.Unapplied != nil {
				return fmt.Errorf("%s: recipe %s", k.Name, k.Unapplied)
			}
		}
	}
	if ok && kept.Error != "" {
		return errors.New(kept.Error)
	}
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
			if std, err = s.runDefault(nil, j, kernels, group); err != nil || std == nil {
				return err
			}
		}
		final, err := os.ReadFile(j.Call.Output())
		if err != nil {
			return err
		}
		return s.note(j, final, kept.Kernels, std.Code)
	}
	if err := s.put(j, content, kept, host, group); err != nil {
		s.result = nil // what lies there may be half a file: ptxas is to write its own
		return err
	}
	if !ran {
		child.Replay(std.Messages)
		s.result = &child.Ending{}
	}
	return s.note(j, content, kept.Kernels, std.Code)
}

// stubOf finds the host stub of a job, when it is asked for.
func (s *stage) stubOf(j *job.Job) func() (*compile.HostStub, error) {
	return sync.OnceValues(func() (*compile.HostStub, error) {
		if c, err := record.LoadCommand(s.store, s.env.Command); err != nil || !record.HasHost(c) {
			return nil, fmt.Errorf("a second entry is chosen by host code, and this command compiles none")
		}
		return compile.FindStub(j.Call.Input())
	})
}

// buildKey is the key of all that a build with recipes depends on. t is nil where it is not known
// which call of cicc the PTX came from.
func (s *stage) buildKey(j *job.Job, recipes map[string]recipe.Recipe,
	host func() (*compile.HostStub, error)) (key string, t *cache.Translation) {
	depends := []string{"build 1", j.Key, compile.RecipesText(recipes), compile.NormalsText(s.normals),
		cache.OwnKey()}
	if found, ok := record.LoadTranslation(s.store, j.Hash); ok {
		t = &found
		depends = append(depends, t.Input, t.Lowered)
	}
	if s.allResident != "" {
		depends = append(depends, s.allResident)
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

// buildAnew compiles with recipes, and keeps what came out. The content is nil where none could be
// carried out.
func (s *stage) buildAnew(key string, j *job.Job, t *cache.Translation,
	recipes map[string]recipe.Recipe, std *job.Default,
	host func() (*compile.HostStub, error), group string) (content []byte, kept keptBuild, err error) {
	built, err := s.compile(j, t, recipes, std.Kernels, host, group)
	if err != nil {
		if compile.Lasting(err) {
			s.keepBuild(key, nil, keptBuild{Error: err.Error()})
		}
		return nil, kept, err
	}
	for name, reason := range built.Refused {
		s.log.Warn().Str("kernel", name).Str("recipe", recipes[name].String()).Err(reason).Msg(
			"not applied")
		if s.env.Strict {
			return nil, kept, fmt.Errorf("%s: recipe %q: %w", name, recipes[name], reason)
		}
	}
	content, kept.Kernels, kept.Choices = built.Content, built.Kernels, built.Choices
	if content == nil {
		kept.Kernels = append([]cache.Kernel(nil), std.Kernels...)
		for i, k := range kept.Kernels {
			if reason, ok := built.Refused[k.Name]; ok {
				kept.Kernels[i].Unapplied = compile.Unapplied(recipes[k.Name], reason)
			}
		}
	}
	lasting := true
	for _, reason := range built.Refused {
		lasting = lasting && compile.Lasting(reason)
	}
	if lasting {
		s.keepBuild(key, content, kept)
	}
	return content, kept, nil
}

// put writes a build where nvcc looks for it: the cubin, and the stub that chooses its second
// entries.
func (s *stage) put(j *job.Job, content []byte, kept keptBuild,
	host func() (*compile.HostStub, error), group string) error {
	s.env.Keep(group, "final.cubin", content)
	if err := install(j.Call.Output(), content); err != nil {
		return err
	}
	if len(kept.Choices) > 0 {
		// Without a change to the stub the second entries would lie there unused: no harm, no gain.
		h, err := host()
		if err == nil {
			text, _ := h.Patch(kept.Choices)
			s.env.Keep(group, "stub.c", text)
			err = replace(h.Path, text)
		}
		if err != nil {
			return fmt.Errorf("change the host stub: %w", err)
		}
	}
	return nil
}

// loadBuild finds what was built before from the same things. A stub that would not take the
// choices any more makes it void.
func (s *stage) loadBuild(key string, j *job.Job, host func() (*compile.HostStub, error)) (
	[]byte, keptBuild, bool) {
	kept, ok := memoBuild.Get(s.store, key)
	if ok && kept.Cubin == "" {
		return nil, kept, true
	}
	if !ok || j.Call.Lineinfo {
		return nil, keptBuild{}, false
	}
	if len(kept.Choices) > 0 {
		h, err := host()
		if err != nil {
			return nil, keptBuild{}, false
		}
		if _, refused := h.Patch(kept.Choices); len(refused) > 0 {
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
func (s *stage) compile(j *job.Job, t *cache.Translation, recipes map[string]recipe.Recipe,
	std []cache.Kernel, host func() (*compile.HostStub, error), group string) (*compile.Result,
	error) {
	b, err := s.bench(group)
	if err != nil {
		return nil, err
	}
	b.Stub, b.Normals, b.AllResident = host, s.normals, s.allResident
	ctx, cancel := context.WithTimeout(context.Background(), compile.Limit)
	defer cancel()
	return b.Build(ctx, j, t, recipes, std)
}

// bench is a workbench for what this stage compiles; group: where it keeps what it makes.
func (s *stage) bench(group string) (*compile.Workbench, error) {
	folder, err := s.watch.Folder()
	if err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	return &compile.Workbench{
		Env: s.env, Store: s.store, Log: s.log, Folder: folder,
		Start: func(cmd *exec.Cmd) (child.Ending, error) { return s.watch.Run(cmd, true) },
		Kept:  func(name string, content []byte) { s.env.Keep(group, name, content) },
	}, nil
}

// install writes a cubin where ptxas would have written it, the way ptxas does: into the file that
// is there (which may be a link, or have its own mode), else into a new one. The only reader, nvcc,
// waits for us to end.
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

// maxPTX is the largest PTX that is looked into, bytes. The largest that we have seen is 60 MB (a
// TU of CUTLASS kernels); a stage that eats all memory would be worse than one that steps aside.
const maxPTX = 512 << 20
