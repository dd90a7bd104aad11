package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/scratch"
	"gnvcc/driver/stage"
	"gnvcc/driver/standing"
	"gnvcc/driver/witness"
)

// What is built here, and how: the code in files, and what the store knows of it, without running
// anything. And forgetting what is no use any more.

// A Output is what one command has written.
type Output struct {
	Output  string // absolute; the folder where a command without -o writes several files
	Dir     string // with Args and Inputs: none where no command is known to write it
	Args    []string
	Inputs  []string
	State   string // "as wanted", "pending", or "alone": gnvcc apply would leave it alone
	Why     string `json:",omitempty"` // of "alone"
	Kernels []Kernel
}

// A Kernel is one of its kernels.
type Kernel struct {
	Kernel string // mangled
	Target string
	Recipe string // that it is built with, "" for nvcc's own code
	Wanted string // that it would be built with now
	// where the decision is from: a lock file, or another's store; "" for one's own
	From   string `json:",omitempty"`
	Pinned bool   // Wanted is the user's own, and it was not measured
	Reason string `json:",omitempty"` // why what was wanted was not applied

	Predicted bool `json:",omitempty"` // Wanted was predicted, and not run
	Proposed  bool `json:",omitempty"` // Wanted was found on single launches, and not compared in the program yet
	// Refused says of a recipe that was decided why it is not wanted: it is banned, of an old form, or
	// not proven.
	Refused string `json:",omitempty"`
	Unknown bool   `json:",omitempty"` // the code that is there is not on record; Recipe says nothing
	// Elsewhere says of a kernel without a recipe that it has one for the code of another ptxas.
	Elsewhere string `json:",omitempty"`
}

// Status describes every command in or below a folder ("": everywhere), of files there that hold
// device code and that no command is known to write, and which outputs a killed apply was about to
// replace. A folder that is a file is that file alone.
func Status(ctx context.Context, store *cache.Store,
	under string) (out []Output, broken []string, err error) {
	if err := store.PublishSpooled(ctx); err != nil {
		return nil, nil, fmt.Errorf("update the decisions: %w", err)
	}
	l := look(store)
	all, err := l.recorded(Aim{Under: under})
	if err != nil {
		return nil, nil, err
	}
	others, err := l.found(ctx, under, all)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range append(all, others...) {
		if f.path != "" || f.command.Dir != "" { // else nothing is known of where it lies
			o := f.output()
			l.elsewhere(f, o.Kernels)
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b Output) int { // what is made of other files stands above them
		return cmp.Or(cmp.Compare(min(len(a.Args), 1), min(len(b.Args), 1)), strings.Compare(a.Output, b.Output))
	})
	for _, p := range unfinished(store) {
		broken = append(broken, p.Path)
	}
	return out, broken, nil
}

// elsewhere finds recipes for kernels that have none: those of builds in the same folder by another ptxas, whose
// code has another identity.
func (l *looking) elsewhere(f *fileState, kernels []Kernel) {
	var kn *standing.Known
	defer func() { kn.Close() }()
	for i, k := range kernels {
		at := slices.IndexFunc(f.assemblies(), func(a cache.Assembly) bool {
			return a.Target == k.Target && slices.ContainsFunc(a.Kernels, func(b cache.Kernel) bool { return b.Name == k.Kernel })
		})
		if k.Wanted != "" || k.Recipe != "" || k.Refused != "" || at < 0 {
			continue
		}
		a := f.assemblies()[at]
		if l.named == nil {
			l.named = map[string][]record.BuiltKernel{}
			for _, list := range l.ix.ByCommand() {
				for _, a := range list {
					for _, k := range a.Kernels {
						l.named[a.Target+k.Name] = append(l.named[a.Target+k.Name], record.BuiltKernel{Kernel: k, Assembly: a})
					}
				}
			}
		}
		env := environment.Of(f.command.Env)
		for _, b := range l.named[k.Target+k.Kernel] {
			if b.Assembly.Version == a.Version || b.Assembly.Dir != a.Dir {
				continue
			}
			if kn == nil {
				kn, _ = standing.KnownAt(l.store, a.Dir, env)
			}
			if w := kn.Want(b.Kernel, standing.AskerOf(l.store, b.Assembly.Command, env)); !w.Recipe.IsDefault() {
				kernels[i].Elsewhere = fmt.Sprintf("%s is for the code of ptxas %s; this was built by ptxas %s (%s)",
					w.Recipe, b.Assembly.Version, a.Version, a.Ptxas)
				break
			}
		}
	}
}

// output is the state as users see it.
func (f *fileState) output() Output {
	o := Output{Output: f.path, State: "alone", Why: f.strange}
	if f.path == "" {
		l := f.line()
		o = Output{Output: l.Place(), Dir: f.command.Dir, Args: f.command.Args, Inputs: l.Inputs, State: "as wanted"}
		if files := record.Writes(f.command); l.Output != "" {
			o.Output = l.Target(f.command.Dir)
		} else if len(files) == 1 {
			o.Output = files[0]
		}
		if why := cmp.Or(f.strange, f.impossible()); why != "" {
			o.State, o.Why = "alone", why
		} else if len(f.changes) > 0 {
			o.State = "pending"
		}
	}
	if f.gone && len(f.codes) == 0 { // nothing is there of which something could be said
		return o
	}
	for _, a := range f.assemblies() {
		for _, k := range a.Kernels {
			w := f.stands[k.Identity]
			b := Kernel{Kernel: k.Name, Target: a.Target, Recipe: k.Recipe, Wanted: f.wanted[k.Identity],
				From: w.From, Reason: k.Unapplied.String()}
			if w.Refused != nil {
				b.Refused, b.Reason = w.Refused.Error(), "" // that of an earlier build
			} else if b.Wanted != "" {
				b.Pinned, b.Predicted, b.Proposed = w.Pinned, w.Predicted, w.Proposed()
			}
			o.Kernels = append(o.Kernels, b)
		}
	}
	o.Kernels = append(o.Kernels, kernelsOf(append(f.unknown, f.others...))...)
	slices.SortFunc(o.Kernels, func(a, b Kernel) int {
		return cmp.Or(strings.Compare(a.Kernel, b.Kernel), strings.Compare(a.Target, b.Target))
	})
	return o
}

// kernelsOf describes code as it is, where no command is known to make it again.
func kernelsOf(codes []witness.Code) (out []Kernel) {
	for _, c := range codes {
		names, recipes := c.Kernels, map[string]cache.Kernel{}
		for i := len(c.Built) - 1; i >= 0; i-- { // the newest counts
			for _, k := range c.Built[i].Kernels {
				recipes[k.Name] = k
			}
		}
		for _, name := range names {
			k, known := recipes[name]
			if len(c.Built) > 0 && !known {
				continue // a second entry: its kernel's recipe says it
			}
			out = append(out, Kernel{Kernel: name, Target: fmt.Sprintf("sm_%d", c.Target),
				Recipe: k.Recipe, Wanted: k.Recipe, Unknown: !known && !c.Own()})
		}
	}
	return out
}

// Cleaned is what Clean has removed.
type Cleaned struct {
	Folders int // scratch folders of processes that were killed
	Builds  int // records of builds whose folder or output is gone
	Store   cache.Removed
	Notes   []string
}

// Clean removes what killed processes left, forgets builds whose files are gone, and what is kept
// for later applies. With all it forgets all builds, and empties the store but for recipes.
func Clean(ctx context.Context, store *cache.Store, all bool) (Cleaned, error) {
	var c Cleaned
	c.Folders, _ = scratch.Sweep(os.TempDir()) // those of others can't be removed, and are not ours
	if _, err := os.Stat(store.Path()); os.IsNotExist(err) {
		return c, nil
	}
	unlock, err := lockApply(ctx, store, os.Stderr)
	if err != nil {
		return c, err
	}
	defer unlock()
	c.Notes = recoverApply(store)
	if err := store.PublishSpooled(ctx); err != nil {
		return c, fmt.Errorf("update the decisions: %w", err)
	}
	named := map[string]bool{}
	if c.Builds, err = forgetBuilds(ctx, store, all, named); err != nil {
		return c, err
	}
	if all {
		if c.Store, err = store.ClearMemos(); err != nil {
			return c, err
		}
		objects, err := store.ClearObjects(named)
		c.Store.Files += objects.Files
		c.Store.Bytes += objects.Bytes
		return c, err
	}
	// What was noted is noted again by the next build where its record is gone.
	c.Store, err = store.ClearMemos(stage.StepMemos, string(memoApplied), string(record.Noted))
	return c, err
}

// hashText finds the names of objects in records.
var hashText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{64}`) })

// forgetBuilds removes records of builds, and gathers the hashes that the other ones name.
func forgetBuilds(ctx context.Context, store *cache.Store, all bool, named map[string]bool) (
	int, error) {
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	gone := map[string]bool{} // commands, looked at once
	isGone := func(hash string) bool {
		g, ok := gone[hash]
		if !ok {
			c, err := record.LoadCommand(store, hash)
			g = all || err != nil || record.Vanished(c)
			gone[hash] = g
		}
		return g
	}
	keys := map[string][]string{} // by bucket
	for _, bucket := range []string{cache.Assemblies, cache.Links, cache.Translations} {
		err := sn.Each(bucket, "", func(k string, raw []byte) error {
			var record struct{ Command string }
			if all || json.Unmarshal(raw, &record) == nil && record.Command != "" && isGone(record.Command) {
				keys[bucket] = append(keys[bucket], k)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	for _, bucket := range []string{cache.Decisions, cache.Pins, cache.Predictions, cache.Bans} {
		err := sn.Each(bucket, "", func(k string, raw []byte) error {
			for _, hash := range hashText().FindAll(raw, -1) {
				named[string(hash)] = true
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	if len(keys) == 0 {
		return 0, nil
	}
	owner, err := store.Own(ctx)
	if err != nil {
		return 0, err
	}
	defer owner.Close()
	for bucket, list := range keys {
		if err := owner.Delete(bucket, list...); err != nil {
			return 0, err
		}
	}
	return len(keys[cache.Assemblies]), owner.Publish()
}
