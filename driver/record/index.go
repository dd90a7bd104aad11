package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gnvcc/cache"
)

// What builds wrote down, as the tuner and apply look it up: the published records and those that
// still wait in the spool.

// An Index holds the assemblies and links by their cubins' hashes.
type Index struct {
	Assemblies map[string][]cache.Assembly // newest first is not promised
	links      map[string][]cache.Link

	byCode map[string][]cache.Assembly // made by Holding
}

func cubinOf(key string) string {
	hash, _, _ := strings.Cut(key, ".")
	return hash
}

// Read reads all of it. A store without a snapshot is an empty one; damage costs the damaged
// records only.
func Read(store *cache.Store) *Index {
	ix := &Index{Assemblies: map[string][]cache.Assembly{}, links: map[string][]cache.Link{}}
	sn, err := store.Snapshot()
	if err == nil {
		defer sn.Close()
	}
	gather(store, sn, cache.Assemblies, ix.Assemblies)
	gather(store, sn, cache.Links, ix.links)
	return ix
}

// gather adds the records of a bucket by their cubins' hashes, those that can be read.
func gather[T any](store *cache.Store, sn *cache.Snapshot, bucket string, into map[string][]T) {
	take := func(key string, raw []byte) error {
		var record T
		if json.Unmarshal(raw, &record) == nil {
			into[cubinOf(key)] = append(into[cubinOf(key)], record)
		}
		return nil
	}
	sn.Each(bucket, "", take)
	store.EachPending(bucket, take)
}

// Knows reports whether a cubin is on record.
func (ix *Index) Knows(cubin string) bool {
	return len(ix.Assemblies[cubin])+len(ix.links[cubin]) > 0
}

// Assembly gives the newest assembly of a cubin.
func (ix *Index) Assembly(cubin string) (cache.Assembly, bool) {
	var newest cache.Assembly
	for _, a := range ix.Assemblies[cubin] {
		if newest.Cubin == "" || a.Time.After(newest.Time) {
			newest = a
		}
	}
	return newest, newest.Cubin != ""
}

func (ix *Index) Link(cubin string) (cache.Link, bool) {
	var newest cache.Link
	for _, l := range ix.links[cubin] {
		if newest.Cubin == "" || l.Time.After(newest.Time) {
			newest = l
		}
	}
	return newest, newest.Cubin != ""
}

// Holding gives what was built into a cubin of this content, by all commands on record, the newest
// first: an assembly that gave this very code, and one whose PTX nvcc's own compile makes this code
// of, with its kernels as nvcc makes them. code is the cubin's cubin.CodeHash, whole the hash of
// its bytes, which records of earlier versions have alone.
func (ix *Index) Holding(code, whole string) []cache.Assembly {
	if ix.byCode == nil {
		ix.byCode = map[string][]cache.Assembly{}
		for _, list := range ix.Assemblies {
			for _, a := range list {
				key := cmp.Or(a.Code, "whole "+a.Cubin)
				ix.byCode[key] = append(ix.byCode[key], a)
				if a.Own != "" && a.Own != a.Code {
					ix.byCode[a.Own] = append(ix.byCode[a.Own], own(a))
				}
			}
		}
	}
	out := slices.Concat(ix.byCode[code], ix.byCode["whole "+whole])
	slices.SortStableFunc(out, func(a, b cache.Assembly) int { return b.Time.Compare(a.Time) })
	return out
}

// own is an assembly as it would be without recipes.
func own(a cache.Assembly) cache.Assembly {
	a.Code = a.Own
	a.Kernels = slices.Clone(a.Kernels)
	for i, k := range a.Kernels {
		a.Kernels[i] = cache.Kernel{Name: k.Name, Identity: k.Identity}
	}
	return a
}

// A fresh index is read again where something was not found in it, since a build may have run
// meanwhile.
type Fresh struct {
	mu    sync.Mutex
	Store *cache.Store
	ix    *Index
	read  time.Time
}

// staleAfter is how old an index may be before a miss makes it be read again.
const staleAfter = time.Second

func (f *Fresh) Get(found func(*Index) bool) *Index {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ix == nil || !found(f.ix) && time.Since(f.read) > staleAfter {
		f.ix, f.read = Read(f.Store), time.Now()
	}
	return f.ix
}

// ByCommand groups the assemblies by command.
func (ix *Index) ByCommand() map[string][]cache.Assembly {
	out := map[string][]cache.Assembly{}
	for _, list := range ix.Assemblies {
		for _, a := range list {
			if a.Command != "" {
				out[a.Command] = append(out[a.Command], a)
			}
		}
	}
	return out
}

// Newest gives the newest of some assemblies for each source file and target.
func Newest(store *cache.Store, all []cache.Assembly) []cache.Assembly {
	units := map[string]cache.Assembly{}
	for _, a := range all {
		unit := a.Target + "\x00" + SourceOf(store, a)
		if old, ok := units[unit]; !ok || a.Time.After(old.Time) {
			units[unit] = a
		}
	}
	return slices.Collect(maps.Values(units))
}

// SourceOf names the source file of an assembly, "" where that is not known.
func SourceOf(store *cache.Store, a cache.Assembly) string {
	if t, ok := LoadTranslation(store, a.PTX); ok {
		return t.Source
	}
	return ""
}

// OutputsOf lists what a cubin was built into, by all commands on record.
func (ix *Index) OutputsOf(store *cache.Store, cubin string) []string {
	var out []string
	for _, a := range ix.Assemblies[cubin] {
		if c, err := LoadCommand(store, a.Command); err == nil {
			out = append(out, Writes(c)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Noted keeps what the newest record of a command's unit says (a source file for one target), so
// that the next build of the same writes none.
const Noted cache.Memos[string] = "noted"

// A Note is what a build writes down of one assembly.
type Note struct {
	Assembly   cache.Assembly
	Unit, Text string // of Noted
}

// Keep writes it down: the store then says that this is what was built last.
func (n Note) Keep(store *cache.Store) error {
	err := store.Spool(cache.Assemblies, AssemblyKey(n.Assembly), n.Assembly)
	if err == nil {
		err = Noted.Put(store, n.Unit, n.Text)
	}
	if err != nil {
		return fmt.Errorf("note what was built: %w", err)
	}
	return nil
}

// AssemblyKey is the key of an assembly's record: two commands may give the same cubin (a project
// built in two folders), and two PTX texts, and all are to be known. Whoever looks for a cubin
// takes all keys that begin with its hash.
func AssemblyKey(a cache.Assembly) string { return KeyOf(a.Cubin, a.Command, a.PTX) }

// KeyOf joins a cubin's hash with what else distinguishes its record.
func KeyOf(cubin string, others ...string) string {
	for _, other := range others {
		if other != "" {
			cubin += "." + other[:min(len(other), 16)]
		}
	}
	return cubin
}

// A Unit is one compile of device code: a source file for one target.
type Unit struct {
	cache.Assembly
	Source string // the user's file, absolute; "" where it is not known
}
