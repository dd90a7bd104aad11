// Package standing says which recipe a build takes for a kernel: which of the decisions in the
// store stands, whether the user has banned a lever of it, and whether the code that was measured
// is on record. It looks in the user's own store, then in shared stores, or in a lock file alone.
//
// Callers: driver/stage and driver/apply (Known.Want, Recipes); policy/tuner, for what a search begins
// with (Of); cmd/gnvcc for bans, lock files, and for why a recipe is not taken (Known.Untaken).
//
// Reading the source: standing.go (Of: which of several decisions stands), wanted.go (what stands in a
// store, as a recipe), banned.go; known.go (where recipes are looked up), lockfile.go.
package standing
