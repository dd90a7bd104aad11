package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/witness"
	"gnvcc/rewrite/ptx"
)

// What the files of a command hold now. The code that is in them is looked up among what all
// commands have given (driver/witness), and that says which of the records of a command is about
// these files, and which of the commands that write the same made them. So it does not matter what
// was built between, by whom, and in which order.

// A held is what the files of a command hold.
type held struct {
	all []cache.Assembly // on record of the command
	// of each source file and target what is on record of the code that is there: several where they
	// give the same code; the first counts
	units [][]cache.Assembly
	// why the files are not what the command gave, "" where they are, or where there are none
	strange string
	codes   []witness.Code // in the files
	unknown []witness.Code // of these, what the command can have made and did not
	gone    bool           // a file is missing; the units are the command's newest
}

// assemblies are the records that count.
func (h *held) assemblies() []cache.Assembly {
	var out []cache.Assembly
	for _, u := range h.units {
		out = append(out, u[0])
	}
	return out
}

// isOwn tells whether all of the code that is there is known to be nvcc's own.
func (h *held) isOwn() bool {
	return len(h.codes) > 0 && !slices.ContainsFunc(h.codes, func(c witness.Code) bool {
		return !c.Own()
	})
}

// commands groups the assemblies on record by command.
func commands(ix *record.Index) map[string][]cache.Assembly {
	out := map[string][]cache.Assembly{}
	for _, list := range ix.Assemblies {
		for _, a := range list {
			if a.Command != "" {
				out[a.Command] = append(out[a.Command], a)
			}
		}
	}
	return out
}

// latest is when the command built something last.
func (h *held) latest() (t time.Time) {
	for _, a := range h.all {
		if a.Time.After(t) {
			t = a.Time
		}
	}
	return t
}

// newest takes what the command gave last, of each source file and target.
func (h *held) newest(store *cache.Store) {
	last := map[string]cache.Assembly{}
	for _, a := range h.all {
		unit := record.UnitOf(store, a)
		if old, ok := last[unit]; !ok || a.Time.After(old.Time) {
			last[unit] = a
		}
	}
	h.units = nil
	for _, a := range last {
		h.units = append(h.units, []cache.Assembly{a})
	}
}

// looking looks into each file once, by what was on record when it began.
type looking struct {
	store *cache.Store
	ix    *record.Index
	seen  map[string]looked
}

func look(store *cache.Store) *looking {
	return &looking{store: store, ix: record.Read(store), seen: map[string]looked{}}
}

type looked struct {
	codes []witness.Code
	err   error
}

// readAll looks into files, several at a time. ctx ends it; the others are read when they are
// asked for.
func (l *looking) readAll(ctx context.Context, paths []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	l.ix.Holding("", "") // it is only read from here on
	room := make(chan bool, runtime.GOMAXPROCS(0))
	for _, path := range paths {
		if ctx.Err() != nil {
			break
		}
		wg.Add(1)
		room <- true
		go func() {
			defer wg.Done()
			defer func() { <-room }()
			codes, err := witness.Look(l.store, l.ix, path)
			mu.Lock()
			defer mu.Unlock()
			l.seen[path] = looked{codes, err}
		}()
	}
	wg.Wait()
}

func (l *looking) at(path string) ([]witness.Code, error) {
	s, ok := l.seen[path]
	if !ok {
		s.codes, s.err = witness.Look(l.store, l.ix, path)
		l.seen[path] = s
	}
	return s.codes, s.err
}

// maker gives, of commands that write the same, the one that made what is there: the last one that
// ran, where several may have.
func (l *looking) maker(list []*rerun) *rerun {
	rank := func(r *rerun) int {
		n := 0
		if r.strange == "" {
			n += 2
		}
		if record.IsLast(l.store, r.hash, r.command) {
			n++
		}
		return n
	}
	for _, r := range list {
		l.look(r)
	}
	return slices.MaxFunc(list, func(a, b *rerun) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.latest().Compare(b.latest()),
			strings.Compare(a.hash, b.hash))
	})
}

// look finds out what the files of a command hold.
func (l *looking) look(r *rerun) {
	files, hidden := record.Writes(r.command), false
	for _, path := range files {
		codes, err := l.at(path)
		switch {
		case os.IsNotExist(err):
			r.gone = true
		case errors.Is(err, witness.ErrNone):
			r.strange = fmt.Sprintf("%s is not what its recorded command gives (%v); build it again with "+
				"gnvcc", path, err)
		case errors.Is(err, witness.ErrHidden):
			hidden = true
			r.strange = fmt.Sprintf("%s: %v; build it again with gnvcc", path, err)
		case err != nil:
			r.strange = err.Error()
		}
		r.codes = append(r.codes, codes...)
	}
	if (r.gone || hidden) && len(r.codes) == 0 { // what was built last is the best that can be said
		r.newest(l.store)
		return
	}
	switch r.line().Phase {
	case "link", "run":
		r.explain(true)
	default:
		r.explain(false)
	}
}

// explain finds the records of the code that is there. In a program there may be code of other
// commands, and of libraries.
func (r *rerun) explain(program bool) {
	names := map[string]bool{}
	for _, a := range r.all {
		for _, k := range a.Kernels {
			names[k.Name] = true
		}
	}
	for _, c := range r.codes {
		mine := slices.DeleteFunc(slices.Clone(c.Built), func(a cache.Assembly) bool {
			return a.Command != r.hash
		})
		switch {
		case len(mine) > 0 && c.Linked:
			for _, a := range mine {
				r.units = append(r.units, []cache.Assembly{a})
			}
		case len(mine) > 0: // of the newest PTX that gives this code
			r.units = append(r.units, slices.DeleteFunc(mine, func(a cache.Assembly) bool {
				return a.PTX != mine[0].PTX
			}))
		case len(c.Built) == 0 && c.Own(): // nothing is to be built otherwise
		case !program || slices.ContainsFunc(c.Kernels, func(k string) bool { return names[k] }):
			r.unknown = append(r.unknown, c)
		}
	}
	if len(r.unknown) > 0 && r.strange == "" {
		r.strange = strange(r.unknown)
	}
}

// strange says of code why it is not what a command gave.
func strange(codes []witness.Code) string {
	for _, c := range codes {
		if len(c.Built) == 0 {
			return fmt.Sprintf("it holds code of %s that this store does not know: another tool made it, "+
				"another source, or a gnvcc with another store; build it again with gnvcc",
				ptx.ShortName(c.Kernels[0]))
		}
	}
	return fmt.Sprintf("it holds code of %s that another command gave: the file was copied here, or "+
		"nvcc made it; build it again with gnvcc", ptx.ShortName(codes[0].Kernels[0]))
}
