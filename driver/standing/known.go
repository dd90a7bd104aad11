package standing

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gnvcc/cache"
	"gnvcc/driver/environment"
)

// What builds look recipes up in. That is one of two things:
//
//   - a lock file, where the build names one (GNVCC_LOCK) or the user has named one for its folder
//     (gnvcc lock): that alone, without pins, bans and decisions of any store, so that all machines
//     build the same
//   - the user's own store, and behind it, for kernels that it has nothing measured of, those of
//     others (GNVCC_STORE), and what was pulled from a registry (gnvcc pull): of these decisions
//     and bans only. What another user has pinned was not measured, and what he approximates he
//     has asked for.
//
// Nothing else of another's store is opened: what is compiled by its recipes is compiled here, with
// every check of a build.

// A Known is such a thing, opened.
type Known struct {
	own    *cache.Snapshot   // nil: nothing
	others []*cache.Snapshot // those of others
	dirs   []string          // their folders

	Lock   string // path of the lock file that counts, "" for none
	locked map[string][]cache.Decision
	// Problem says why the lock file can't be read: then nothing is known, and every kernel is nvcc's
	// own.
	Problem error
	Missing []error // shared stores that can't be read, with the reasons
}

// KnownAt opens what a build in dir looks recipes up in; env is the build's. It always gives
// something to ask, and takes no lock.
func KnownAt(store *cache.Store, dir string, env *environment.Environment) (*Known, error) {
	own, err := store.Snapshot()
	file, why := lockFor(own, dir, env)
	if why == nil && file == "" {
		kn := &Known{own: own}
		kn.openOthers(store)
		if len(kn.others) > 0 && errors.Is(err, cache.ErrNone) {
			err = nil
		}
		return kn, err
	}
	own.Close()
	return lockedBy(file, why), nil
}

// lockedBy is what a lock file says; why: it can't be read.
func lockedBy(file string, why error) *Known {
	kn := &Known{Lock: file, Problem: why}
	if why == nil {
		kn.locked, kn.Problem = openLock(file)
	}
	return kn
}

// Key is a hash of all that decides which recipes a build in dir takes, for caches of what the
// tools give: the lock file, or each store's list, and the GPU that is built for.
func Key(store *cache.Store, dir string, env *environment.Environment) (string, error) {
	kn, _ := KnownAt(store, dir, env)
	files := []string{kn.Lock}
	if kn.Lock == "" {
		files[0] = store.RecipesPath()
		for _, dir := range kn.dirs {
			files = append(files, cache.RecipesIn(dir))
		}
	}
	kn.Close()
	if kn.Problem != nil {
		return "", kn.Problem
	}
	parts := append([]string{"recipes 1", env.Device}, gpus()...)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("read the list of recipes: %w", err)
		}
		parts = append(parts, cache.Hash(text))
	}
	return cache.HashOf(parts...), nil
}

// KnownOf is what a snapshot of one's own says, with the stores of others behind it.
func KnownOf(store *cache.Store, own *cache.Snapshot) *Known {
	kn := &Known{own: own}
	kn.openOthers(store)
	return kn
}

// openOthers opens the stores behind one's own, those that the user names first. One that can't be
// read is as good as none.
func (kn *Known) openOthers(store *cache.Store) {
	dirs, err := cache.Others()
	if err != nil {
		kn.Missing = append(kn.Missing, err)
	}
	open := store.Other
	for i, dir := range append(dirs, store.Remotes()...) {
		if i == len(dirs) { // what was pulled lies in one's own
			open = cache.OtherSnapshot
		}
		sn, err := open(dir)
		if err != nil {
			kn.Missing = append(kn.Missing, fmt.Errorf("the shared store %s is left out: %w", dir, err))
			continue
		}
		kn.others, kn.dirs = append(kn.others, sn), append(kn.dirs, dir)
	}
}

// snapshots are all of them, one's own first.
func (kn *Known) snapshots() []*cache.Snapshot {
	if kn == nil {
		return nil
	}
	return append([]*cache.Snapshot{kn.own}, kn.others...)
}

// Close gives the files back.
func (kn *Known) Close() {
	for _, sn := range kn.snapshots() {
		sn.Close()
	}
}

// Dirs are the folders of the stores of others that could be opened.
func (kn *Known) Dirs() []string { return kn.dirs }

// from is cache.Decision.From for what a snapshot has.
func (kn *Known) from(snapshot int) string {
	if snapshot > 0 {
		return kn.dirs[snapshot-1]
	}
	return ""
}

// All lists what counts here for some build, for people: pins; of kernels without one, the user's
// own decisions, and those of shared stores on kernels and GPUs that no store before has measured;
// predictions of kernels on which nothing was decided. Beside an error there is what could be read.
func (kn *Known) All() (all []cache.Decision, problems error) {
	if kn.Lock != "" {
		for _, identity := range slices.Sorted(maps.Keys(kn.locked)) {
			all = append(all, kn.locked[identity]...)
		}
		return all, nil
	}
	pinned, known, measured := map[string]bool{}, map[string]bool{}, map[string]bool{}
	each := func(bucket string, fn func(d cache.Decision)) {
		problems = errors.Join(problems, kn.own.Each(bucket, "", func(key string, raw []byte) error {
			var d cache.Decision
			if err := json.Unmarshal(raw, &d); err != nil {
				return fmt.Errorf("%s %s can't be read: %w", bucket, key, err)
			}
			fn(d)
			return nil
		}))
	}
	each(cache.Pins, func(d cache.Decision) {
		pinned[d.Identity], known[d.Identity] = true, true
		all = append(all, d)
	})
	for i, sn := range kn.snapshots() {
		list, err := sn.AllDecisions()
		problems = errors.Join(problems, err)
		for _, d := range list {
			if i > 0 && (!d.Measured() || measured[d.Key()] || d.Approximate()) {
				continue
			}
			measured[d.Key()] = measured[d.Key()] || d.Measured()
			if d.From = kn.from(i); !pinned[d.Identity] {
				known[d.Identity] = true
				all = append(all, d)
			}
		}
	}
	each(cache.Predictions, func(d cache.Decision) {
		if d.Predicted = true; !known[d.Identity] {
			all = append(all, d)
		}
	})
	return all, problems
}

// lockFor says which lock file a build in dir goes by, "" for none.
func lockFor(own *cache.Snapshot, dir string, env *environment.Environment) (string, error) {
	switch file := env.Lock; {
	case file == "0":
		return "", nil
	case file != "" && !filepath.IsAbs(file):
		// Relative, it would be another file in each folder that a build runs in.
		return file, fmt.Errorf("GNVCC_LOCK is %q: give it an absolute path", file)
	case file != "":
		return filepath.Clean(file), nil
	}
	l, _ := LockOf(own, dir)
	return l.File, nil
}

// LockOf finds the lock file that the user has named for a folder, or the nearest one above it.
func LockOf(own *cache.Snapshot, dir string) (cache.LockFile, bool) {
	var l cache.LockFile
	if dir == "" || !hasLocks(own) {
		return l, false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for ; ; dir = filepath.Dir(dir) {
		if ok, err := own.Get(cache.Locks, LockKey(dir), &l); err == nil && ok && l.File != "" {
			return l, true
		}
		if dir == "/" || dir == "." {
			return cache.LockFile{}, false
		}
	}
}

// LockKey is the key of a folder's lock file.
func LockKey(folder string) string { return cache.Hash([]byte(folder)) }

// hasLocks reports whether any was named: one look where there is none.
func hasLocks(own *cache.Snapshot) bool {
	some := errors.New("there are")
	return errors.Is(own.Each(cache.Locks, "", func(string, []byte) error { return some }), some)
}

// Several are those of several builds, each opened once.
type Several struct {
	Store *cache.Store
	by    map[string]*Known // by lock file, "" without
}

// At gives that of a build in dir.
func (ks *Several) At(dir string, env *environment.Environment) *Known {
	if ks.by == nil {
		ks.by = map[string]*Known{}
	}
	plain, ok := ks.by[""]
	if !ok {
		plain, _ = KnownAt(ks.Store, "", environment.Of(nil))
		ks.by[""] = plain
	}
	file, err := lockFor(plain.own, dir, env)
	if err == nil && file == "" {
		return plain
	}
	kn, ok := ks.by[file]
	if !ok {
		kn = lockedBy(file, err)
		ks.by[file] = kn
	}
	return kn
}

// Close gives the files back.
func (ks *Several) Close() {
	for _, kn := range ks.by {
		kn.Close()
	}
}
