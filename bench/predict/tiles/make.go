package tiles

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	_ "embed"

	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/tile"
	"gnvcc/sim/cubin"
)

//go:embed device/run.c
var runner string

// What kernels are launched with.
var (
	blocks = [][3]int{{32, 8, 1}, {16, 16, 1}, {128, 1, 1}, {64, 2, 1}}
	turns  = []int{8, 32}
	loops  = [][2]int{{2, 64}, {1, 256}, {4, 32}} // turns of the outer and the inner loop
	sizes  = [][2]int{{512, 128}, {1024, 256}}    // threads in x and y
)

// A Launch is one line of launches.jsonl: a kernel, tiled, and how it is launched.
type Launch struct {
	ID       int
	Kernel   string
	Pattern  string
	Cubin    string
	Recipe   string
	Block    [3]int
	Grid     [3]int
	Loops    [2]int
	Features []float64
}

// Make makes the kernels, with and without tiles, and the list of launches.
func Make(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("tile-kernels", flag.ContinueOnError)
	count := set.Int("kernels", 210, "how many kernels")
	seed := set.Int64("seed", 1, "of what is drawn")
	nvcc := set.String("nvcc", "nvcc", "the real nvcc")
	arch := set.String("arch", "sm_90", "for which GPU")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() != 1 {
		return fmt.Errorf("tile-kernels: one folder for the files")
	}
	m := maker{dir: set.Arg(0), nvcc: *nvcc, arch: *arch, rng: rand.New(rand.NewSource(*seed))}
	for n := range *count {
		k := draw(m.rng, n)
		m.subjects = append(m.subjects, k.subject())
	}
	if err := m.compile(ctx); err != nil {
		return err
	}
	for _, b := range blocks {
		for _, n := range turns {
			if err := m.tile(ctx, b, n); err != nil {
				return err
			}
		}
	}
	return m.write()
}

// A subject is a kernel whose first array is to be tiled.
type subject struct {
	name, pattern, source string
	loads                 int // from that array, in one turn
	margin                int // rows and columns around what is read
	// rows and columns that launches read with such loops, by w x h threads
	extent func(n, m, w, h int) (rows, columns int)
}

// A maker makes the files.
type maker struct {
	dir, nvcc, arch string
	rng             *rand.Rand
	subjects        []subject
	module          *ptx.Module
	registers       map[string]int
	launches        []Launch
	lines           []string
}

// compile makes PTX and the default's cubin.
func (m *maker) compile(ctx context.Context) error {
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	for _, s := range m.subjects {
		b.WriteString(s.source)
	}
	text, err := compiled(ctx, m.nvcc, m.arch, m.dir, b.String())
	if err != nil {
		return err
	}
	if m.module, err = ptx.Parse(text); err != nil {
		return err
	}
	made, err := m.assemble(ctx, "default.cubin", text)
	if err != nil {
		return err
	}
	m.registers = map[string]int{}
	for _, k := range made.Kernels {
		m.registers[k.Name] = k.Registers
	}
	return nil
}

// compiled gives a source's PTX.
func compiled(ctx context.Context, nvcc, arch, dir, source string) ([]byte, error) {
	in, out := filepath.Join(dir, "kernels.cu"), filepath.Join(dir, "kernels.ptx")
	if err := os.WriteFile(in, []byte(source), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, nvcc, "-O3", "-arch="+arch, "-ptx", "-o", out, in)
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the kernels: %w: %s", err, said)
	}
	defer os.Remove(in)
	defer os.Remove(out)
	return os.ReadFile(out)
}

func (m *maker) assemble(ctx context.Context, name string, text []byte) (*cubin.File, error) {
	in, out := filepath.Join(m.dir, "tiled.ptx"), filepath.Join(m.dir, name)
	if err := os.WriteFile(in, text, 0o644); err != nil {
		return nil, err
	}
	defer os.Remove(in)
	ptxas := filepath.Join(filepath.Dir(m.nvcc), "ptxas")
	if said, err := exec.CommandContext(ctx, ptxas, "-arch="+m.arch, in, "-o",
		out).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("assemble %s: %w: %s", name, err, said)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return cubin.Read(b)
}

// tile makes the cubin for one block and one number of turns, and lists its launches.
func (m *maker) tile(ctx context.Context, block [3]int, n int) error {
	name := fmt.Sprintf("tile_%dx%d_%d.cubin", block[0], block[1], n)
	recipes := map[string]recipe.Recipe{}
	options := rewrite.Options{Blocks: map[string][3]int{}, Dynamic: map[string]int{}}
	for i := range m.subjects {
		x := &m.subjects[i]
		t, box, ok := target(m.module, x, block, n)
		if !ok {
			continue
		}
		term := recipe.Term{Lever: "tile", Site: fmt.Sprint(t.Loop), Value: fmt.Sprintf("%d:%d", n, box.Index)}
		recipes[x.name] = recipe.Recipe{Terms: []recipe.Term{term}}
		options.Blocks[x.name], options.Dynamic[x.name] = block, 0
		for _, l := range loops {
			for _, s := range sizes {
				if l[1] >= n {
					m.launch(x, name, term.String(), &t, &box, block, l, s)
				}
			}
		}
	}
	out, refused := options.Rewrite(m.module, recipes)
	for kernel, why := range refused {
		return fmt.Errorf("%s: %w", kernel, why)
	}
	_, err := m.assemble(ctx, name, out.Bytes())
	return err
}

// target is the box of the array that a kernel is about.
func target(m *ptx.Module, x *subject, block [3]int, n int) (tile.Tiling, tile.Box,
	bool) {
	for _, t := range tile.Tilings(m, x.name, block, 0, n) {
		for _, box := range t.Boxes {
			if box.Index == 0 && box.Loads == x.loads {
				t.Bytes = box.Bytes
				return t, box, true
			}
		}
	}
	return tile.Tiling{}, tile.Box{}, false
}

// largestArray bounds what a launch reads, elements.
const largestArray = 96 << 20

// launch adds a launch, unless its array is too large.
func (m *maker) launch(x *subject, cubin, term string, t *tile.Tiling, box *tile.Box,
	block [3]int, loop, size [2]int) {
	w, h := size[0], size[1]
	rows, columns := x.extent(loop[0], loop[1], w, h)
	rows, columns = rows+2*x.margin, columns+2*x.margin
	pitch := (columns+31)/32*32 + 32
	if rows*pitch > largestArray {
		return
	}
	grid := [3]int{w / block[0], h / block[1], 1}
	l := Launch{ID: len(m.launches), Kernel: x.name, Pattern: x.pattern, Cubin: cubin,
		Recipe: term, Block: block, Grid: grid, Loops: loop,
		Features: box.Features(t, m.registers[x.name], grid, block,
			loop[0]*(loop[1]/t.Turns))}
	m.launches = append(m.launches, l)
	m.lines = append(m.lines, fmt.Sprintf("%d %s %s %d %d %d %d %d %d %d %d %d %d", l.ID, x.name, cubin,
		block[0], block[1], grid[0], grid[1], loop[0], loop[1], pitch, x.margin*pitch+x.margin, w,
		1)) // an element that each thread writes
}

// write puts the lists down, in an order that makes any beginning of them a sample.
func (m *maker) write() error {
	m.rng.Shuffle(len(m.lines), func(i, j int) { m.lines[i], m.lines[j] = m.lines[j], m.lines[i] })
	if err := os.WriteFile(filepath.Join(m.dir, "launches.txt"), []byte(strings.Join(m.lines,
		"\n")+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.dir, "run.c"), []byte(runner), 0o644); err != nil {
		return err
	}
	var list bytes.Buffer
	lines := json.NewEncoder(&list)
	for _, l := range m.launches {
		if err := lines.Encode(l); err != nil {
			return err
		}
	}
	fmt.Printf("%d kernels, %d launches\n", len(m.subjects), len(m.launches))
	return os.WriteFile(filepath.Join(m.dir, "launches.jsonl"), list.Bytes(), 0o644)
}
