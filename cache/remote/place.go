package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"gnvcc/cache"
)

// Where a remote lies, in the store of whoever pulls:
//
//	remotes/NAME/remote.json         what it is, and what was pulled last of each tag
//	remotes/NAME/blobs/sha256/       manifests, indices and shards as they came
//	remotes/NAME/decisions.snapshot  all of them merged; what builds read
//	remotes/NAME/recipes             for compiler caches
//	remotes/NAME/lock                flock: one pull at a time
//
// The snapshot is put into place by one rename, and remote.json after it: a pull that is killed in
// between is done again by the next one.

const (
	stateName = "remote.json"
	lockName  = "lock"
)

// A Remote is one that was pulled, or is about to be.
type Remote struct {
	Name      string
	Reference string // host/repo, or host/repo:tag
	Keys      string // file with the keys that have to have signed, "" for none
	Pulled    time.Time
	Tags      map[string]Tag

	dir   string
	lock  *os.File
	mu    sync.Mutex
	sound map[string][]cache.Arrived // shards that were unpacked, by what is said of them
}

// A Tag is what was pulled of one publisher.
type Tag struct {
	Digest string // of the manifest, as the registry calls it
	Index  []byte // as it came
	Signed string `json:",omitempty"` // the key, "" without
}

var nameText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$`)
})

// NameOf is what a remote is called here: the repository without its host, and the tag.
func NameOf(reference string) string {
	_, name, _ := strings.Cut(reference, "/")
	return strings.NewReplacer("/", "-", ":", "-").Replace(name)
}

// Open locks a remote for a pull, and makes its folder. One with another reference is refused.
func Open(store *cache.Store, name, reference string) (*Remote, error) {
	if !nameText().MatchString(name) {
		return nil, fmt.Errorf("%q is no name for a remote: letters, digits, . _ -, at most 200", name)
	}
	if err := store.Writable(); err != nil {
		return nil, err
	}
	dir := filepath.Join(store.RemotesDir(), name)
	if err := os.MkdirAll(Blobs(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the remote: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		lock.Close()
		return nil, fmt.Errorf("another gnvcc pulls %s just now", name)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the remote %s: %w", name, err)
	}
	r, err := read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		r, err = &Remote{Name: name, Reference: reference, Tags: map[string]Tag{}, dir: dir}, nil
	}
	if err == nil && reference != "" && r.Reference != reference && len(r.Tags) == 0 {
		r.Reference, r.Keys = reference, "" // nothing ever came from there
	}
	if err == nil && reference != "" && r.Reference != reference {
		err = fmt.Errorf("%s is %s already: gnvcc pull --remove %s makes room", name, r.Reference, name)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	r.lock = lock
	return r, nil
}

// Close lets others pull.
func (r *Remote) Close() {
	syscall.Flock(int(r.lock.Fd()), syscall.LOCK_UN) // a forked child that hasn't called exec yet has the file, too
	r.lock.Close()
}

// read reads what is known of a remote.
func read(dir string) (*Remote, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		return nil, err
	}
	r := &Remote{dir: dir}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s can't be read: %w: gnvcc pull --remove %s, and pull again",
			filepath.Join(dir, stateName), err, filepath.Base(dir))
	}
	if r.Tags == nil {
		r.Tags = map[string]Tag{}
	}
	r.Name = filepath.Base(dir)
	return r, nil
}

// All lists the remotes of a store, by name; the errors are of those that can't be read.
func All(store *cache.Store) (all []*Remote, problems error) {
	entries, _ := os.ReadDir(store.RemotesDir())
	for _, e := range entries {
		r, err := read(filepath.Join(store.RemotesDir(), e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // a pull that never ended
		case err != nil:
			problems = errors.Join(problems, err)
		default:
			all = append(all, r)
		}
	}
	return all, problems
}

// Remove takes a remote away, with all that was pulled.
func Remove(store *cache.Store, name string) error {
	dir := filepath.Join(store.RemotesDir(), name)
	if !nameText().MatchString(name) {
		return fmt.Errorf("%q is no remote's name", name)
	}
	if _, err := os.Lstat(dir); err != nil {
		return fmt.Errorf("there is no remote %s (gnvcc doctor lists them)", name)
	}
	return os.RemoveAll(dir)
}

// Dir is its folder, and that of its blobs.
func (r *Remote) Dir() string { return r.dir }

// Again has what stands under a tag come and be judged anew.
func (r *Remote) Again(tag string) { os.Remove(BlobPath(r.dir, r.Tags[tag].Digest)) }

// Published reports whether builds have something to read.
func (r *Remote) Published() bool {
	sn, err := cache.OtherSnapshot(r.dir)
	sn.Close()
	return err == nil
}

// Newest is when its publishers have pushed last.
func (r *Remote) Newest() (t time.Time) {
	for name, tag := range r.Tags {
		if x, err := ReadIndex(tag.Index, name); err == nil && x.Time.After(t) {
			t = x.Time
		}
	}
	return t
}

// Check looks at an artefact that has arrived under a tag: may it take
// the place of what was pulled last? keys, where there are any, have to have signed.
func (r *Remote) Check(tag string, index []byte, signature string, keys Keys) (
	*Index, string, error) {
	x, err := ReadIndex(index, tag)
	if err != nil {
		return nil, "", err
	}
	signed := ""
	if keys != nil {
		if signed, err = keys.Verify(index, signature); err != nil {
			return nil, "", err
		}
	}
	if last, ok := r.Tags[tag]; ok {
		if y, err := ReadIndex(last.Index, tag); err == nil && x.Time.Before(y.Time) {
			return nil, "", fmt.Errorf(
				"it is older than what was pulled before (%s, that was %s): kept what was there; gnvcc pull --remove, and pull it again, to take it",
				x.Time.Format(time.RFC3339), y.Time.Format(time.RFC3339))
		}
	}
	if err := eachShard(func(i int) error {
		_, err := r.unpack(x, i)
		return err
	}); err != nil {
		return nil, "", err
	}
	return x, signed, nil
}

// eachShard does something for each shard, several at a time, and gives the first error.
func eachShard(do func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range Shards {
		g.Go(func() error { return do(i) })
	}
	return g.Wait()
}

func (r *Remote) unpack(x *Index, i int) ([]cache.Arrived, error) {
	path := BlobPath(r.dir, x.Shards[i].Digest)
	// The same bytes under another index may be said to be something else: then they are read again.
	known := fmt.Sprint(i, x.Shards[i])
	r.mu.Lock()
	list, ok := r.sound[known]
	r.mu.Unlock()
	if ok {
		return slices.Clone(list), nil
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("shard %x has not arrived", i)
	case !info.Mode().IsRegular() || info.Size() != x.Shards[i].Size:
		os.Remove(path) // it comes again
		return nil, fmt.Errorf("shard %x: %d bytes where the index says %d", i, info.Size(),
			x.Shards[i].Size)
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := x.Unpack(i, packed)
	if err != nil {
		os.Remove(path)
		return nil, err
	}
	for i := range all { // its text has them; a pull of many holds a hundred megabytes of them else
		all[i].Evidence.Tried = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sound == nil {
		r.sound = map[string][]cache.Arrived{}
	}
	r.sound[known] = all
	return slices.Clone(all), nil
}

// Publish merges all tags, makes what builds read of those decisions that are wanted, and notes
// what was pulled. It says how many there are, and how many were left out.
func (r *Remote) Publish(wanted func(cache.Decision) bool) (n, left int, err error) {
	indices := make([]*Index, 0, len(r.Tags))
	for _, name := range slices.Sorted(maps.Keys(r.Tags)) {
		x, err := ReadIndex(r.Tags[name].Index, name)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", name, err)
		}
		indices = append(indices, x)
	}
	var merged [Shards][]cache.Arrived
	var without [Shards]int
	err = eachShard(func(i int) error {
		var all [][]cache.Arrived
		had := map[string]bool{}
		for _, x := range indices {
			if had[x.Shards[i].Digest] {
				continue // the same of two publishers
			}
			had[x.Shards[i].Digest] = true
			list, err := r.unpack(x, i)
			if err != nil {
				return err
			}
			// Before they are merged: one that no build takes must not stand before one that builds do.
			list = slices.DeleteFunc(list, func(d cache.Arrived) bool { return !wanted(d.Decision) })
			without[i] += x.Shards[i].Decisions - len(list)
			all = append(all, list)
		}
		merged[i] = Merge(all)
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	for i := range Shards {
		left += without[i]
	}
	records := slices.Concat(merged[:]...)
	if err := cache.PublishOther(r.dir, records); err != nil {
		return 0, 0, err
	}
	return len(records), left, r.Note()
}

// Note keeps what is known of the remote, and removes the blobs that no tag has any more.
func (r *Remote) Note() error {
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = cache.WriteFile(r.dir, stateName, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("note what was pulled: %w", err)
	}
	used := map[string]bool{}
	for name, tag := range r.Tags {
		used[strings.TrimPrefix(tag.Digest, "sha256:")] = true
		used[cache.Hash(tag.Index)] = true
		if x, err := ReadIndex(tag.Index, name); err == nil {
			for _, s := range x.Shards {
				used[s.Digest] = true
			}
		}
	}
	entries, _ := os.ReadDir(Blobs(r.dir))
	for _, e := range entries {
		if !used[e.Name()] {
			os.RemoveAll(filepath.Join(Blobs(r.dir), e.Name()))
		}
	}
	os.RemoveAll(filepath.Join(r.dir, "ingest")) // of a pull that was killed
	return nil
}
