package cache

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// Remotes: what other machines have published in a registry, brought here by gnvcc pull
// (cache/remote). Each is a folder of one's own store with a snapshot in it, and builds read it as
// they read a store of somebody else's (OtherSnapshot): decisions that were measured, nothing else.

const remotesName = "remotes"

// RemotesDir is the folder in which a store keeps them.
func (s *Store) RemotesDir() string { return filepath.Join(s.dir, remotesName) }

// Remotes are those that can be read, by name. A build asks at every look-up: where there is none
// it costs one call of the system.
func (s *Store) Remotes() (dirs []string) {
	entries, err := os.ReadDir(s.RemotesDir())
	if err != nil {
		return nil
	}
	for _, e := range entries {
		dir := filepath.Join(s.RemotesDir(), e.Name())
		if _, err := os.Lstat(filepath.Join(dir, snapName)); e.IsDir() && err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// An Arrived is a decision as it came, and its text, which is kept as it is: to read one costs 0.1
// ms where a search has left much evidence, and a pull brings thousands.
type Arrived struct {
	Decision
	Raw []byte // one line of JSON, from which Decision was read
}

// PublishOther makes the snapshot of a remote, and its file for compiler caches: each first, the
// other second, as Owner.Publish does.
func PublishOther(dir string, decisions []Arrived) error {
	const doing = "publish what was pulled"
	var list recipeList
	records := map[string][]byte{}
	stamp := time.Now().UnixNano()
	for i := range decisions {
		d := &decisions[i]
		list.decision(d.Key(), &d.Decision)
		raw, err := encodeRecord(Decisions, d.Key(), json.RawMessage(d.Raw))
		if err != nil {
			return failed(doing, dir, err)
		}
		name := where(Decisions, d.Key())
		records[name] = seal(name, stamp, raw)
	}
	b, err := encodeFlat(records, flatHeader{ID: "pulled"})
	if err == nil {
		err = writeFile(dir, snapName, b, true)
	}
	if err == nil {
		err = writeFile(dir, recipesName, []byte(list.text()), true)
	}
	return failed(doing, dir, err)
}
