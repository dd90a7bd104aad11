package driver

import (
	"encoding/json"
	"errors"
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
