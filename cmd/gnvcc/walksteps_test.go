package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The steps of TestWalk. Each does something to the world and the same to the model.

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// step makes one of them, and gives its name.
func (w *walk) step() string {
	steps := []struct {
		often int
		name  string
		run   func()
	}{
		{14, "edit", w.stepEdit}, {26, "build", w.stepBuild}, {8, "nvcc", w.stepNvcc},
		{9, "pin", w.stepPin}, {3, "pin --none", w.stepUnpin}, {2, "pin --without", w.stepBan},
		{9, "apply", func() { w.stepApply(false) }}, {5, "revert", func() { w.stepApply(true) }},
		{2, "clean", w.stepClean}, {1, "clean --all", w.stepCleanAll}, {3, "lock", w.stepLock},
		{3, "move folder", w.stepMoveFolder}, {4, "copy", w.stepCopy}, {2, "copy folder", w.stepCopyFolder},
		{3, "remove", w.stepRemove}, {4, "archive", w.stepArchive}, {2, "link", w.stepLink}, {4, "two at once", w.stepTwo},
		{5, "kill", w.stepKill}, {2, "kill apply", w.stepKillApply},
	}
	total := 0
	for _, s := range steps {
		total += s.often
	}
	n := w.rng.IntN(total)
	for _, s := range steps {
		if n -= s.often; n < 0 {
			s.run()
			return s.name
		}
	}
	return ""
}

func (w *walk) anyCmdline() cmdline {
	c := cmdline{pick(w.rng, w.folders), w.rng.IntN(inCUDA), w.rng.IntN(3)}
	if w.rng.IntN(12) == 0 { // it takes twenty times as long
		c.source, c.kind = inCUDA, 3
	}
	return c
}

func (w *walk) paths() []string { return slices.Sorted(maps.Keys(w.files)) }

func (w *walk) stepEdit() {
	w.edit(pick(w.rng, w.folders), w.rng.IntN(sourceCount), w.rng.IntN(variants))
}

func (w *walk) stepBuild() { w.build(w.anyCmdline()) }

func (w *walk) build(c cmdline) {
	w.run(filepath.Join(w.root, c.folder), "gnvcc", c.args()...)
	w.didBuild(c)
}

// didBuild tells the model of a build that has come to its end.
func (w *walk) didBuild(c cmdline) {
	w.files[c.output()] = w.built(c, func(j task) string { return w.wants(c.folder, j) }, false)
	w.last[c.output()], w.unsure[c.output()] = c, false
	w.note("%v", c)
}

// stepNvcc builds with nvcc itself, which nobody hears of.
func (w *walk) stepNvcc() {
	c := w.anyCmdline()
	w.run(filepath.Join(w.root, c.folder), w.nvcc, c.args()...)
	f := heldFile{object: c.kind == 3}
	for _, j := range c.tasks(w.sources[fmt.Sprintf("%s/k%d", c.folder, c.source)]) {
		f.codes = append(f.codes, code{j, ""})
	}
	w.files[c.output()] = f
	w.note("%v", c)
}

// stepPin pins a recipe where the kernel is on record; else it fails, as it should.
func (w *walk) stepPin() {
	j, recipe := pick(w.rng, w.allTasks()), pick(w.rng, recipes)
	if w.verbs([]string{"pin", w.identities[j], recipe})[0].Code == 0 {
		w.pins[j] = recipe
		w.note("%v: %s", j, recipe)
	}
}

func (w *walk) allTasks() []task {
	return slices.SortedFunc(maps.Keys(w.identities), func(a, b task) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

func (w *walk) stepUnpin() {
	j := pick(w.rng, w.allTasks())
	if w.verbs([]string{"pin", w.identities[j], "--none"})[0].Code == 0 {
		delete(w.pins, j)
		w.note("%v", j)
	} else {
		w.note("%v not: %s", j, w.text)
	}
}

// stepBan bans a lever for all kernels of a name, or takes back what was decided for them by hand.
func (w *walk) stepBan() {
	s, name := w.rng.IntN(sourceCount), ""
	name = fmt.Sprintf("k%d", s)
	if lever := w.banned[s]; lever != "" {
		if w.verbs([]string{"pin", name, "--none", "--all"})[0].Code == 0 {
			delete(w.banned, s)
			maps.DeleteFunc(w.pins, func(j task, _ string) bool { return j.source == s })
		}
	} else if w.verbs([]string{"pin", name, "--without", "hint"})[0].Code == 0 {
		w.banned[s] = "hint"
	}
}

func (w *walk) stepApply(own bool) {
	verb := "apply"
	if own {
		verb = "revert"
	}
	e := w.expect(w.alive)
	s := w.verbs([]string{verb})[0]
	left, unsure := false, false
	for _, x := range e {
		unsure = unsure || x.unsure
		w.settle(x, w.applied(x, own))
	}
	if own && !unsure {
		for _, x := range w.expect(w.alive) {
			l, _ := w.remains(x)
			left = left || l
		}
		if (s.Code != 0) != left {
			w.t.Errorf("revert: exit code %d, left alone: %v\n%s", s.Code, left, s.Text)
		}
	}
}

// settle takes a file's new content; where a build was killed before, what is there decides.
func (w *walk) settle(e expected, f heldFile) {
	if _, there := w.files[e.path]; !there {
		return
	}
	if e.unsure {
		f = w.observed(e.path, append(w.otherwise(e), w.files[e.path], f)...)
	}
	w.files[e.path] = f
}

// otherwise is what an apply or a revert gives by another record of the same machine code than the
// newest: of a build that was killed nobody knows whether it was noted.
func (w *walk) otherwise(e expected) (may []heldFile) {
	now := w.files[e.path]
	for n := 0; e.by != nil && len(e.kernels) == len(now.codes); n++ {
		f, more := now, false
		f.codes = slices.Clone(now.codes)
		for i, x := range e.kernels {
			list := w.holding(x.holds, func(c cmdline) bool { return c == *e.by })
			if n < len(list) {
				more = true
				f.codes[i] = code{list[n].task, w.wants(e.by.folder, list[n].task)}
			}
		}
		if !more {
			break
		}
		may = append(may, f)
	}
	return may
}

// observed is which of several contents a file has.
func (w *walk) observed(path string, may ...heldFile) heldFile {
	got := w.heldIn(path)
	for _, f := range may {
		if !f.damaged && len(f.codes) > 0 && slices.EqualFunc(f.codes, got, func(k code,
			hash string) bool {
			return w.machine[k] == hash
		}) {
			return f
		}
	}
	return heldFile{damaged: true}
}

// stepClean forgets what is gone.
func (w *walk) stepClean() {
	w.verbs([]string{"doctor", "--clean"})
	for r := range w.records {
		if _, there := w.files[r.output()]; !there {
			delete(w.records, r)
		}
	}
}

// stepCleanAll forgets all builds; recipes stay.
func (w *walk) stepCleanAll() {
	w.verbs([]string{"doctor", "--clean=all"})
	clear(w.records)
	clear(w.last)
	clear(w.unsure)
}

// stepLock lets a folder go by a lock file, or by the store again.
func (w *walk) stepLock() {
	folder := pick(w.rng, w.folders)
	full := filepath.Join(w.root, folder)
	if _, ok := w.locks[folder]; ok {
		if w.verbs([]string{"lock", "--off", full})[0].Code == 0 {
			delete(w.locks, folder)
		}
		return
	}
	w.moved++
	path := filepath.Join(w.root, "..", fmt.Sprintf("lock%d", w.moved))
	s := w.verbs([]string{"export", "-o", path}, []string{"lock", path, full})
	if s[0].Code == 0 && s[1].Code == 0 {
		w.locks[folder] = w.lines(path)
		w.note("%s: %v", folder, w.locks[folder])
	}
}

func (w *walk) stepMoveFolder() {
	at := w.rng.IntN(len(w.folders))
	old := w.folders[at]
	w.moved++
	w.folders[at] = fmt.Sprintf("m%d", w.moved)
	w.must(os.Rename(filepath.Join(w.root, old), filepath.Join(w.root, w.folders[at])))
	w.carry(old, w.folders[at], true)
	w.note("%s -> %s", old, w.folders[at])
}

// carry tells the model that a folder was moved or copied.
func (w *walk) carry(from, to string, away bool) {
	for path, f := range maps.Clone(w.files) {
		if rest, ok := strings.CutPrefix(path, from+"/"); ok {
			w.files[to+"/"+rest] = f
			if away {
				delete(w.files, path)
			}
		}
	}
	for base, v := range maps.Clone(w.sources) {
		if rest, ok := strings.CutPrefix(base, from+"/"); ok {
			w.sources[to+"/"+rest] = v
			if away {
				delete(w.sources, base)
			}
		}
	}
}

// stepCopyFolder copies a folder over the place of another, or back to where one was.
func (w *walk) stepCopyFolder() {
	from, to := w.folders[0], w.folders[1]
	if w.rng.IntN(2) == 0 {
		from, to = to, from
	}
	for path := range w.files {
		if strings.HasPrefix(path, to+"/") {
			delete(w.files, path)
		}
	}
	w.must(os.RemoveAll(filepath.Join(w.root, to)))
	w.must(os.CopyFS(filepath.Join(w.root, to), os.DirFS(filepath.Join(w.root, from))))
	w.carry(from, to, false)
}

// stepCopy copies or renames a file: over an output, or under a name that nobody writes.
func (w *walk) stepCopy() {
	if len(w.files) == 0 {
		return
	}
	from := pick(w.rng, w.paths())
	to := fmt.Sprintf("%s/copy%d", pick(w.rng, w.folders), w.rng.IntN(2))
	if w.rng.IntN(2) == 0 {
		to = w.anyCmdline().output()
	}
	if from == to || w.files[from].made() && filepath.Ext(to) != "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(w.root, from))
	w.must(err)
	full := filepath.Join(w.root, to)
	os.Remove(full)
	w.must(os.WriteFile(full, text, 0o644))
	w.files[to] = w.files[from]
	w.note("%s -> %s", from, to)
	if w.rng.IntN(3) == 0 {
		w.must(os.Remove(filepath.Join(w.root, from)))
		delete(w.files, from)
	}
}

func (w *walk) stepRemove() {
	if len(w.files) > 0 {
		path := pick(w.rng, w.paths())
		w.must(os.Remove(filepath.Join(w.root, path)))
		delete(w.files, path)
	}
}

// stepArchive puts what is in a folder into a static library.
func (w *walk) stepArchive() {
	folder := pick(w.rng, w.folders)
	to := folder + "/lib.a"
	args := []string{"rc", "lib.a"}
	var f heldFile
	for _, path := range w.paths() {
		ext := filepath.Ext(path)
		if filepath.Dir(path) == folder && (ext == ".cubin" || ext == ".o") && !w.files[path].damaged {
			args = append(args, filepath.Base(path))
			f.codes = append(f.codes, w.files[path].codes...)
		}
	}
	if len(f.codes) > 0 {
		f.archive = true
		os.Remove(filepath.Join(w.root, to))
		w.run(filepath.Join(w.root, folder), "ar", args...)
		w.files[to] = f
	}
}

// stepLink makes a program of the object with a main, which is built first where there is none.
func (w *walk) stepLink() {
	c := cmdline{pick(w.rng, w.folders), inCUDA, 3}
	if f := w.files[c.output()]; !f.object || f.damaged || w.unsure[c.output()] {
		w.build(c)
	}
	w.run(filepath.Join(w.root, c.folder), "gnvcc", "-arch=sm_90", "k2.o", "-o", "app")
	w.files[c.folder+"/app"] = heldFile{codes: w.files[c.output()].codes, program: true}
}

// stepTwo runs two builds at once, or a build and an apply.
func (w *walk) stepTwo() {
	a, b := w.anyCmdline(), w.anyCmdline()
	if a.output() == b.output() { // nvcc itself would write half of each
		return
	}
	first := w.command(filepath.Join(w.root, a.folder), "gnvcc", a.args()...)
	w.must(first.Start())
	w.run(filepath.Join(w.root, b.folder), "gnvcc", b.args()...)
	w.must(first.Wait())
	w.didBuild(a)
	w.didBuild(b)
}

// killed runs a command and kills it, with all that it started.
func (w *walk) killed(dir, name string, args ...string) {
	cmd := w.command(dir, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.must(cmd.Start())
	time.Sleep(time.Duration(w.rng.IntN(120)) * time.Millisecond)
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()
}

// stepKill kills a build.
func (w *walk) stepKill() {
	c := w.anyCmdline()
	old, there := w.files[c.output()]
	w.killed(filepath.Join(w.root, c.folder), "gnvcc", c.args()...)
	now := w.built(c, func(j task) string { return w.wants(c.folder, j) }, true)
	w.unsure[c.output()] = true
	w.note("%v", c)
	if _, err := os.Stat(filepath.Join(w.root, c.output())); err != nil {
		if there {
			delete(w.files, c.output()) // nvcc removes what it is about to write
		}
		return
	}
	w.files[c.output()] = w.observed(c.output(), old, now)
}

// stepKillApply kills an apply or a revert; the next one sees to it.
func (w *walk) stepKillApply() {
	own := w.rng.IntN(2) == 0
	verb := "apply"
	if own {
		verb = "revert"
	}
	e := w.expect(w.alive)
	w.killed(w.root, "gnvcc", verb)
	// Children of an apply are groups of their own, and end when it does.
	time.Sleep(150 * time.Millisecond)
	for _, x := range e {
		old, there := w.files[x.path]
		if !there {
			continue
		}
		records := maps.Clone(w.records)
		now := w.applied(x, own)
		for r, n := range w.records {
			if records[r] != n {
				w.records[r] = noted{n.at, true}
				w.unsure[x.path] = true
			}
		}
		w.files[x.path] = w.observed(x.path, old, now)
		if old.damaged {
			w.files[x.path] = old
		}
	}
}
