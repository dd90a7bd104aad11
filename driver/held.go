package driver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/recipe"
)

// Building beside: a recorded command runs again with its outputs in a folder of apply's. The
// stages of such a run have that folder in GNVCC_APPLY. They take the recipes from it in place of
// the store, so that a run can be made as the build was, whatever has been decided since; and they
// leave their notes in it in place of the spool, so that the store says what is in the user's file
// and not what somebody began to make.

const (
	frozenName = "frozen.json"
	notePrefix = "note-"
	inputMark  = "input-"  // an empty file for each input that was seen; its hash follows
	ptxMark    = "ptx-"    // likewise for PTX
	dependsOn  = "depends" // begins names of files that list the files which an input came from
)

// frozen is what a run is to be made with.
type frozen struct {
	Recipes map[string]string // by identity; a kernel that is not here has none
	Modules map[string]string // module ids by source file, for those that a compile would not make again
}

// A heldNote is the note that the ptxas stage would have made, for when the output is in its place.
type heldNote struct {
	Key      string // of the assembly's record
	Assembly cache.Assembly
	MemoKey  string // of memoNoted
	MemoText string
}

// frozenHere is what this stage's run is to be made with, nil in an ordinary build.
var frozenHere = sync.OnceValue(func() *frozen {
	dir := os.Getenv(varApply)
	if dir == "" {
		return nil
	}
	f := new(frozen)
	text, err := os.ReadFile(filepath.Join(dir, frozenName))
	if err == nil {
		err = json.Unmarshal(text, f)
	}
	if err != nil { // then nothing is applied, and what comes out is not what was asked for
		log := logger()
		log.Warn().Err(err).Msg("what apply wants can't be read")
		return new(frozen)
	}
	return f
})

// of gives the recipes of kernels.
func (f *frozen) of(kernels []cache.Kernel) (map[string]recipe.Recipe, map[string]error) {
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

// hold leaves a note with apply, in place of an earlier one of the same assembly.
func hold(dir string, n heldNote) error {
	text, err := json.Marshal(n)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, notePrefix+n.MemoKey+".json"), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("leave a note for apply: %w", err)
	}
	return nil
}

// saw tells apply what this stage works on. Text that is not PTX is preprocessed code: the files
// that it came from are told, too.
func saw(mark string, text []byte) {
	dir := os.Getenv(varApply)
	if dir == "" {
		return
	}
	name := mark + cache.Hash(toolcmd.EvenTemporary(text))
	err := os.WriteFile(filepath.Join(dir, name), nil, 0o600)
	if err == nil && mark == inputMark {
		files := strings.Join(sourcesOf(string(text)), "\x00")
		err = os.WriteFile(filepath.Join(dir, dependsOn+name), []byte(files), 0o600)
	}
	if err != nil {
		log := logger()
		log.Warn().Err(err).Msg("apply is not told of an input, and will leave the file alone")
	}
}

// sourcesOf lists the files that preprocessed code names in its line markers (# 12 "file" 1).
func sourcesOf(text string) []string {
	seen := map[string]bool{}
	var out []string
	for {
		at := strings.Index(text, "\n# ")
		if at < 0 {
			return out
		}
		text = text[at+3:]
		line, _, _ := strings.Cut(text, "\n")
		_, rest, ok := strings.Cut(line, `"`)
		end := strings.LastIndexByte(rest, '"')
		if !ok || end < 0 {
			continue
		}
		name := rest[:end]
		if strings.Contains(name, `\`) {
			name = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(name)
		}
		if !seen[name] && !strings.HasPrefix(name, "<") && !strings.Contains(name, toolcmd.Temporary) {
			seen[name] = true
			out = append(out, name)
		}
	}
}
