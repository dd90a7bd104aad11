package cache

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// Several decisions may stand for one kernel: one for each GPU that it was measured on, and beside
// the exact one those that are approximate, one for each build that asked for it.

// approximate is Decision.Exactness of those that some builds only get.
const approximate = "approximate"

// Approximate reports whether a decision is for the builds alone that it names. A recipe by hand
// without a word about its exactness is none by this; whoever knows recipes looks at the recipe,
// too.
func (d *Decision) Approximate() bool { return d.Exactness == approximate }

// Measured reports whether a decision is more than a word on why the kernel was left alone.
func (d *Decision) Measured() bool {
	return d.Recipe != "" || len(d.Evidence.Launches) > 0 || d.Evidence.Locked != nil
}

// Proposed reports whether a recipe was found on single launches, and no run of the program with it
// was compared with nvcc's own code yet.
func (d *Decision) Proposed() bool {
	return d.Recipe != "" && len(d.Evidence.Launches) > 0 && d.Evidence.Program == nil && !d.Pinned &&
		!d.Predicted && d.Imported == "" && d.From == ""
}

// Brief reads as much of a decision as builds look at. Of its evidence, which is most of it and
// takes 0.1 ms to read, that is the GPU, the normal forms, what the program said, and whether there is any.
func Brief(raw []byte) (Decision, error) {
	var read struct {
		Decision
		Evidence struct {
			Device   string
			Launches []struct{}
			Normals  map[string]string
			Locked   *Locked
			Program  *InProgram
		}
	}
	err := json.Unmarshal(raw, &read)
	e := read.Evidence
	read.Decision.Evidence = Evidence{Device: e.Device, Launches: make([]Launch, len(e.Launches)),
		Normals: e.Normals, Locked: e.Locked, Program: e.Program}
	return read.Decision, err
}

// Key is under what a decision is kept: the kernel's identity, behind it what it was measured on,
// behind that who asked for it. A decision without either is kept under the identity alone.
func (d *Decision) Key() string {
	key := d.Identity
	if d.Evidence.Device != "" {
		key += ".d" + Hash([]byte(d.Evidence.Device))[:16]
	}
	if d.Approximate() {
		list := append([]string(nil), d.For...)
		sort.Strings(list)
		key += ".a" + Hash([]byte(strings.Join(list, "\x00")))[:16]
	}
	return key
}

// EachDecision calls fn for every decision on a kernel, in the keys' order; raw is as for Each.
func (sn *Snapshot) EachDecision(identity string, fn func(raw []byte) error) error {
	if identity == "" {
		return nil
	}
	return sn.Each(Decisions, identity, func(key string, raw []byte) error {
		if rest := key[len(identity):]; rest != "" && rest[0] != '.' {
			return nil // another identity that begins so
		}
		return fn(raw)
	})
}

// AllDecisions gives the decisions of all kernels that stand, in the keys' order: none that was
// taken back, and of two on the same GPU for the same builds the newer one.
func (sn *Snapshot) AllDecisions() ([]Decision, error) {
	var out []Decision
	at := map[string]int{}
	err := sn.Each(Decisions, "", func(key string, raw []byte) error {
		var d Decision
		if err := json.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("decision %s can't be read: %w", key, err)
		}
		if d.Identity == "" { // made by hand
			d.Identity, _, _ = strings.Cut(key, ".")
		}
		if d.Approximate() && d.Recipe == "" {
			return nil
		}
		if i, ok := at[d.Key()]; ok {
			if d.Time.After(out[i].Time) {
				out[i] = d
			}
			return nil
		}
		at[d.Key()] = len(out)
		out = append(out, d)
		return nil
	})
	return out, err
}
