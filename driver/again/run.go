package again

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/recipe"
)

// A Run is a command that apply runs again, as its stages see it. They take the recipes from it in
// place of the store, so that a run can be made as the build was, whatever has been decided since;
// and they leave their notes in it in place of the spool, so that the store says what is in the
// user's file and not what somebody began to make. The nil Run is an ordinary build.
type Run struct {
	dir    string
	wanted Wanted
	log    zerolog.Logger
}

// Here is the run that this stage is part of, nil in an ordinary build.
func Here(env *environment.Environment) *Run {
	if env.Apply == "" {
		return nil
	}
	r := &Run{dir: env.Apply, log: env.Log()}
	text, err := os.ReadFile(filepath.Join(r.dir, wantedName))
	if err == nil {
		err = json.Unmarshal(text, &r.wanted)
	}
	if err != nil { // then nothing is applied, and what comes out is not what was asked for
		r.log.Warn().Err(err).Msg("what apply wants can't be read")
		r.wanted = Wanted{}
	}
	return r
}

// Recipes gives those of kernels, and why one can't be read.
func (r *Run) Recipes(kernels []cache.Kernel) (map[string]recipe.Recipe, map[string]error) {
	recipes, refused := map[string]recipe.Recipe{}, map[string]error{}
	for _, k := range kernels {
		text := r.wanted.Recipes[k.Identity]
		if k.Identity == "" || text == "" {
			continue
		}
		read, err := recipe.Parse(text)
		if err != nil {
			refused[k.Name] = fmt.Errorf("%s: %w", text, err)
		} else if !read.IsDefault() {
			recipes[k.Name] = read
		}
	}
	return recipes, refused
}

// Hold leaves a note, in place of an earlier one of the same assembly.
func (r *Run) Hold(n record.Note) error {
	text, err := json.Marshal(n)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, notePrefix+n.Unit+".json"), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("leave a note for apply: %w", err)
	}
	return nil
}

// PTX notes a PTX text that this stage works on.
func (r *Run) PTX(text []byte) { r.saw(ptxMark, text, nil) }

// Input notes preprocessed code that this stage works on, and of the files that it came from.
func (r *Run) Input(text []byte) {
	r.saw(inputMark, text, func() []string { return toolcmd.SourcesOf(string(text)) })
}

func (r *Run) saw(mark string, text []byte, sources func() []string) {
	if r == nil {
		return
	}
	name := mark + cache.Hash(toolcmd.EvenTemporary(text))
	err := os.WriteFile(filepath.Join(r.dir, name), nil, 0o600)
	if err == nil && sources != nil {
		files := strings.Join(sources(), "\x00")
		err = os.WriteFile(filepath.Join(r.dir, dependsOn+name), []byte(files), 0o600)
	}
	if err != nil {
		r.log.Warn().Err(err).Msg("an input could not be noted for apply, which will leave the file alone")
	}
}

// Halt says that this stage ended the command.
func (r *Run) Halt() {
	if r == nil {
		return
	}
	if err := os.WriteFile(filepath.Join(r.dir, stopMark), nil, 0o600); err != nil {
		r.log.Warn().Err(err).Msg("where this command stopped could not be noted")
	}
}
