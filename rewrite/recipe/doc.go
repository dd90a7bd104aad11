// Package recipe holds the recipe as a value: the terms that say how one kernel is compiled, and
// the text that users read and the store keeps. It knows no lever: which there are, what they take
// and how exact they are is in the table of package rewrite. It imports nothing of gnvcc, so that
// everybody may import it. Files: recipe.go terms, guard.go the conditions of a second entry, entries.go.
package recipe
