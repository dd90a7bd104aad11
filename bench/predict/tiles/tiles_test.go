package tiles

import (
	"context"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/tile"
)

// wanted is what a kernel's box must look like, from the parameters alone.
func (k *Kernel) wanted(block [3]int, turns int) tile.Box {
	type element struct{ row, column int }
	home := func(x, y, i, j, m int) element {
		return []element{{i, j}, {y, i*m + j}, {i*m + j, y}, {x, i*m + j}, {i*m + j, x},
			{1000*y + x, i*m + j},
			{y + i, x + j}}[k.Pattern]
	}
	const m = 64
	elements, sectors := map[element]int{}, map[element]bool{}
	lanes := 0
	for y := range block[1] {
		for x := range block[0] {
			e := home(x, y, 0, 0, m)
			elements[e]++
			if lanes++; lanes <= 32 {
				sectors[element{e.row, e.column * 4 / 32}] = true
			}
		}
	}
	list := k.neighbours()
	out := tile.Box{Reuse: float64(block[0]*block[1]) / float64(len(elements)),
		Loads:   len(list),
		Sectors: float64(len(sectors))}
	for _, o := range list {
		for d := range o {
			out.Low[d], out.High[d] = min(out.Low[d], o[d]-list[0][d]), max(out.High[d], o[d]-list[0][d])
		}
	}
	for at := range 2 {
		out.Operations[at] = k.Operations[at] + k.Aligned[at] + k.Scattered[at]
		out.Aligned[at], out.Scattered[at] = k.Aligned[at], k.Scattered[at]
	}
	out.Operations[0] += len(list) // each is added
	out.Aligned[1]++               // the store
	return out
}

// TestFeatures: what is read in the PTX is what the kernels were made from.
func TestFeatures(t *testing.T) {
	kit := kits.Need(t, "13.0")
	rng := rand.New(rand.NewSource(3))
	var kernels []Kernel
	var b strings.Builder
	for n := range 35 {
		kernels = append(kernels, draw(rng, n))
		b.WriteString(kernels[n].source())
	}
	text, err := compiled(context.Background(), kit.Nvcc(), "sm_90", t.TempDir(), b.String())
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]int{}
	for i := range kernels {
		k := &kernels[i]
		for _, block := range blocks {
			x := k.subject()
			_, box, ok := target(m, &x, block, 8)
			if !ok {
				continue
			}
			seen[k.Pattern]++
			want := k.wanted(block, 8)
			want.Index, want.Bytes = box.Index, box.Bytes
			if box != want {
				t.Errorf("%+v (%s), block %v:\n%+v, want\n%+v", *k, patterns[k.Pattern].Name, block, box, want)
			}
		}
	}
	for n, p := range patterns {
		if seen[n] == 0 {
			t.Errorf("no kernel of pattern %s can be tiled", p.Name)
		}
	}
	t.Log(seen)
}

// TestFit: results that follow from a feature are predicted; bits that differ are an error.
func TestFit(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	zeros := strings.Repeat(",0", len(tile.FeatureNames)-1)
	write("launches.jsonl", `{"ID":1,"Kernel":"a","Features":[1`+zeros+`]}
{"ID":2,"Kernel":"b","Features":[9`+zeros+`]}
`)
	write("results.jsonl", `{"ID":1,"Default":2,"Tiled":4,"Equal":true}
{"ID":2,"Default":4,"Tiled":2,"Equal":true}
`)
	list, err := readTrials(dir)
	if err != nil || len(list) != 2 || list[0].speed != 0.5 || list[1].speed != 2 {
		t.Fatal(list, err)
	}
	never := judge(list, func(trial) bool { return false })
	best := judge(list, func(x trial) bool { return x.Features[0] > 5 })
	if never != (score{0.5, 0.75}) || best != (score{1, 1}) {
		t.Error(never, best)
	}
	write("results.jsonl", `{"ID":1,"Default":2,"Tiled":4,"Equal":false}
`)
	if _, err := readTrials(dir); err == nil || !strings.Contains(err.Error(), "other results") {
		t.Error(err)
	}
	if !slices.Contains(tile.FeatureNames, "reuse") {
		t.Error("no reuse among the features")
	}
}
