package main

import (
	"errors"
	"sort"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/rewrite/recipe"
)

// decisionsOf gives the decisions in a store, by the kernels' names; none where nothing was decided.
func decisionsOf(store *cache.Store) ([]cache.Decision, error) {
	snapshot, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	out, err := snapshot.AllDecisions()
	sort.SliceStable(out, func(i, j int) bool { return out[i].Kernel < out[j].Kernel })
	return out, err
}

// trialsOf gives the recipes that were tried on one of a decision's configurations, without leave to
// approximate; none where they were not kept.
func trialsOf(store *cache.Store, d cache.Decision, l cache.Launch) []*policy.Trial {
	key := decide.Key(d.Identity, d.Evidence.Device, policy.ShapeMeasured(l), "")
	return decide.Read(memos{store}, key, d.Identity).Trials
}

// memos are the notebooks as gnvcc tune keeps them.
type memos struct{ store *cache.Store }

func (m memos) Recall(key string) ([]byte, bool) {
	return m.store.Memo(policy.Notebooks, cache.Hash([]byte(key)))
}

func (m memos) Remember(string, []byte) error { return errors.New("only read") }

// leverOf is the lever of a recipe that has only one, "" for others. Terms that only the host looks
// at don't count, nor do caps with another lever's value: demotion and spilling have them as part
// of theirs.
func leverOf(r recipe.Recipe) string {
	lever := ""
	for _, t := range r.Terms {
		switch {
		case t.HostOnly() || t.Lever == lever || t.Lever == "maxnreg" &&
			lever == "demote":
		case lever == "" || lever == "maxnreg" && t.Lever == "demote":
			lever = t.Lever
		default:
			return ""
		}
	}
	return lever
}
