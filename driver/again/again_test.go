package again

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
)

// TestRun: what apply says reaches the stages, and what they leave reaches apply.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	if r := Here(environment.Of(nil)); r != nil {
		t.Error("an ordinary build is a run of apply's")
	}
	var none *Run
	none.Input([]byte("text"))
	none.PTX([]byte("text"))
	none.Halt() // nothing of these is reported
	if err := Begin(dir, Wanted{Recipes: map[string]string{"1": "maxnreg=40", "2": "= ="}}); err != nil {
		t.Fatal(err)
	}
	r := Here(environment.Of([]string{"GNVCC_APPLY=" + dir}))
	recipes, refused := r.Recipes([]cache.Kernel{{Name: "a", Identity: "1"},
		{Name: "b", Identity: "2"}, {Name: "c", Identity: "3"}})
	if len(recipes) != 1 || recipes["a"].String() != "maxnreg=40" || len(refused) != 1 ||
		refused["b"] == nil {
		t.Errorf("recipes %v, refused %v", recipes, refused)
	}
	r.Input([]byte("# 1 \"k.cu\"\n# 1 \"k.h\" 1\n"))
	r.PTX([]byte(".version 8.0\n"))
	for _, key := range []string{"b", "a", "b"} { // the last note of an assembly counts
		if err := r.Hold(record.Note{Unit: key}); err != nil {
			t.Fatal(err)
		}
	}
	if Stopped(dir) {
		t.Error("stopped, and nobody stopped it")
	}
	r.Halt()
	left, err := Read(dir)
	if err != nil || !Stopped(dir) {
		t.Fatal(err)
	}
	if len(left.Notes) != 2 || left.Notes[0].Unit != "a" || len(left.Inputs) != 2 ||
		!slices.Equal(left.Sources, []string{"k.h"}) {
		t.Errorf("left: %+v", left)
	}
	// What can't be read applies nothing.
	lost := Here(environment.Of([]string{"GNVCC_APPLY=" + filepath.Join(dir, "none")}))
	if recipes, _ := lost.Recipes([]cache.Kernel{{Name: "a", Identity: "1"}}); lost == nil ||
		len(recipes) != 0 {
		t.Errorf("without a folder: %v", recipes)
	}
	if err := lost.Hold(record.Note{Unit: "a"}); err == nil || !strings.Contains(err.Error(),
		"leave a note") {
		t.Errorf("a note that nobody gets: %v", err)
	}
}
