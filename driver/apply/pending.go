package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// A change is a kernel that is wanted otherwise than it was built.
type change struct{ kernel, target, identity, wanted string }

// pendingFor lists what Build would run, and what it leaves alone with the reasons.
func pendingFor(store *cache.Store, aim Aim) (runs []*fileState, left []string, err error) {
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
	slices.SortFunc(runs, func(a, b *fileState) int { return strings.Compare(a.String(), b.String()) })
	slices.Sort(left)
	return runs, left, nil
}

// recorded gives the commands that the store knows, of those that write the same the one that made
// what is there now. One whose text is lost has no Dir.
func (l *looking) recorded(aim Aim) ([]*fileState, error) {
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
	var out []*fileState
	same := map[string][]*fileState{} // commands that write the same
	var files []string
	for hash, all := range l.ix.ByCommand() {
		f := &fileState{hash: hash, all: all}
		if f.command, err = record.LoadCommand(store, hash); err != nil {
			f.command = cache.Command{}
			if aim.Under == "" {
				f.newest(store)
				out = append(out, f)
			}
			continue
		}
		if f.under(aim.Under) && f.line().Output != os.DevNull {
			target := record.TargetOf(f.command)
			same[target] = append(same[target], f)
			files = append(files, record.Writes(f.command)...)
		}
	}
	slices.Sort(files)
	l.readAll(context.Background(), slices.Compact(files))
	for _, list := range same {
		out = append(out, l.maker(list))
	}
	for _, f := range out {
		env := present // for a build whose command is lost
		if f.command.Dir != "" {
			env = environment.Of(config.Over(f.command.Env, f.command.Dir))
		}
		f.wanted, f.stands = map[string]string{}, map[string]standing.Wanted{}
		for _, alternatives := range f.builtBy {
			f.settle(&known, alternatives, env, aim.Default)
		}
		slices.SortFunc(f.changes, func(a, b change) int { return strings.Compare(a.kernel, b.kernel) })
	}
	return out, nil
}

// settle takes of several records of the same code that by which least is to be done: they differ
// in recipes that change nothing here.
func (f *fileState) settle(known *standing.Several, unit []cache.Assembly,
	env *environment.Environment, own bool) {
	var least []change
	for i, a := range unit {
		changes := f.changesOf(known, a, env, own)
		if i == 0 || len(changes) < len(least) {
			least = changes
			unit[0] = a
		}
	}
	f.changes = append(f.changes, least...)
}

// under reports whether a command's folder or a file that it writes is a path, or lies below it.
func (f *fileState) under(folder string) bool {
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
	for _, path := range append(record.Writes(f.command), f.command.Dir, f.line().Place()) {
		rel, err := filepath.Rel(folder, real(path))
		if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
	}
	return false
}

// changesOf compares an assembly with what is wanted now: nvcc's own code, or its recipes. env
// are the command's settings.
func (f *fileState) changesOf(known *standing.Several, a cache.Assembly,
	env *environment.Environment, own bool) (changes []change) {
	if call, err := toolcmd.ReadPtxas(a.Args); err != nil || call.Debug {
		return nil
	}
	by := standing.AskerOf(known.Store, a.Command, env)
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
		f.wanted[k.Identity], f.stands[k.Identity] = want, w
		if want == k.Recipe || want != "" && lasts(k.Unapplied, want, standing.HashOf(w.Evidence.Normals)) {
			continue // a reason is found again, unless other code has been measured since
		}
		changes = append(changes, change{k.Name, a.Target, k.Identity, want})
	}
	return changes
}

// lasts reports whether a recipe would be refused again for what it was refused for.
func lasts(r *cache.Unapplied, recipe, measured string) bool {
	return r != nil && r.Lasting && r.Recipe == recipe && r.Normals == measured
}

// built are the recipes that the command's kernels were built with, by identity.
func (f *fileState) built() map[string]string {
	out := map[string]string{}
	for _, a := range f.assemblies() {
		for _, k := range a.Kernels {
			out[k.Identity] = k.Recipe
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
func (f *fileState) String() string {
	var kernels []string
	targets := map[string][]string{} // of a kernel's recipe
	for _, c := range f.changes {
		text := ptx.ShortName(c.kernel) + ": " + cmp.Or(c.wanted, "nvcc's own")
		if targets[text] == nil {
			kernels = append(kernels, text)
		}
		targets[text] = append(targets[text], c.target)
	}
	for i, text := range kernels {
		if list := targets[text]; len(list) > 1 {
			kernels[i] += " for " + strings.Join(list, ", ")
		}
	}
	const most = 3
	if len(kernels) > most {
		kernels = append(kernels[:most], fmt.Sprintf("and %d more", len(kernels)-most))
	}
	return f.name() + " [" + strings.Join(kernels, "; ") + "]"
}

// name is the command's sources and its output.
func (f *fileState) name() string {
	l := f.line()
	name := strings.Join(l.Inputs, " ")
	if l.Output != "" {
		name += " -> " + l.Output
	}
	return name
}

func (f *fileState) line() *toolcmd.Line { return record.Line(f.command) }

// impossible says why a command can't be run again, "" if it can.
func (f *fileState) impossible() string {
	if info, err := os.Stat(f.command.Dir); err != nil || !info.IsDir() {
		return "its folder " + f.command.Dir + " is gone (gnvcc doctor --clean forgets it)"
	}
	l := f.line()
	if l.Stdin {
		return "it reads standard input"
	}
	if _, err := l.Redirect(f.command.Args, "/out", "/side"); err != nil {
		return err.Error() + "; build it again"
	}
	output := os.FileInfo(nil)
	if l.Output != "" {
		path := l.Target(f.command.Dir)
		var err error
		if output, err = os.Lstat(path); err != nil {
			return "its output does not exist; the next build makes it, with the recipes"
		}
		if why := unfit(output); why != "" {
			return why
		}
	}
	for _, in := range l.Inputs {
		info, err := os.Stat(toolcmd.Inside(f.command.Dir, in))
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
