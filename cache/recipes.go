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
// caches in front of gnvcc (gnvcc doctor --key has its hash) and for build systems that hash it: a
// note of a build, a measurement that changed no recipe, or a new publication of the same leaves it
// as it is, byte for byte.

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
	text   string
}

// evidenceText is what a build looks at in a decision's evidence.
func evidenceText(e *Evidence) json.RawMessage {
	text, _ := json.Marshal([]any{e.Device, len(e.Launches) > 0, e.Normals})
	return text
}

// add looks at a record. Who it is for, when and by which measurements it was made do not count.
// All other fields do, unknown ones too.
func (l *recipeList) add(bucket, key string, raw []byte) {
	if slices.Contains(notes, bucket) {
		return
	}
	var fields map[string]json.RawMessage
	read, err := Brief(raw)
	if json.Unmarshal(raw, &fields) != nil || err != nil {
		l.line(bucket, key, raw)
		return
	}
	if _, ok := fields["Evidence"]; ok {
		fields["Evidence"] = evidenceText(&read.Evidence)
	}
	delete(fields, "Time")
	delete(fields, "Kernel")
	text, _ := json.Marshal(fields)
	if bucket != Decisions {
		l.line(bucket, key, text)
		return
	}
	l.decided(decided{key, read.Time, read.Recipe != "", string(text)})
}

// decision is add for one that was read already.
func (l *recipeList) decision(key string, d *Decision) {
	short := *d
	short.Time, short.Kernel, short.Evidence = time.Time{}, "", Evidence{}
	text, _ := json.Marshal([]any{short, evidenceText(&d.Evidence)})
	l.decided(decided{key, d.Time, d.Recipe != "", string(text)})
}

func (l *recipeList) decided(d decided) {
	if l.decisions == nil {
		l.decisions = map[string][]decided{}
	}
	identity, _, _ := strings.Cut(d.key, ".")
	l.decisions[identity] = append(l.decisions[identity], d)
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
			l.line(Decisions, d.key, fmt.Appendf(nil, "%d %s", i, d.text))
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
