// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/record"
	"gnvcc/driver/scratch"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/ptx"
)

// An Ask is what is to be compared.
type Ask struct {
	Store         *cache.Store
	Before, After Way
	Folders       []string // only what was built from or into these; nil: all
	// only these kernels, by name and identity; nil: those that launches are captured of, and all
	// where none are
	Wanted   func(name, identity string) bool
	All      bool              // every kernel on record, captured or not
	Progress func(text string) // how far it is

	single bool // in the first way alone
}

// A Pair is two builds of recorded kernels, with what was captured of them. Close removes what it
// has made.
type Pair struct {
	Kernels []*Kernel
	Failed  []Failure
	Before  string // what the builds are called
	After   string
	Sides   [2]*cache.Store // their objects

	scratch *scratch.Folder
}

// A Failure is a recorded command that could not be built.
type Failure struct {
	Command string // its sources and its output
	Before  bool   // not even as it was: then the other build was not tried
	Why     string
	Kernels []string `json:",omitempty"` // that were built by it

	gone bool // a source of it is not there any more
}

// A Kernel is one kernel in both builds.
type Kernel struct {
	Kernel string // as people write it
	Name   string // mangled, as it was
	Source string `json:",omitempty"`
	Target string // sm_90, of the later build
	Before Code
	After  Code
	Same   bool // to the byte what the GPU executes
	Gone   bool `json:",omitempty"` // the later build has none of that name

	Launches []*Launch
	Assumed  string `json:",omitempty"` // of the launches: none was seen
	Narrower string `json:",omitempty"` // larger blocks, of which none was seen, can't be launched now

	Verdict string
	Why     string  `json:",omitempty"` // in words
	Ratio   float64 `json:",omitempty"` // measured time over the earlier build's, by weight

	before, after side
	identities    []string // of what was built, as recorded
	output        string   // of its command
	captures      []*capture.Manifest
}

// A side is a kernel in one of the builds.
type side struct {
	unit    record.Unit
	kernel  cache.Kernel
	content []byte // of the cubin
}

// verbose makes ptxas say what it has spilled, which a cubin does not hold.
const verbose = "-Xptxas=-v"

// Build builds what is asked for in both ways.
func Build(ctx context.Context, a Ask) (*Pair, error) {
	folder, err := scratch.New()
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	p := &Pair{scratch: folder}
	var ways [2]*builder
	for i, way := range []Way{a.Before, a.After} {
		if i > 0 && a.single {
			ways[i], p.Sides[i] = ways[0], p.Sides[0]
			break
		}
		if p.Sides[i], err = cache.Open(filepath.Join(folder.Path, fmt.Sprintf("store%d", i))); err != nil {
			break
		}
		way.Flags = append(slices.Clone(way.Flags), verbose)
		if ways[i], err = newBuilder(way, a.Store, p.Sides[i], folder.Path); err != nil {
			break
		}
	}
	var list []one
	if err == nil {
		list, err = a.choose()
	}
	if err == nil {
		err = p.all(ctx, a, list, ways)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.Before, p.After = p.titles(a)
	slices.SortStableFunc(p.Kernels, func(x, y *Kernel) int {
		return cmp.Or(cmp.Compare(weight(y), weight(x)), cmp.Compare(x.Kernel, y.Kernel),
			cmp.Compare(x.Target, y.Target))
	})
	return p, nil
}

func (p *Pair) Close() { p.scratch.Remove() }

var errNoBuilds = errors.New("no builds by gnvcc are on record here: build once with gnvcc")

// A one is a command that is to be built, with its kernels.
type one struct {
	apply.Built
	// by name and target
	kernels map[string]*wanted
}

// wanted is a kernel that is to be compared.
type wanted struct {
	identities []string
	captures   []*capture.Manifest
}

func keyOf(kernel, target string) string { return ptx.StableName(kernel) + " " + target }

// choose picks the commands and kernels.
func (a Ask) choose() ([]one, error) {
	known := apply.ReadBuilds(a.Store)
	commands := known.Commands(a.Folders)
	if len(commands) == 0 {
		return nil, errNoBuilds
	}
	store, err := tuner.Captures(a.Store)
	if err != nil {
		return nil, err
	}
	manifests, _ := store.List()
	by := map[string][]*capture.Manifest{} // output, and kernel by name and target
	for _, m := range manifests {
		for _, at := range known.Of(m.Cubin, m.Kernel) {
			if ptx.Capability(at.Target) == m.Major*10+m.Minor {
				key := at.Output + " " + keyOf(m.Kernel, at.Target)
				by[key] = append(by[key], m)
			}
		}
	}
	var list []one
	captured := false
	for _, c := range commands {
		x := one{c, map[string]*wanted{}}
		for _, u := range c.Units {
			for _, k := range u.Kernels {
				if k.Identity == "" || a.Wanted != nil && !a.Wanted(k.Name, k.Identity) {
					continue
				}
				key := keyOf(k.Name, u.Target)
				w := x.kernels[key]
				if w == nil {
					w = &wanted{captures: by[c.Output+" "+key]}
					x.kernels[key] = w
				}
				w.identities = append(w.identities, k.Identity)
				captured = captured || len(w.captures) > 0
			}
		}
		list = append(list, x)
	}
	if captured && !a.All {
		for _, x := range list {
			maps.DeleteFunc(x.kernels, func(_ string, w *wanted) bool { return len(w.captures) == 0 })
		}
	}
	list = slices.DeleteFunc(list, func(x one) bool { return len(x.kernels) == 0 })
	if len(list) == 0 {
		return nil, errors.New("no kernel on record is meant")
	}
	return list, nil
}

// all builds the commands, some at a time.
func (p *Pair) all(ctx context.Context, a Ask, list []one, ways [2]*builder) error {
	var mu sync.Mutex
	work, building := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, x := range list {
		if building.Err() != nil {
			break
		}
		a.Progress(fmt.Sprintf("building %d of %d: %s", i+1, len(list), x.Name))
		work.Go(func() error {
			kernels, failed, err := x.build(ctx, ways)
			if err != nil {
				return fmt.Errorf("%s: %w", x.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			p.Kernels = append(p.Kernels, kernels...)
			if failed != nil {
				p.Failed = append(p.Failed, *failed)
			}
			return nil
		})
	}
	err := work.Wait()
	slices.SortFunc(p.Failed, func(x, y Failure) int { return strings.Compare(x.Command, y.Command) })
	return cmp.Or(ctx.Err(), err)
}

// build builds one command in both ways, and pairs its kernels. An error is ours: the command was
// not tried.
func (x one) build(ctx context.Context, ways [2]*builder) ([]*Kernel, *Failure, error) {
	var trials [2]*apply.Trial
	for i, way := range ways {
		var err error
		if i > 0 && way == ways[0] {
			trials[i] = trials[0]
			continue
		}
		if trials[i], err = way.build(ctx, x.Hash); err != nil {
			if i > 0 && !errors.Is(err, apply.ErrSource) {
				return nil, nil, err
			}
			if word := way.misused(err); word != "" {
				return nil, nil, fmt.Errorf("nvcc does not take %q: %s", word, policy.FirstLine(err))
			}
			if what := half().FindString(err.Error()); what != "" {
				return nil, nil, fmt.Errorf("the toolkit, or its host compiler, is incomplete: %s", what)
			}
			f := &Failure{Command: x.Name, Before: i == 0, Why: policy.FirstLine(err)}
			for _, u := range x.Units {
				if _, err := os.Stat(u.Source); u.Source != "" && errors.Is(err, os.ErrNotExist) {
					f.gone = true
				}
				for _, k := range u.Kernels {
					if x.kernels[keyOf(k.Name, u.Target)] != nil {
						f.Kernels = append(f.Kernels, policy.ShortName(k.Name))
					}
				}
			}
			slices.Sort(f.Kernels)
			f.Kernels = slices.Compact(f.Kernels)
			return nil, f, nil
		}
	}
	before, after := sides(trials[0], ways[0].into), sides(trials[1], ways[1].into)
	// for one other target than before, there is one alone
	single := map[string][]side{}
	for _, s := range after {
		name := ptx.StableName(s.kernel.Name)
		single[name] = append(single[name], s)
	}
	var out []*Kernel
	for key, was := range before {
		w := x.kernels[key]
		if w == nil {
			continue
		}
		k := &Kernel{Kernel: policy.ShortName(was.kernel.Name), Name: was.kernel.Name,
			Source: was.unit.Source, Target: was.unit.Target, before: was, identities: w.identities,
			output:   x.Output,
			captures: w.captures}
		is, ok := after[key]
		if others := single[ptx.StableName(was.kernel.Name)]; !ok && len(others) == 1 {
			is, ok = others[0], true
		}
		if k.after = is; ok {
			k.Target = is.unit.Target
		} else {
			k.Gone = true
		}
		out = append(out, k)
	}
	return out, nil, nil
}

// sides are the kernels of a build by name and target.
func sides(t *apply.Trial, store *cache.Store) map[string]side {
	out := map[string]side{}
	for _, u := range t.Units {
		content, err := store.Object(u.Cubin)
		if err != nil {
			continue // then the kernels are gone, which is said
		}
		for _, k := range u.Kernels {
			out[keyOf(k.Name, u.Target)] = side{u, k, content}
		}
	}
	return out
}

// titles are what the builds are called, by the versions of ptxas that they were seen to take.
func (p *Pair) titles(a Ask) (before, after string) {
	var was, is []string
	for _, k := range p.Kernels {
		was = append(was, k.before.unit.Version)
		if !k.Gone {
			is = append(is, k.after.unit.Version)
		}
	}
	several := func(list []string) string {
		slices.Sort(list)
		return strings.Join(slices.Compact(list), ", ")
	}
	return a.Before.title(several(was)), a.After.title(several(is))
}

// weight is the share of the run's time that is known of a kernel, seconds.
func weight(k *Kernel) (sum float64) {
	for _, m := range k.captures {
		sum += m.Weight()
	}
	return sum
}
