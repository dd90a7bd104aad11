package again

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"gnvcc/driver/record"
)

// Names of files in the folder.
const (
	wantedName = "wanted.json"
	notePrefix = "note-"
	inputMark  = "input-"  // an empty file for each input that was seen; its hash follows
	ptxMark    = "ptx-"    // likewise for PTX
	dependsOn  = "depends" // begins names of files that list the files which an input came from
	stopMark   = "stopped" // a stage has ended the command
)

// Wanted is what a run is to be made with.
type Wanted struct {
	Recipes map[string]string // by identity; a kernel that is not here has none
}

// Begin says what is wanted of the stages of a run, whose folder must exist and be empty.
func Begin(dir string, w Wanted) error {
	text, err := json.Marshal(w)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, wantedName), text, 0o600)
	}
	return err
}

// Stopped reports whether a stage has ended the run.
func Stopped(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, stopMark))
	return err == nil
}

// Left is what the stages of a run left.
type Left struct {
	Notes   []record.Note // sorted by their keys
	Inputs  []string      // marks of what was seen, sorted
	Sources []string      // files that the inputs came from, sorted, each once
}

// Read gathers what was left.
func Read(dir string) (*Left, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the notes of the run: %w", err)
	}
	l := new(Left)
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, notePrefix):
			var n record.Note
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				err = json.Unmarshal(text, &n)
			}
			if err != nil {
				return nil, fmt.Errorf("read a note of the run: %w", err)
			}
			l.Notes = append(l.Notes, n)
		case strings.HasPrefix(name, dependsOn):
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return nil, fmt.Errorf("read a note of the run: %w", err)
			}
			l.Sources = append(l.Sources, strings.Split(string(text), "\x00")...)
		case strings.HasPrefix(name, inputMark), strings.HasPrefix(name, ptxMark):
			l.Inputs = append(l.Inputs, name)
		}
	}
	sort.Strings(l.Sources)
	l.Sources = slices.Compact(l.Sources)
	sort.Slice(l.Notes, func(i, j int) bool { return l.Notes[i].Unit < l.Notes[j].Unit })
	return l, nil
}
