package again

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/recipe"
)

// Building beside: a recorded command runs again with its outputs in a folder of apply's. The
// stages of such a run have that folder in GNVCC_APPLY. They take the recipes from it in place of
// the store, so that a run can be made as the build was, whatever has been decided since; and they
// leave their notes in it in place of the spool, so that the store says what is in the user's file
// and not what somebody began to make.

const (
	FrozenName = "frozen.json"
	NotePrefix = "note-"
	Input      = "input-"  // an empty file for each input that was seen; its hash follows
	PTX        = "ptx-"    // likewise for PTX
	DependsOn  = "depends" // begins names of files that list the files which an input came from
)

// Frozen is what a run is to be made with.
type Frozen struct {
	Recipes map[string]string // by identity; a kernel that is not here has none
	Modules map[string]string // module ids by source file, for those that a compile would not make again
}

// A Note is the note that the ptxas stage would have made, for when the output is in its place.
type Note struct {
	Key      string // of the assembly's record
	Assembly cache.Assembly
	MemoKey  string // of memoNoted
	MemoText string
}

// Here is what this stage's run is to be made with, nil in an ordinary build.
var Here = sync.OnceValue(func() *Frozen {
	dir := os.Getenv(environment.Apply)
	if dir == "" {
		return nil
	}
	f := new(Frozen)
	text, err := os.ReadFile(filepath.Join(dir, FrozenName))
	if err == nil {
		err = json.Unmarshal(text, f)
	}
	if err != nil { // then nothing is applied, and what comes out is not what was asked for
		log := environment.Log()
		log.Warn().Err(err).Msg("what apply wants can't be read")
		return new(Frozen)
	}
	return f
})

// Of gives the recipes of kernels.
func (f *Frozen) Of(kernels []cache.Kernel) (map[string]recipe.Recipe, map[string]error) {
	recipes, refused := map[string]recipe.Recipe{}, map[string]error{}
	for _, k := range kernels {
		text := f.Recipes[k.Identity]
		if k.Identity == "" || text == "" {
			continue
		}
		r, err := recipe.Parse(text)
		if err != nil {
			refused[k.Name] = fmt.Errorf("%s: %w", text, err)
		} else if !r.IsDefault() {
			recipes[k.Name] = r
		}
	}
	return recipes, refused
}

// Hold leaves a note with apply, in place of an earlier one of the same assembly.
func Hold(dir string, n Note) error {
	text, err := json.Marshal(n)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, NotePrefix+n.MemoKey+".json"), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("leave a note for apply: %w", err)
	}
	return nil
}

// Saw tells apply what this stage works on. Text that is not PTX is preprocessed code: the files
// that it came from are told, too.
func Saw(mark string, text []byte) {
	dir := os.Getenv(environment.Apply)
	if dir == "" {
		return
	}
	name := mark + cache.Hash(toolcmd.EvenTemporary(text))
	err := os.WriteFile(filepath.Join(dir, name), nil, 0o600)
	if err == nil && mark == Input {
		files := strings.Join(toolcmd.SourcesOf(string(text)), "\x00")
		err = os.WriteFile(filepath.Join(dir, DependsOn+name), []byte(files), 0o600)
	}
	if err != nil {
		log := environment.Log()
		log.Warn().Err(err).Msg("apply is not told of an input, and will leave the file alone")
	}
}

// Stopped is the file by which a stage says that it ended the command.
const Stopped = "stopped"
