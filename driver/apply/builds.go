package apply

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
	"gnvcc/driver/witness"
	"gnvcc/rewrite/ptx"
)

// What was built, as gnvcc watch looks at it: which files a command's device code came from, and
// where the kernel of a loaded module was built.

// A Built is a recorded command, the last one known to write its output.
type Built struct {
	Hash   string
	Name   string        // its sources and its output, for people
	Output string        // what it writes (toolcmd.Line.Target): the next command for it has the same
	Files  []string      // absolute, sorted: its sources, and what its device code includes
	Tools  []string      // nvcc, cicc and ptxas
	Units  []record.Unit // the newest of each source and target
	Stale  bool          // ptxas has another version now, or is gone
}

// A Place is where a kernel was built.
type Place struct {
	Output, Source string // as in Built and Unit
	Identity       string
	Target         string   // "sm_90"
	Reloc          bool     // a device link made its module
	Beside         []string // all kernels of its file
}

// Builds is what the store knows of builds, as it was read.
type Builds struct {
	store *cache.Store
	ix    *record.Index
	names sync.Map // one string for a file's name, however many commands read it

	versions map[string]string // of ptxas as it is now, by path; "" where it can't say
}

// ReadBuilds reads it.
func ReadBuilds(store *cache.Store) *Builds {
	return &Builds{store: store, ix: record.Read(store), versions: map[string]string{}}
}

// Commands gives the recorded commands whose folder, output or a file lies in or below one of the
// folders; all of them without folders.
func (b *Builds) Commands(folders []string) []Built {
	var out []Built
	for hash, all := range b.ix.ByCommand() {
		c, err := record.LoadCommand(b.store, hash)
		if err != nil || !record.IsLast(b.store, hash, c) {
			continue
		}
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			continue // nothing can be run there
		}
		r := &fileState{hash: hash, command: c}
		if r.line().Output == os.DevNull {
			continue
		}
		x := Built{Hash: hash, Name: r.name(), Output: r.line().Target(c.Dir)}
		files, tools := map[string]bool{}, map[string]bool{c.Nvcc: true}
		for _, in := range r.line().Inputs {
			files[toolcmd.Inside(c.Dir, in)] = true
		}
		for _, a := range record.Newest(b.store, all) {
			u := b.unit(c.Dir, a, files, tools)
			// A PTX is on record with the source that gave it last, which may be another file's copy.
			if in := r.line().Inputs; len(in) == 1 && u.Source != "" {
				if own := toolcmd.Inside(c.Dir, in[0]); !Same(u.Source, own) {
					u.Source = own
				}
			}
			x.Units = append(x.Units, u)
		}
		x.Files, x.Tools = b.sorted(files), b.sorted(tools)
		x.Stale = slices.ContainsFunc(x.Units, b.stale)
		if len(folders) == 0 || slices.ContainsFunc(folders, func(f string) bool {
			return r.under(f) || anyUnder(x.Files, f)
		}) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(x, y Built) int { return strings.Compare(x.Name+x.Hash, y.Name+y.Hash) })
	return out
}

// unit reads an assembly's source file, and adds to the files and tools that it came from.
func (b *Builds) unit(dir string, a cache.Assembly, files, tools map[string]bool) record.Unit {
	u := record.Unit{Assembly: a}
	tools[a.Ptxas] = true
	t, ok := record.LoadTranslation(b.store, a.PTX)
	if !ok {
		return u
	}
	tools[toolcmd.Inside(t.Dir, t.Cicc)] = true
	if t.Source != "" {
		u.Source = toolcmd.Inside(dir, t.Source)
	}
	for _, name := range record.SourcesOf(b.store, t) {
		if !strings.HasSuffix(name, "/") { // with -g preprocessed code names the working directory
			files[toolcmd.Inside(dir, name)] = true
		}
	}
	return u
}

// stale reports whether an assembly would be made by another ptxas now.
func (b *Builds) stale(u record.Unit) bool {
	now, asked := b.versions[u.Ptxas]
	if !asked {
		if id, err := b.store.FileKey(u.Ptxas); err == nil {
			now, _ = toolkit.VersionOf(b.store, u.Ptxas, id)
		}
		b.versions[u.Ptxas] = now
	}
	return now != u.Version
}

// sorted gives a set's names, cleaned, each string once in memory.
func (b *Builds) sorted(set map[string]bool) []string {
	var out []string
	for name := range set {
		if name == "" || !filepath.IsAbs(name) {
			continue
		}
		kept, _ := b.names.LoadOrStore(filepath.Clean(name), filepath.Clean(name))
		out = append(out, kept.(string))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func anyUnder(files []string, folder string) bool {
	below := strings.TrimSuffix(folder, "/") + "/"
	return slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, below) })
}

// Of returns where the kernel of a loaded module was built: in several places, where a project was
// built in two folders.
func (b *Builds) Of(cubin, kernel string) []Place {
	list := b.ix.Assemblies[cubin]
	if len(list) == 0 {
		if l, ok := b.ix.Link(cubin); ok {
			for _, in := range l.Inputs {
				list = append(list, b.ix.Assemblies[in.Object]...)
			}
		}
	}
	var out []Place
	for _, a := range list {
		at := slices.IndexFunc(a.Kernels, func(k cache.Kernel) bool {
			return k.Name == kernel && k.Identity != ""
		})
		if at < 0 {
			continue
		}
		c, err := record.LoadCommand(b.store, a.Command)
		if err != nil {
			continue
		}
		p := Place{Output: record.Line(c).Target(c.Dir), Identity: a.Kernels[at].Identity,
			Target: a.Target, Reloc: a.Reloc}
		if t, ok := record.LoadTranslation(b.store, a.PTX); ok && t.Source != "" {
			p.Source = toolcmd.Inside(c.Dir, t.Source)
		}
		for _, k := range a.Kernels {
			p.Beside = append(p.Beside, k.Name)
		}
		same := func(q Place) bool {
			return q.Output == p.Output && q.Source == p.Source && q.Identity == p.Identity
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, p)
		}
	}
	return out
}

// Kernels lists the kernels that files in and below a folder hold ("": everywhere), and of files
// that are gone those that were built into them last; one of each identity and name. left says of
// files with other code that it is not known here.
func Kernels(store *cache.Store, folder string) (out []record.BuiltKernel, left []string,
	err error) {
	l := look(store)
	all, err := l.recorded(Aim{Under: folder})
	if err != nil {
		return nil, nil, err
	}
	type one struct{ identity, name string }
	seen := map[one]bool{}
	add := func(a cache.Assembly) {
		for _, k := range a.Kernels {
			if id := (one{k.Identity, ptx.StableName(k.Name)}); k.Identity != "" && !seen[id] {
				seen[id] = true
				out = append(out, record.BuiltKernel{Kernel: k, Assembly: a})
			}
		}
	}
	others, err := l.found(context.Background(), folder, all)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range append(all, others...) {
		for _, a := range f.assemblies() {
			add(a)
		}
		for _, c := range f.unknown {
			if len(c.Built) > 0 {
				add(c.Built[0])
			} else if f.path == "" {
				left = append(left, f.name()+": "+strange([]witness.Code{c}))
			}
		}
	}
	slices.SortFunc(out, record.BuiltKernel.Compare)
	slices.Sort(left)
	return out, slices.Compact(left), nil
}
