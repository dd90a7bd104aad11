package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// What docs/papers.md says of the X-model is what the recorded launches give.
func TestXModel(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), []string{"-xmodel", "../results/2026-11-22-xmodel-2/rows.jsonl"}, &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "89.9 %    85.9 %  of 33, 33, 0 launches") {
		t.Error(text)
	}
}
