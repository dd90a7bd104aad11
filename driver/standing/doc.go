// Package standing says which recipe a build takes for a kernel: which of the decisions in the store
// stands, whether the user has banned a lever of it, and whether the code that was measured is on
// record.
//
// Callers: driver/stage and driver/apply (Recipes); cmd/gnvcc for bans, and for why a recipe is not
// taken (Untaken).
//
// Reading the source: wanted.go, standing.go, asker.go, banned.go.
package standing
