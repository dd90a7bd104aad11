package lab

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Many write to one file at once: each line is whole.
func TestAppendAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	type row struct {
		N    int
		Text string
	}
	var all sync.WaitGroup
	for n := range 40 {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := AppendLine(path, row{n, strings.Repeat("x", 100000)}); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	rows, err := ReadLines(path, func(r row) string { return strconv.Itoa(r.N) })
	if err == nil && len(rows) != 40 {
		t.Errorf("%d rows of 40", len(rows))
	}
	if err != nil {
		t.Error(err)
	}
}
