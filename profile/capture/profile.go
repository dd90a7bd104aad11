package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// A Profile is what runs of a program did on the GPU, summed over all runs that were observed.
type Profile struct {
	Version int       `json:"version"`
	Program string    `json:"program"` // path of the executable
	Runs    int       `json:"runs"`
	Last    time.Time `json:"last"`
	Device  string    `json:"device"`
	Seconds float64   `json:"seconds"` // on the device, estimated from samples
	Shapes  []Line    `json:"shapes"`  // the heaviest first
}

// A Line is a configuration of a kernel.
type Line struct {
	Kernel  string  `json:"kernel"` // mangled
	Cubin   string  `json:"cubin"`
	Grid    [3]int  `json:"grid"`
	Block   [3]int  `json:"block"`
	Dynamic int     `json:"dynamic"`
	Count   int     `json:"count"`
	Varied  int     `json:"varied"` // launches with other arguments than the first
	Sampled int     `json:"sampled"`
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why,omitempty"` // it was not captured, because
}

func (l Line) key() string { return fmt.Sprint(l.Cubin, l.Kernel, l.Grid, l.Block, l.Dynamic) }

func (s *Store) profilePath(program string) string {
	sum := sha256.Sum256([]byte(program))
	return filepath.Join(s.dir, "profiles", hex.EncodeToString(sum[:8])+".json")
}

// Profile reads what is known of a program; ErrNotExist where it is nothing.
func (s *Store) Profile(program string) (*Profile, error) {
	text, err := os.ReadFile(s.profilePath(program))
	if err != nil {
		return nil, fmt.Errorf("reading the profile of %s: %w", program, err)
	}
	var p Profile
	if err := json.Unmarshal(text, &p); err != nil || p.Version != version {
		return nil, fmt.Errorf("reading the profile of %s: it is of another version, or damaged", program)
	}
	return &p, nil
}

// Observed adds a run to a program's profile, and gives the whole.
func (s *Store) Observed(program string, seen []Seen) (*Profile, error) {
	p, err := s.Profile(program)
	if err != nil { // none yet, or one that can't be read: begin anew
		p = &Profile{Version: version, Program: program}
	}
	p.Runs++
	p.Last = time.Now()
	at := map[string]int{}
	for i, l := range p.Shapes {
		at[l.key()] = i
	}
	for _, x := range seen {
		l := x.Launch
		n := Line{Kernel: l.Kernel, Cubin: l.Cubin, Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic,
			Count: x.Use.Count, Varied: x.Use.Varied, Sampled: x.Use.Sampled, Seconds: x.Use.Seconds, Why: x.Why}
		if l.Device != nil {
			p.Device = l.Device.Name
		}
		p.Seconds += n.Seconds
		if i, ok := at[n.key()]; ok {
			old := &p.Shapes[i]
			old.Count, old.Varied, old.Sampled, old.Seconds, old.Why = old.Count+n.Count, old.Varied+n.Varied, old.Sampled+n.Sampled, old.Seconds+n.Seconds, n.Why
			continue
		}
		at[n.key()] = len(p.Shapes)
		p.Shapes = append(p.Shapes, n)
	}
	sort.SliceStable(p.Shapes, func(i, j int) bool { return p.Shapes[i].Seconds > p.Shapes[j].Seconds })
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("keeping the profile of %s: %w", program, err)
	}
	return p, writeAside(s.profilePath(program), text)
}

// Profiles gives the programs that have a profile, those observed last first.
func (s *Store) Profiles() []*Profile {
	files, err := filepath.Glob(filepath.Join(s.dir, "profiles", "*.json"))
	if errors.Is(err, filepath.ErrBadPattern) {
		return nil
	}
	var out []*Profile
	for _, f := range files {
		var p Profile
		if text, err := os.ReadFile(f); err == nil && json.Unmarshal(text, &p) == nil && p.Version == version {
			out = append(out, &p)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Last.After(out[j].Last) })
	return out
}
