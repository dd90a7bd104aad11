package driver

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"gnvcc/cache"
)

// What builds wrote down, as the tuner and apply look it up: the published records and those that still wait in the spool.

// An index holds the assemblies and links by their cubins' hashes.
type index struct {
	assemblies map[string][]cache.Assembly // newest first is not promised
	links      map[string][]cache.Link
	problems   []error
}

func cubinOf(key string) string {
	hash, _, _ := strings.Cut(key, ".")
	return hash
}

// readIndex reads all of it. A store without a snapshot is an empty one; damage costs the damaged records only.
func readIndex(store *cache.Store) *index {
	ix := &index{assemblies: map[string][]cache.Assembly{}, links: map[string][]cache.Link{}}
	takeAssembly := func(key string, raw []byte) error {
		var a cache.Assembly
		if err := json.Unmarshal(raw, &a); err != nil {
			ix.problems = append(ix.problems, err)
		} else {
			ix.assemblies[cubinOf(key)] = append(ix.assemblies[cubinOf(key)], a)
		}
		return nil
	}
	takeLink := func(key string, raw []byte) error {
		var l cache.Link
		if err := json.Unmarshal(raw, &l); err != nil {
			ix.problems = append(ix.problems, err)
		} else {
			ix.links[cubinOf(key)] = append(ix.links[cubinOf(key)], l)
		}
		return nil
	}
	problem := func(err error) {
		if err != nil && !errors.Is(err, cache.ErrNone) {
			ix.problems = append(ix.problems, err)
		}
	}
	sn, err := store.Snapshot()
	problem(err)
	if err == nil {
		defer sn.Close()
		problem(sn.Each(cache.Assemblies, "", takeAssembly))
		problem(sn.Each(cache.Links, "", takeLink))
	}
	problem(store.EachPending(cache.Assemblies, takeAssembly))
	problem(store.EachPending(cache.Links, takeLink))
	return ix
}

// assembly gives the newest assembly of a cubin.
func (ix *index) assembly(cubin string) (cache.Assembly, bool) {
	var newest cache.Assembly
	for _, a := range ix.assemblies[cubin] {
		if newest.Cubin == "" || a.Time.After(newest.Time) {
			newest = a
		}
	}
	return newest, newest.Cubin != ""
}

func (ix *index) link(cubin string) (cache.Link, bool) {
	var newest cache.Link
	for _, l := range ix.links[cubin] {
		if newest.Cubin == "" || l.Time.After(newest.Time) {
			newest = l
		}
	}
	return newest, newest.Cubin != ""
}

// A fresh index is read again where something was not found in it, since a build may have run meanwhile.
type freshIndex struct {
	mu    sync.Mutex
	store *cache.Store
	ix    *index
	read  time.Time
}

// staleAfter is how old an index may be before a miss makes it be read again.
const staleAfter = time.Second

func (f *freshIndex) get(found func(*index) bool) *index {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ix == nil || !found(f.ix) && time.Since(f.read) > staleAfter {
		f.ix, f.read = readIndex(f.store), time.Now()
	}
	return f.ix
}

// byCommand groups the assemblies by command, the newest of each source file and target.
func (ix *index) byCommand(store *cache.Store) map[string]map[string]cache.Assembly {
	out := map[string]map[string]cache.Assembly{}
	for _, list := range ix.assemblies {
		for _, a := range list {
			if a.Command == "" {
				continue
			}
			unit := a.Target + "\x00" + sourceOf(store, a)
			units := out[a.Command]
			if units == nil {
				units = map[string]cache.Assembly{}
				out[a.Command] = units
			}
			if old, ok := units[unit]; !ok || a.Time.After(old.Time) {
				units[unit] = a
			}
		}
	}
	return out
}

// sourceOf names the source file of an assembly, "" where that is not known.
func sourceOf(store *cache.Store, a cache.Assembly) string {
	if t, ok := loadTranslation(store, a.PTX); ok {
		return t.Source
	}
	return ""
}

// outputsOf lists what a cubin was built into, by all commands on record.
func (ix *index) outputsOf(store *cache.Store, cubin string) []string {
	var out []string
	for _, a := range ix.assemblies[cubin] {
		if c, err := loadCommand(store, a.Command); err == nil {
			out = append(out, writes(c)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// memoNoted keeps what the store knows of a job by a command.
const memoNoted cache.Memos[string] = "noted"

// assemblyKey is the key of an assembly's record: two commands may give the same cubin (a project built in two folders),
// and both are to be known. Whoever looks for a cubin takes all keys that begin with its hash.
func assemblyKey(cubinHash, command string) string {
	if command == "" {
		return cubinHash
	}
	return cubinHash + "." + command[:16]
}
