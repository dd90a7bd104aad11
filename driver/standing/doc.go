// Package standing says which recipe a build takes for a kernel: which of the decisions in the
// store stands, whether the user has banned a lever of it, and whether the code that was measured
// is on record. What is looked into is one's own store, those of others behind it, or a lock file.
//
// Callers: driver/stage and driver/apply (Recipes); cmd/gnvcc for bans, lock files, and for why a
// recipe is not taken (Known.Untaken).
//
// Reading the source: wanted.go, standing.go, asker.go, banned.go; known.go (where recipes are
// looked up), lockfile.go.
package standing
