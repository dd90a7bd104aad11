package nsight

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Profile is what a file says.
type Profile struct {
	Path    string
	Kind    string   // "ncu", "nsys", "gnvcc"
	Device  string   // name of the GPU, "" where the file does not say it
	Kernels []Kernel // the heaviest first
	Left    int      // rows that make no sense
}

// A Kernel is one of the names in it.
type Kernel struct {
	Name     string  // as it stands in the file
	Seconds  float64 // on the GPU, all launches
	Launches int
	Shapes   []Shape // those that the file has, sorted; nil where it has none

	spent []float64 // seconds in each of these

	names names
}

// A Shape is how a kernel was launched. Files do not tell dynamic shared memory alike; it is no
// part.
type Shape struct{ Grid, Block [3]int }

// Smallest is the share of the time below which a kernel is left out.
const Smallest = 0.01

// maxFile is the largest file that is read, bytes. A trace has about 150 a launch.
const maxFile = 512 << 20

// Read reads a file of any of the kinds. A report of Nsight Systems is read by nsys, which has to
// be there.
func Read(ctx context.Context, path string) (*Profile, error) {
	p, err := read(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read the profile %s: %w", path, err)
	}
	return p, nil
}

func read(ctx context.Context, path string) (*Profile, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".nsys-rep", ".qdrep":
		return readReport(ctx, path)
	case ".ncu-rep", ".nsight-cuprof-report":
		return nil,
			fmt.Errorf(
				"a report of Nsight Compute: ncu --import %s --csv --page raw >FILE.csv writes it as text",
				filepath.Base(path))
	case ".sqlite":
		return readReport(ctx, path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, bare(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > maxFile:
		return nil,
			fmt.Errorf(
				"%d bytes: at most %d are read; nsys stats --report cuda_gpu_kern_sum sums a trace up",
				info.Size(), maxFile)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, bare(err)
	}
	p, err := parse(text)
	if err != nil {
		return nil, err
	}
	p.Path = path
	return p, nil
}

func bare(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// parse reads a file's text.
func parse(text []byte) (*Profile, error) {
	text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
	var p *Profile
	var err error
	if trimmed := strings.TrimSpace(string(text[:min(len(text), 4096)])); strings.HasPrefix(trimmed,
		"{") {
		p, err = parseOwn(text)
	} else {
		p, err = parseCSV(text)
	}
	if err != nil {
		return nil, err
	}
	if p.total() <= 0 {
		return nil, errors.New("no kernel in it has taken any time")
	}
	slices.SortStableFunc(p.Kernels, func(a, b Kernel) int {
		return cmp.Or(-cmp.Compare(a.Seconds, b.Seconds), strings.Compare(a.Name, b.Name))
	})
	for i := range p.Kernels {
		p.Kernels[i].names = namesOf(p.Kernels[i].Name)
	}
	return p, nil
}

// parseOwn reads what gnvcc profile --json printed.
func parseOwn(text []byte) (*Profile, error) {
	var own struct {
		Device string `json:"device"`
		Shapes []struct {
			Kernel  string  `json:"kernel"`
			Grid    [3]int  `json:"grid"`
			Block   [3]int  `json:"block"`
			Count   int     `json:"count"`
			Seconds float64 `json:"seconds"`
		} `json:"shapes"`
	}
	if err := json.Unmarshal(text, &own); err != nil {
		return nil, fmt.Errorf("it begins like gnvcc profile --json, and is none: %w", err)
	}
	b := builder{Profile: Profile{Kind: "gnvcc", Device: own.Device}}
	for _, l := range own.Shapes {
		s := Shape{l.Grid, l.Block}
		b.add(l.Kernel, l.Seconds, l.Count, &s)
	}
	if len(b.Kernels) == 0 {
		return nil, errors.New("there are no launches in it (gnvcc profile --json prints some)")
	}
	return &b.Profile, nil
}

// A builder gathers rows.
type builder struct {
	Profile
	at map[string]int
}

// add takes a row. Times that are none are counted, and left out.
func (b *builder) add(name string, seconds float64, launches int, s *Shape) {
	if name = strings.TrimSpace(name); name == "" || !(seconds >= 0 && seconds < 1e9) ||
		launches < 0 || launches > 1<<40 {
		b.Left++
		return
	}
	i, ok := b.at[name]
	if !ok {
		if b.at == nil {
			b.at = map[string]int{}
		}
		i = len(b.Kernels)
		b.at[name] = i
		b.Kernels = append(b.Kernels, Kernel{Name: name})
	}
	k := &b.Kernels[i]
	k.Seconds += seconds
	k.Launches += launches
	if s != nil && s.plausible() {
		n, found := slices.BinarySearchFunc(k.Shapes, *s, Shape.compare)
		if !found && len(k.Shapes) < 4096 {
			k.Shapes, k.spent = slices.Insert(k.Shapes, n, *s), slices.Insert(k.spent, n, 0)
			found = true
		}
		if found {
			k.spent[n] += seconds
		}
	}
}

func (s Shape) compare(other Shape) int {
	return cmp.Or(slices.Compare(s.Grid[:], other.Grid[:]), slices.Compare(s.Block[:], other.Block[:]))
}

func (s Shape) plausible() bool {
	for _, n := range append(s.Grid[:], s.Block[:]...) {
		if n < 1 || n > 1<<31 {
			return false
		}
	}
	return true
}

func (p *Profile) total() float64 {
	sum := 0.0
	for _, k := range p.Kernels {
		sum += k.Seconds
	}
	return sum
}

// limitNsys bounds one run of nsys: a report of 1 GB takes it some minutes.
const limitNsys = 10 * time.Minute

// readReport has nsys sum a report up.
func readReport(ctx context.Context, path string) (*Profile, error) {
	nsys, err := exec.LookPath("nsys")
	if err != nil {
		return nil,
			errors.New(
				"a report of Nsight Systems is read by nsys, which is not in PATH: where it is, nsys stats --report cuda_gpu_trace --format csv --output . FILE writes it as text")
	}
	if _, err := os.Stat(path); err != nil {
		return nil, bare(err)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// nsys leaves a database beside the report: beside a link in a folder of ours, and not among the
	// user's files.
	dir, err := os.MkdirTemp("", "gnvcc-nsys-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	link := filepath.Join(dir, "report"+filepath.Ext(path))
	if err := os.Symlink(full, link); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limitNsys)
	defer cancel()
	var said strings.Builder
	cmd := exec.CommandContext(ctx, nsys, "stats", "--report", "cuda_gpu_trace", "--format", "csv",
		"--output", "-", link)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, &limited{b: &said}, time.Second
	out := &limited{b: new(strings.Builder), limit: maxFile}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("nsys stats: %w: %s", cmp.Or(ctx.Err(), err), line)
	}
	p, err := parse([]byte(out.b.String()))
	if err != nil {
		return nil, fmt.Errorf("what nsys stats gave: %w", err)
	}
	p.Path = path
	return p, nil
}

// limited keeps the first bytes of what is written to it: 64 KiB, or limit.
type limited struct {
	b     *strings.Builder
	limit int
}

func (l *limited) Write(b []byte) (int, error) {
	if room := cmp.Or(l.limit, 64<<10) - l.b.Len(); room > 0 {
		l.b.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
