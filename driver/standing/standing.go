package standing

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Which of the decisions on a kernel stands for a build. What the user pinned goes before all else.
// Approximate ones count for the builds alone that asked for them. Of what is left, those count
// that were measured on one GPU:
//
//  1. GNVCC_DEVICE, a part of its name ("H100"); where nothing was measured on such a one, the
//     kernel is nvcc's own
//  2. a GPU of this machine (not with a lock file)
//  3. the one that was measured on last
//
// Of these in turn an approximate one comes first, and then the newest. What only says that a
// kernel was left alone counts where there is nothing else.
//
// What was predicted from machine code (gnvcc predict --adopt) counts last of all: for builds that
// ask for it (GNVCC_PREDICT), and only where nothing at all was decided on the kernel, on whatever
// GPU and for whomever.

// A decision is as much of cache.Decision as builds look at: the evidence, which is most of it, is
// not for them.
type decision struct {
	Recipe, Exactness string
	Time              time.Time
	For               []string
	Evidence          struct {
		Device   string
		Launches []struct{}
		Normals  map[string]string
		Locked   *struct{}
	}
	approximate bool
	from        int // which of a Known's snapshots, 0: its first
}

// standing gives the decision on a kernel that stands for a build.
func standing(kn *Known, identity string, by asker) (decision, bool) {
	if kn == nil {
		return decision{}, false
	}
	var pinned decision
	if ok, err := kn.own.Get(cache.Pins, identity, &pinned); identity != "" && err == nil && ok {
		return pinned, true
	}
	var all []decision
	known := false
	for from, sn := range kn.snapshots() {
		// Whoever reads a lock file or another's store did not ask for their approximations.
		others := from > 0 || kn.Lock != ""
		err := sn.EachDecision(identity, func(raw []byte) error {
			known = true
			d := decision{from: from}
			if json.Unmarshal(raw, &d) != nil {
				return nil
			}
			d.approximate = d.Exactness == rewrite.Approximate.String()
			if r, err := recipe.Parse(d.Recipe); err == nil &&
				rewrite.ExactnessOf(r) == rewrite.Approximate {
				d.approximate = true // whatever was written beside it
				if others && rewrite.Check(r) != nil {
					d.approximate = false // of another gnvcc: no build takes it, and says so
				}
			}
			if !d.approximate || d.Recipe != "" && !others && by.covered(d.For) {
				all = append(all, d)
			}
			return nil
		})
		if err != nil && from == 0 {
			if kn.mend() {
				return standing(kn, identity, by)
			}
			return decision{}, false
		}
	}
	if !known {
		return predicted(kn, identity, by)
	}
	all = by.onOne(all, kn.Lock != "")
	best := -1
	for i, d := range all {
		if best < 0 || d.before(all[best]) {
			best = i
		}
	}
	if best < 0 {
		return decision{}, false
	}
	return all[best], true
}

// predicted gives the prediction for a kernel, to builds that ask for it. Nobody has run it: a
// recipe that is not exact by construction is none, whatever was written beside it.
func predicted(kn *Known, identity string, by asker) (d decision, found bool) {
	if !by.predicted || identity == "" {
		return decision{}, false
	}
	if ok, err := kn.own.Get(cache.Predictions, identity, &d); err != nil || !ok {
		return decision{}, false
	}
	r, err := recipe.Parse(d.Recipe)
	if err != nil || r.IsDefault() || rewrite.ExactnessOf(r) != rewrite.ByConstruction {
		return decision{}, false
	}
	return d, true
}

// Predicted tells whether a prediction stands for a kernel, for builds that ask for it: nothing was
// decided.
func Predicted(sn *cache.Snapshot, identity string) bool {
	_, ok := predicted(&Known{own: sn}, identity, asker{predicted: true})
	err := sn.EachDecision(identity, func([]byte) error { ok = false; return nil })
	return ok && err == nil
}

// before tells whether a decision counts more than another on the same GPU.
func (d decision) before(other decision) bool {
	if d.approximate != other.approximate {
		return d.approximate
	}
	return d.newer(other)
}

// newer tells whether a decision is the later word: one by measuring goes before one that says why
// nothing was measured, and one's own before those of others.
func (d decision) newer(other decision) bool {
	if a, b := d.measured(), other.measured(); a != b {
		return a
	}
	if d.from != other.from {
		return d.from < other.from
	}
	return d.Time.After(other.Time)
}

func (d decision) measured() bool {
	return d.Recipe != "" || len(d.Evidence.Launches) > 0 || d.Evidence.Locked != nil
}

// onOne leaves the decisions for one GPU. One that names none may be for any. With a lock file it
// does not matter which GPU is here, so that all machines build the same.
func (a asker) onOne(all []decision, locked bool) []decision {
	on := func(match func(device string) bool) []decision {
		var out []decision
		for _, d := range all {
			if d.Evidence.Device == "" || match(d.Evidence.Device) {
				out = append(out, d)
			}
		}
		return out
	}
	if a.device != "" {
		want := strings.ToLower(a.device)
		return on(func(device string) bool { return strings.Contains(strings.ToLower(device), want) })
	}
	devices := map[string]bool{}
	for _, d := range all {
		devices[d.Evidence.Device] = true
	}
	if len(devices) < 2 {
		return all
	}
	for _, here := range gpus() {
		if devices[here] && !locked {
			return on(func(device string) bool { return device == here })
		}
	}
	newest := all[0]
	for _, d := range all[1:] {
		if d.newer(newest) {
			newest = d
		}
	}
	return on(func(device string) bool { return device == newest.Evidence.Device })
}

// gpuFolder is where the driver tells of the GPUs, a folder for each.
var gpuFolder = "/proc/driver/nvidia/gpus"

// GPU is the name of this machine's first one, "" where there is none.
func GPU() string {
	if all := gpus(); len(all) > 0 {
		return all[0]
	}
	return ""
}

// gpus lists the names of this machine's GPUs, as the driver gives them ("NVIDIA H200"). No library
// is loaded for it.
func gpus() []string {
	files, _ := filepath.Glob(filepath.Join(gpuFolder, "*", "information"))
	var out []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(text), "\n") {
			if name, ok := strings.CutPrefix(line, "Model:"); ok {
				out = append(out, strings.TrimSpace(name))
			}
		}
	}
	return out
}
