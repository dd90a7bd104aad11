package main

import (
	"context"
	"math/rand"
	"os"
	"testing"

	"gnvcc/install/kits"
)

// TestMain makes the test binary gnvcc, as main does.
func TestMain(m *testing.M) {
	become()
	os.Exit(m.Run())
}

// TestEdits: some edits of one kernel, each with the verdict that it is to have.
func TestEdits(t *testing.T) {
	b := &benchmark{nvcc: kits.Any(t).Nvcc(), work: t.TempDir(), examples: "../../examples",
		only: "swing", wrong: 4, harmless: 2, random: rand.New(rand.NewSource(3)),
		judged: map[bool]int{}, say: func(r result) { t.Logf("%+v", r) }}
	if err := b.all(context.Background()); err != nil {
		t.Fatal(err)
	}
	if b.bad > 0 || b.judged[false] != 4 || b.judged[true] != 2 {
		t.Errorf("%d verdicts are wrong; %v judged", b.bad, b.judged)
	}
}
