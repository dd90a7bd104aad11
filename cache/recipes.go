package cache

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The file recipes: what builds with this store depend on, and nothing else. It is for compiler
// caches in front of gnvcc (CCACHE_EXTRAFILES) and for build systems that hash it: a note of a
// build, a measurement that changed no recipe, or a new publication of the same leaves it as it is,
// byte for byte. Nobody reads it here.

// notes are the buckets that no build reads a recipe from: what was built, and how.
var notes = []string{Assemblies, Translations, Links}

const recipesHead = "# What builds with this store depend on, for compiler caches: bucket, key, content or its hash.\n"

// A recipeList collects what the file says.
type recipeList struct {
	lines []string
	// by the kernel's identity: a build takes one of those on one kernel
	decisions map[string][]decided
}

type decided struct {
	key    string
	time   time.Time
	recipe bool
	fields map[string]any
}

// add looks at a record.
func (l *recipeList) add(bucket, key string, raw []byte) {
	if slices.Contains(notes, bucket) {
		return
	}
	// Who it is for, when and by which measurements it was made do not count. All other fields do,
	// unknown ones too.
	var fields map[string]any
	var read struct {
		Recipe   string
		Time     time.Time
		Evidence struct {
			Device   string
			Launches []struct{}
			Normals  map[string]string
		}
	}
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(raw, &read) != nil {
		l.line(bucket, key, raw)
		return
	}
	if _, ok := fields["Evidence"]; ok {
		fields["Evidence"] = []any{read.Evidence.Device, len(read.Evidence.Launches) > 0, read.Evidence.Normals}
	}
	delete(fields, "Time")
	delete(fields, "Kernel")
	if bucket != Decisions {
		text, _ := json.Marshal(fields)
		l.line(bucket, key, text)
		return
	}
	if l.decisions == nil {
		l.decisions = map[string][]decided{}
	}
	identity, _, _ := strings.Cut(key, ".")
	l.decisions[identity] = append(l.decisions[identity], decided{key, read.Time, read.Recipe != "", fields})
}

func (l *recipeList) line(bucket, key string, what []byte) {
	text := string(what)
	if len(text) > 512 || strings.ContainsAny(text, "\n\r") {
		text = Hash(what)
	}
	l.lines = append(l.lines, fmt.Sprintf("%s %q %s\n", bucket, key, text))
}

// text is the file's content.
func (l *recipeList) text() string {
	for _, all := range l.decisions {
		if !slices.ContainsFunc(all, func(d decided) bool { return d.recipe }) {
			continue // no build takes a recipe from these
		}
		// Which of several a build takes depends on which is newer, not on how much.
		slices.SortStableFunc(all, func(a, b decided) int { return a.time.Compare(b.time) })
		for i, d := range all {
			d.fields["Turn"] = i
			text, _ := json.Marshal(d.fields)
			l.line(Decisions, d.key, text)
		}
	}
	l.decisions = nil
	slices.Sort(l.lines)
	return recipesHead + strings.Join(l.lines, "")
}

// putRecipes writes the file where its content has changed.
func (s *Store) putRecipes(text string) error {
	path := filepath.Join(s.dir, recipesName)
	if old, err := readLimited(path, int64(len(text))); err == nil && string(old) == text {
		return nil
	}
	return failed("write the recipes for compiler caches", path, writeFile(s.dir, recipesName, []byte(text), true))
}

// recipesAre says whether the file has that hash.
func (s *Store) recipesAre(hash string) bool {
	b, err := readLimited(filepath.Join(s.dir, recipesName), maxObject)
	return err == nil && Hash(b) == hash
}

// RecipesPath is the file that changes when, and only when, the next build may give other machine
// code.
func (s *Store) RecipesPath() string { return RecipesIn(s.dir) }

// RecipesIn is that file of a store of somebody else's.
func RecipesIn(dir string) string { return filepath.Join(dir, recipesName) }
