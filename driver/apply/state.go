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
	"gnvcc/driver/standing"
	"gnvcc/driver/witness"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim/fatbin"
)

// What the files of a command hold now. The code that is in them is looked up among what all
// commands have given (driver/witness), and that says which of the records of a command is about
// these files, and which of the commands that write the same made them. So it does not matter what
// was built between, by whom, and in which order.

// A fileState is what the files of a recorded command hold, or one file that no command on record
// writes: the code that is there, what it was built by, and what is wanted of it.
type fileState struct {
	hash    string // of the command; "" for a file that none writes
	command cache.Command
	all     []cache.Assembly // on record of the command

	path string      // of a file that no command writes
	kind fatbin.Kind // of that

	codes   []witness.Code // in the files
	unknown []witness.Code // of these, what the command can have made and did not
	others  []witness.Code // device links, with what other commands gave to them (archives)
	gone    bool           // a file is missing; builtBy are the command's newest
	// why the files are not what the command gave, or can't be made again; "" where they are
	strange string
	// of each source file and target what is on record of the code that is there: several where they
	// give the same code; the first counts
	builtBy [][]cache.Assembly

	wanted  map[string]string          // recipes by identity, of all kernels that it was built by
	stands  map[string]standing.Wanted // what they were taken from, by identity
	changes []change                   // where these differ from builtBy, sorted by kernel
}

// assemblies are the records that count.
func (f *fileState) assemblies() (out []cache.Assembly) {
	for _, u := range f.builtBy {
		out = append(out, u[0])
	}
	return out
}

// isOwn reports whether all of the code that is there is known to be nvcc's own.
func (f *fileState) isOwn() bool {
	return len(f.codes) > 0 && !slices.ContainsFunc(f.codes, func(c witness.Code) bool {
		return !c.Own()
	})
}

// latest is when the command built something last.
func (f *fileState) latest() (t time.Time) {
	for _, a := range f.all {
		if a.Time.After(t) {
			t = a.Time
		}
	}
	return t
}

// newest takes what the command gave last, of each source file and target.
func (f *fileState) newest(store *cache.Store) {
	f.builtBy = nil
	for _, a := range record.Newest(store, f.all) {
		f.builtBy = append(f.builtBy, []cache.Assembly{a})
	}
}

// looking looks into each file once, by what was on record when it began.
type looking struct {
	store *cache.Store
	ix    *record.Index
	seen  map[string]looked
	named map[string][]record.BuiltKernel // by target and name, once asked for
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
func (l *looking) maker(list []*fileState) *fileState {
	rank := func(r *fileState) int {
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
	return slices.MaxFunc(list, func(a, b *fileState) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.latest().Compare(b.latest()),
			strings.Compare(a.hash, b.hash))
	})
}

// look finds out what the files of a command hold.
func (l *looking) look(r *fileState) {
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
	r.explain(slices.Contains([]string{"link", "run"}, r.line().Phase))
}

// explain finds the records of the code that is there. In a program there may be code of other
// commands, and of libraries.
func (f *fileState) explain(program bool) {
	names := map[string]bool{}
	for _, a := range f.all {
		for _, k := range a.Kernels {
			names[k.Name] = true
		}
	}
	for _, c := range f.codes {
		mine := slices.DeleteFunc(slices.Clone(c.Built), func(a cache.Assembly) bool {
			return a.Command != f.hash
		})
		switch {
		case len(mine) > 0 && c.Linked:
			if more := othersOf(c, f.hash); len(more.Built) > 0 {
				f.others = append(f.others, more)
			}
			for _, a := range mine {
				f.builtBy = append(f.builtBy, []cache.Assembly{a})
			}
		case len(mine) > 0: // of the newest PTX that gives this code
			f.builtBy = append(f.builtBy, slices.DeleteFunc(mine, func(a cache.Assembly) bool {
				return a.PTX != mine[0].PTX
			}))
		case len(c.Built) == 0 && c.Own(): // nothing is to be built otherwise
		case !program || slices.ContainsFunc(c.Kernels, func(k string) bool { return names[k] }):
			f.unknown = append(f.unknown, c)
		}
	}
	if len(f.unknown) > 0 && f.strange == "" {
		f.strange = strange(f.unknown)
	}
}

// othersOf is a device link with what commands other than one gave to it.
func othersOf(c witness.Code, command string) witness.Code {
	c.Built = slices.DeleteFunc(slices.Clone(c.Built), func(a cache.Assembly) bool { return a.Command == command })
	return c
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
