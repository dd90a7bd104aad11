package main

import (
	"cmp"
	"fmt"
	"slices"
)

// The model of TestWalk: what is in each file, what is on record, and what follows from these two
// for every verb. It knows nothing of how gnvcc finds that out.

// A task is a source as one call of ptxas compiles it.
type task struct {
	source, variant int // k0, k1, k2; what stands in it
	level           int // 0: ptxas' own, 1: -O1
	target          int // 80 for sm_80
}

// A code is what a task gives with a recipe, "" for nvcc's own. Two codes may be the same machine
// code: variant 2 of a source is variant 0 and an instruction that nobody needs.
type code struct {
	task
	recipe string
}

// tasksOf are all of a source with that in it.
func tasksOf(source, variant int) []task {
	if source == inCUDA {
		return []task{{source, variant, 0, 90}}
	}
	return []task{{source, variant, 0, 80}, {source, variant, 1, 80}, {source, variant, 0, 86}}
}

// A cmdline is a command that compiles a source. Kinds 0 and 1 write the same file; kind 3 is the
// one for CUDA.
type cmdline struct {
	folder string
	source int
	kind   int
}

func (c cmdline) output() string {
	ext := []string{"cubin", "cubin", "fatbin", "o"}[c.kind]
	return fmt.Sprintf("%s/k%d.%s", c.folder, c.source, ext)
}

// tasks are what the command compiles of a variant of its source.
func (c cmdline) tasks(variant int) []task {
	switch c.kind {
	case 1:
		return []task{{c.source, variant, 1, 80}}
	case 2:
		return []task{{c.source, variant, 0, 80}, {c.source, variant, 0, 86}}
	case 3:
		return []task{{c.source, variant, 0, 90}}
	}
	return []task{{c.source, variant, 0, 80}}
}

// A file is what lies under a path.
type heldFile struct {
	codes   []code
	damaged bool // half written by a process that was killed
	object  bool // with host code
	archive bool
	program bool
}

// made tells whether a file is made of others.
func (f heldFile) made() bool { return f.archive || f.program }

// A recording is a build that gnvcc has seen.
type recording struct {
	cmdline
	code
}

// A noted is when it was; maybe: the build was killed, and nobody knows whether it was noted.
type noted struct {
	at    int
	maybe bool
}

// A model is all that the verbs should know.
type model struct {
	now     int
	sources map[string]int // variant by path without extension
	files   map[string]heldFile
	records map[recording]noted
	last    map[string]cmdline // which command ran last, by output
	unsure  map[string]bool    // outputs of which even that is not known
	pins    map[task]string
	banned  map[int]string             // a lever by source
	locks   map[string]map[task]string // by folder
	same    func(a, b code) bool       // whether two are the same machine code
}

// wants is the recipe that a build of a task takes in a folder.
func (m *model) wants(folder string, j task) string {
	if lock, ok := m.locks[folder]; ok {
		return lock[j]
	}
	recipe := m.pins[j]
	if lever := m.banned[j.source]; lever != "" && len(recipe) > len(lever) &&
		recipe[:len(lever)] == lever {
		return ""
	}
	return recipe
}

// built notes what a command gives now, and gives that.
func (m *model) built(c cmdline, recipe func(task) string, maybe bool) heldFile {
	m.now++
	f := heldFile{object: c.kind == 3}
	for _, j := range c.tasks(m.sources[fmt.Sprintf("%s/k%d", c.folder, c.source)]) {
		k := code{j, recipe(j)}
		f.codes = append(f.codes, k)
		if r := (recording{c, k}); !maybe || m.records[r].at == 0 {
			m.records[r] = noted{m.now, maybe}
		}
		if own := (recording{c, code{j, ""}}); k.recipe != "" && m.records[own].at == 0 && maybe {
			m.records[own] = noted{m.now, true}
		}
	}
	return f
}

// A holding1 is a record of some code: the task that it was built from, and with which recipe.
type holding1 struct {
	recording
	noted
}

// holding are the records of a machine code, the newest first. A build with a recipe tells what
// nvcc's own gives, too.
func (m *model) holding(k code, of func(cmdline) bool) (out []holding1) {
	for r, n := range m.records {
		if !of(r.cmdline) {
			continue
		}
		if m.same(r.code, k) {
			out = append(out, holding1{r, n})
		}
		own := recording{r.cmdline, code{r.task, ""}}
		if _, ok := m.records[own]; !ok && r.recipe != "" && m.same(own.code, k) {
			out = append(out, holding1{own, n})
		}
	}
	slices.SortFunc(out, func(a, b holding1) int { return b.at - a.at })
	return out
}

func anyone(cmdline) bool { return true }

// An expected is what status is to say of a file.
type expected struct {
	path    string
	by      *cmdline // that is thought to have made it; nil: none is known
	state   string
	kernels []expectedKernel
	unsure  bool // a build was killed: what is on record is not known
}

type expectedKernel struct {
	holds   code
	unknown bool
	as      holding1 // the record that counts
	wanted  string
}

// expect says what status is to say of all paths where there is something to say.
func (m *model) expect(alive func(folder string) bool) (out []expected) {
	paths := map[string]bool{}
	for path := range m.files {
		paths[path] = true
	}
	for r := range m.records {
		paths[r.output()] = true
	}
	for path := range paths {
		if e := m.at(path, alive); !m.files[path].program || len(e.kernels) > 0 {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b expected) int { return cmp.Compare(a.path, b.path) })
	return out
}

// at says what status is to say of a path.
func (m *model) at(path string, alive func(folder string) bool) expected {
	e := expected{path: path, state: "alone"}
	writers := map[cmdline]int{} // when each wrote something last
	for r, n := range m.records {
		if r.output() == path {
			writers[r.cmdline] = max(writers[r.cmdline], n.at)
			e.unsure = e.unsure || n.maybe
		}
	}
	f, there := m.files[path]
	if !there { // a file that is gone; nothing is said of what it holds
		return e
	}
	explains := func(c cmdline) bool {
		for _, k := range f.codes {
			if len(m.holding(k, func(o cmdline) bool { return o == c })) == 0 {
				return false
			}
		}
		return !f.damaged && len(f.codes) > 0
	}
	rank := func(c cmdline) int {
		n := writers[c]
		if m.last[path] == c {
			n += 1e6
		}
		if explains(c) {
			n += 1e7
		}
		return n
	}
	for c := range writers {
		if e.by == nil || rank(c) > rank(*e.by) {
			e.by = &c
		}
	}
	e.unsure = e.unsure || m.unsure[path]
	made := e.by != nil && explains(*e.by)
	pending := false
	for _, k := range f.codes {
		x := expectedKernel{holds: k}
		of := anyone
		if made {
			of = func(o cmdline) bool { return o == *e.by }
		}
		list := m.holding(k, of)
		if x.unknown = len(list) == 0; x.unknown && f.program {
			continue // somebody else's
		}
		if !x.unknown {
			x.as = list[0]
			for _, h := range list {
				e.unsure = e.unsure || h.maybe
			}
			x.wanted = x.as.recipe
		}
		if made {
			x.wanted = m.wants(e.by.folder, x.as.task)
			pending = pending || x.wanted != x.as.recipe
		}
		e.kernels = append(e.kernels, x)
	}
	switch {
	case !made || !alive(e.by.folder):
	case pending:
		e.state = "pending"
	default:
		e.state = "as wanted"
	}
	return e
}

// applied says what apply, or with own revert, makes of a file.
func (m *model) applied(e expected, own bool) heldFile {
	f := m.files[e.path]
	isOwn := len(f.codes) > 0 && !f.damaged
	for _, x := range e.kernels {
		isOwn = isOwn && !x.unknown && x.as.recipe == ""
	}
	wants := func(j task) string {
		if own {
			return ""
		}
		return m.wants(e.by.folder, j)
	}
	switch {
	case len(f.codes) == 0 && !f.damaged:
		return f // it is gone
	case own && isOwn, e.state == "alone":
		return f
	}
	todo := false
	for _, x := range e.kernels {
		todo = todo || wants(x.as.task) != x.as.recipe
	}
	if !todo {
		return f
	}
	// It runs as it was built, and has to give what is there.
	wanted := map[task]string{}
	for _, x := range e.kernels {
		wanted[x.as.task] = wants(x.as.task)
	}
	tasks := e.by.tasks(m.sources[fmt.Sprintf("%s/k%d", e.by.folder, e.by.source)])
	for i, j := range tasks {
		was := code{j, ""}
		if x := e.kernels[i].as; x.task == j {
			was.recipe = x.recipe
		}
		// An object has PTX and host code beside the machine code, and so shows any edit.
		if !m.same(was, f.codes[i]) || f.object && j != f.codes[i].task {
			return f // left alone: the source is another one now
		}
	}
	return m.built(*e.by, func(j task) string { return wanted[j] }, e.unsure)
}
