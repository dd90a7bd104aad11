package cache

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// The file recipes: what builds with this store depend on, and nothing else. It is for compiler caches in front of gnvcc
// (CCACHE_EXTRAFILES) and for build systems that hash it: a note of a build, a measurement that changed no recipe, or a
// new publication of the same leaves it as it is, byte for byte. Nobody reads it here.

// notes are the buckets that no build reads a recipe from: what was built, and how.
var notes = []string{Assemblies, Translations, Links}

const recipesHead = "# What builds with this store depend on, for compiler caches: bucket, key, content or its hash.\n"

// recipeLine is the record's line in the file, "" for one that changes no build.
func recipeLine(bucket, key string, raw []byte) string {
	if slices.Contains(notes, bucket) {
		return ""
	}
	what := raw
	if bucket == Decisions {
		// Of a decision all counts but who it is for, when and by which measurements it was made. Unknown fields count.
		var fields map[string]json.RawMessage
		var evidence struct{ Normals json.RawMessage }
		if json.Unmarshal(raw, &fields) == nil {
			if recipe := string(fields["Recipe"]); recipe == `""` || recipe == "" {
				return ""
			}
			json.Unmarshal(fields["Evidence"], &evidence)
			for _, name := range []string{"Evidence", "Time", "Kernel"} {
				delete(fields, name)
			}
			if evidence.Normals != nil {
				fields["Normals"] = evidence.Normals
			}
			what, _ = json.Marshal(fields)
		}
	}
	text := string(what)
	if len(text) > 256 || strings.ContainsAny(text, "\n\r") {
		text = Hash(what)
	}
	return fmt.Sprintf("%s %q %s\n", bucket, key, text)
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

// RecipesPath is the file that changes when, and only when, the next build may give other machine code.
func (s *Store) RecipesPath() string { return filepath.Join(s.dir, recipesName) }
