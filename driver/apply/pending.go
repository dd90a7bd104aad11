package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/config"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/standing"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/ptx"
)

// What is pending: kernels that are wanted otherwise than the store says they were built.

// A rerun is a command to run again.
type rerun struct {
	hash    string
	command cache.Command
	held
	changes []change                   // sorted by kernel
	wanted  map[string]string          // recipes by identity, of all kernels of the units
	stands  map[string]standing.Wanted // what they were taken from, by identity
}

// A change is a kernel that is wanted otherwise than it was built.
type change struct {
	kernel, target   string
	built, wanted    string
	identity, source string
}

// pendingFor lists what Build would run, and what it leaves alone with the reasons.
func pendingFor(store *cache.Store, aim Aim) (runs []*rerun, left []string, err error) {
	all, err := look(store).recorded(aim)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range all {
		switch {
		case r.command.Dir == "" && len(r.changes) > 0:
			left = append(left, ptx.ShortName(r.changes[0].kernel)+
				": its command is not in the store any more; build it once more")
			continue
		case r.command.Dir == "" || aim.Default && r.gone:
			continue // nothing is left of it
		case r.strange != "" && !(aim.Default && r.isOwn()):
			left = append(left, fmt.Sprintf("%s: %s", r.name(), r.strange))
			continue
		case len(r.changes) == 0 || r.strange != "":
			continue
		}
		if why := r.impossible(); why != "" {
			left = append(left, fmt.Sprintf("%s: %s", r, why))
			continue
		}
		runs = append(runs, r)
	}
	sort.Slice(runs, func(i, j int) bool { return runs[i].String() < runs[j].String() })
	sort.Strings(left)
	return runs, left, nil
}

// recorded gives the commands that the store knows, of those that write the same the one that made
// what is there now. One whose text is lost has no Dir.
func (l *looking) recorded(aim Aim) ([]*rerun, error) {
	store := l.store
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sn.Close()
	known := standing.Several{Store: store}
	defer known.Close()
	present := environment.Read()
	var out []*rerun
	same := map[string][]*rerun{} // commands that write the same
	files := map[string]bool{}
	for hash, all := range commands(l.ix) {
		r := &rerun{hash: hash, wanted: map[string]string{},
			stands: map[string]standing.Wanted{}, held: held{all: all}}
		if r.command, err = record.LoadCommand(store, hash); err != nil {
			r.command = cache.Command{}
			if aim.Under == "" {
				r.newest(store)
				out = append(out, r)
			}
			continue
		}
		if r.under(aim.Under) && r.line().Output != os.DevNull {
			target := record.TargetOf(r.command)
			same[target] = append(same[target], r)
			for _, path := range record.Writes(r.command) {
				files[path] = true
			}
		}
	}
	l.readAll(context.Background(), slices.Collect(maps.Keys(files)))
	for _, list := range same {
		out = append(out, l.maker(list))
	}
	for _, r := range out {
		env := present // for a build whose command is lost
		if r.command.Dir != "" {
			env = environment.Of(config.Over(r.command.Env, r.command.Dir))
		}
		for _, alternatives := range r.units {
			r.settle(store, &known, alternatives, env, aim.Default)
		}
		sort.Slice(r.changes, func(i, j int) bool { return r.changes[i].kernel < r.changes[j].kernel })
	}
	return out, nil
}

// settle takes of several records of the same code that by which least is to be done: they differ
// in recipes that change nothing here.
func (r *rerun) settle(store *cache.Store, known *standing.Several, unit []cache.Assembly,
	env *environment.Environment, own bool) {
	var least []change
	for i, a := range unit {
		changes := r.changesOf(store, known, a, env, own)
		if i == 0 || len(changes) < len(least) {
			least = changes
			unit[0] = a
		}
	}
	r.changes = append(r.changes, least...)
}

// under tells whether a command's folder or a file that it writes is a path, or lies below it.
func (r *rerun) under(folder string) bool {
	if folder == "" {
		return true
	}
	real := func(path string) string {
		if p, err := filepath.EvalSymlinks(path); err == nil {
			return p
		}
		return filepath.Clean(path)
	}
	folder = real(folder)
	for _, path := range append(record.Writes(r.command), r.command.Dir, r.line().Place()) {
		rel, err := filepath.Rel(folder, real(path))
		if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
	}
	return false
}

// changesOf compares an assembly with what is wanted now: nvcc's own code, or its recipes. env
// are the command's settings.
func (r *rerun) changesOf(store *cache.Store, known *standing.Several, a cache.Assembly,
	env *environment.Environment, own bool) (changes []change) {
	if call, err := toolcmd.ReadPtxas(a.Args); err != nil || call.Debug {
		return nil
	}
	by := standing.AskerOf(store, a.Command, env)
	kn := known.At(a.Dir, env)
	for _, k := range a.Kernels {
		w := kn.Want(k, by)
		want := w.Recipe.String()
		switch {
		case own:
			want, w.Refused = "", nil
		case kn.Problem != nil:
			// A lock file that can't be read just now (a conflict, a folder that is not mounted) takes no
			// recipe out of what is built. The next build is nvcc's own, and says so.
			want, w.Refused = k.Recipe, kn.Problem
		}
		r.wanted[k.Identity], r.stands[k.Identity] = want, w
		if want == k.Recipe || want != "" && lasts(k.Unapplied, want, standing.HashOf(w.Evidence.Normals)) {
			continue // a reason is found again, unless other code has been measured since
		}
		changes = append(changes, change{k.Name, a.Target, k.Recipe, want, k.Identity,
			record.SourceOf(store, a)})
	}
	return changes
}

// lasts tells whether a recipe would be refused again for what it was refused for.
func lasts(r *cache.Unapplied, recipe, measured string) bool {
	return r != nil && r.Lasting && r.Recipe == recipe && r.Normals == measured
}

// built are the recipes that the command's kernels were built with, by identity.
func (r *rerun) built() map[string]string {
	out := map[string]string{}
	for _, a := range r.assemblies() {
		for _, k := range a.Kernels {
			out[k.Identity] = k.Recipe
		}
	}
	return out
}

// modules are the module ids of the build that another run would make otherwise, by source file.
func (r *rerun) modules(store *cache.Store) map[string]string {
	out := map[string]string{}
	for _, a := range r.assemblies() {
		if t, ok := record.LoadTranslation(store, a.PTX); ok && toolcmd.CutProcess(t.Module) != "" {
			out[t.Source] = t.Module
		}
	}
	return out
}

// reasonIn says why a change was not made after all, from the notes of the run.
func reasonIn(notes []record.Note, c change) string {
	for _, n := range notes {
		for _, k := range n.Assembly.Kernels {
			if k.Name == c.kernel && k.Identity == c.identity && k.Recipe != c.wanted {
				return k.Unapplied.String()
			}
		}
	}
	return ""
}

// String is the command for people: its sources and its output, and what is wanted.
func (r *rerun) String() string {
	var kernels []string
	for _, c := range r.changes {
		text := c.wanted
		if text == "" {
			text = "nvcc's own"
		}
		kernels = append(kernels, ptx.ShortName(c.kernel)+": "+text)
	}
	const most = 3
	if len(kernels) > most {
		kernels = append(kernels[:most], fmt.Sprintf("and %d more", len(kernels)-most))
	}
	return r.name() + " [" + strings.Join(kernels, "; ") + "]"
}

// name is the command's sources and its output.
func (r *rerun) name() string {
	l := r.line()
	name := strings.Join(l.Inputs, " ")
	if l.Output != "" {
		name += " -> " + l.Output
	}
	return name
}

func (r *rerun) line() *toolcmd.Line { return record.Line(r.command) }

// impossible says why a command can't be run again, "" if it can.
func (r *rerun) impossible() string {
	if info, err := os.Stat(r.command.Dir); err != nil || !info.IsDir() {
		return "its folder " + r.command.Dir + " is gone (gnvcc doctor --clean forgets it)"
	}
	l := r.line()
	if l.Stdin {
		return "it reads standard input"
	}
	if _, err := l.Redirect(r.command.Args, "/out", "/side"); err != nil {
		return err.Error() + "; build it again"
	}
	output := os.FileInfo(nil)
	if l.Output != "" {
		path := l.Target(r.command.Dir)
		var err error
		if output, err = os.Lstat(path); err != nil {
			return "its output does not exist; the next build makes it, with the recipes"
		}
		if why := unfit(output); why != "" {
			return why
		}
	}
	for _, in := range l.Inputs {
		info, err := os.Stat(toolcmd.Inside(r.command.Dir, in))
		if err != nil {
			return in + " is gone"
		}
		if output != nil && os.SameFile(info, output) {
			return "its output is its input"
		}
	}
	return ""
}

// unfit says why an output is not to be replaced, "" if it may be.
func unfit(info os.FileInfo) string {
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		return "its output is a symbolic link; who else uses that file is not known"
	case !info.Mode().IsRegular():
		return "its output is not a regular file"
	case info.Mode().Perm()&0o222 == 0:
		return "its output is read-only"
	}
	return ""
}
