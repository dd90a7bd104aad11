package capture

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gnvcc/profile"
)

// profileVersion is that of profiles; others are begun anew.
const profileVersion = 2

// A Profile is what runs of a program did on the GPU, summed over all runs that were observed.
type Profile struct {
	Version int       `json:"version"`
	Program string    `json:"program"` // path of the executable
	Runs    int       `json:"runs"`
	Last    time.Time `json:"last"`
	Device  string    `json:"device"`  // of the last run
	Peak    int64     `json:"peak"`    // device memory, bytes, the most at a time
	Seconds float64   `json:"seconds"` // on the device, estimated from samples
	Shapes  []Line    `json:"shapes"`  // the heaviest first
	// graphs whose kernels were not launched one by one: their seconds are none of Seconds
	Unseen []profile.Unseen `json:"unseen,omitempty"`
	// what is in no kernel, of all processes of the last run
	Calls   []profile.Call   `json:"calls,omitempty"`
	Follows []profile.Follow `json:"follows,omitempty"`
}

// A Line is a configuration of a kernel.
type Line struct {
	Kernel string `json:"kernel"` // mangled
	Cubin  string `json:"cubin"`
	profile.Shape
	Device  string  `json:"device,omitempty"` // where it ran; "": on the profile's
	Count   int     `json:"count"`
	Varied  int     `json:"varied"` // launches with other arguments than the first
	Sampled int     `json:"sampled"`
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why,omitempty"` // it was not captured, because

	// Of Watched seconds of launches that were timed in a row, another stream's launch ran beside
	// Beside.
	Watched float64      `json:"watched"`
	Beside  float64      `json:"beside"`
	Params  []Span       `json:"params,omitempty"` // where the arguments lie in the sets' values
	Sets    profile.Sets `json:"sets"`             // of argument values

	program string
}

// A Span is an argument's place, bytes.
type Span struct {
	Offset int `json:"offset"`
	Size   int `json:"size"`
}

func (l Line) key() string {
	return fmt.Sprint(l.Cubin, l.Kernel, l.Shape, l.Device)
}

// On is the model of the GPU that a line of the profile is about.
func (p *Profile) On(l Line) string { return cmp.Or(l.Device, p.Device) }

// Devices are the models of GPU that a program ran on.
func (p *Profile) Devices() string {
	names := []string{}
	if p.Device != "" {
		names = append(names, p.Device)
	}
	for _, l := range p.Shapes {
		if on := p.On(l); on != "" && !slices.Contains(names, on) {
			names = append(names, on)
		}
	}
	return strings.Join(names, " and ")
}

// add adds what another run did with the configuration.
func (l *Line) add(n Line) {
	l.Count, l.Varied, l.Sampled, l.Seconds = l.Count+n.Count, l.Varied+n.Varied, l.Sampled+n.Sampled,
		l.Seconds+n.Seconds
	l.Watched, l.Beside, l.Why = l.Watched+n.Watched, l.Beside+n.Beside, n.Why
	l.Sets, l.Params = l.Sets.Join(n.Sets), n.Params
}

func (s *Store) profilePath(program string) string {
	sum := sha256.Sum256([]byte(program))
	return filepath.Join(s.dir, "profiles", hex.EncodeToString(sum[:8])+".json")
}

// Profile reads what is known of a program; ErrNotExist where it is nothing.
func (s *Store) Profile(program string) (*Profile, error) {
	p, err := readProfile(s.profilePath(program))
	if err != nil {
		return nil, fmt.Errorf("reading the profile of %s: %w", program, err)
	}
	return p, nil
}

func readProfile(path string) (*Profile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p Profile
	if err := json.Unmarshal(text, &p); err != nil || p.Version != profileVersion {
		return nil, errors.New("it is of another version, or damaged")
	}
	return &p, nil
}

// Observed adds a run to a program's profile, and gives the whole. Runs that end at the same time
// wait for each other, some milliseconds; where there are no locks, or somebody keeps one for a
// second, one of the runs may be lost.
func (s *Store) Observed(program string, run Run) (*Profile, error) {
	if unlock, err := s.lockProfiles(); err == nil {
		defer unlock()
	}
	p, err := s.Profile(program)
	if err != nil { // none yet, or one that can't be read: begin anew
		p = &Profile{Version: profileVersion, Program: program}
	}
	p.Runs++
	p.Last = time.Now()
	p.Peak = max(p.Peak, run.Peak)
	p.Calls, p.Follows = run.Calls, run.Follows
	at := map[string]int{}
	for i := range p.Shapes {
		l := &p.Shapes[i]
		l.Device = p.On(*l)
		at[l.key()] = i
	}
	for _, n := range run.Lines {
		p.Device = cmp.Or(n.Device, p.Device)
		p.Seconds += n.Seconds
		if i, ok := at[n.key()]; ok {
			p.Shapes[i].add(n)
			continue
		}
		at[n.key()] = len(p.Shapes)
		p.Shapes = append(p.Shapes, n)
	}
	for _, g := range run.Unseen {
		g.Program = ""
		p.Unseen = addUnseen(p.Unseen, g)
	}
	slices.SortStableFunc(p.Shapes, func(a, b Line) int { return cmp.Compare(b.Seconds, a.Seconds) })
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("keeping the profile of %s: %w", program, err)
	}
	return p, writeAside(s.profilePath(program), text)
}

// ObservedAll adds a run to the profile of each program that launched kernels in it, and gives the
// one that took most time: what was started may be a shell, make or mpirun. command is that, whose
// profile gets what is not known to have been launched.
func (s *Store) ObservedAll(command string, run Run) (heaviest string, err error) {
	by, seconds := map[string][]Line{}, map[string]float64{}
	unseen := map[string][]profile.Unseen{}
	for _, l := range run.Lines {
		name := cmp.Or(l.program, command)
		by[name] = append(by[name], l)
		seconds[name] += l.Seconds
	}
	for _, g := range run.Unseen {
		name := cmp.Or(strings.TrimSuffix(g.Program, " (deleted)"), command)
		unseen[name] = append(unseen[name], g)
		seconds[name] += g.Seconds
	}
	heaviest = command
	for _, name := range slices.Sorted(maps.Keys(seconds)) {
		one := run
		one.Lines, one.Unseen = by[name], unseen[name]
		if _, failed := s.Observed(name, one); failed != nil && err == nil {
			err = failed
		}
		if _, known := seconds[heaviest]; !known || seconds[name] > seconds[heaviest] {
			heaviest = name
		}
	}
	return heaviest, err
}

// lockProfiles keeps other processes from changing profiles.
func (s *Store) lockProfiles() (unlock func(), err error) {
	dir := filepath.Join(s.dir, "profiles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for range 100 {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Profiles gives the programs that have a profile, those observed last first.
func (s *Store) Profiles() []*Profile {
	files, _ := filepath.Glob(filepath.Join(s.dir, "profiles", "*.json"))
	var out []*Profile
	for _, f := range files {
		if p, err := readProfile(f); err == nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *Profile) int { return b.Last.Compare(a.Last) })
	return out
}
