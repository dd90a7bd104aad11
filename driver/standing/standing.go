package standing

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// An Asker is a build that looks recipes up.
type Asker struct {
	// what it writes, symbolic links followed; asked for only where it matters. A cache in front of a
	// build gives what was built for one file to another one: below it there is none
	Files     func() []string
	Device    string          // GNVCC_DEVICE, "" if it is not set
	Here      func() []string // the GPUs of this machine; nil: there are none, or they don't matter
	Predicted bool            // GNVCC_PREDICT: recipes that were predicted may be taken
}

// AskerOf is the asker for a recorded command; env is the build's.
func AskerOf(store *cache.Store, command string, env *environment.Environment) Asker {
	return Asker{Device: env.Device, Predicted: env.Predict, Here: gpus, Files: sync.OnceValue(func() []string {
		c, err := record.LoadCommand(store, command)
		if err != nil || env.Shared {
			return nil
		}
		return record.Writes(c)
	})}
}

// Of returns the decision that stands for a build, of those on one kernel. Pinned marks the user's
// pin, Predicted a prediction, From those of a lock file or of another's store; the user's own come
// first, then those of each shared store.
//
// A pin goes before all else. An approximate decision belongs to the files that the tuned program
// was built from: it counts where one of these is built again, and nowhere else. Of what is left,
// those count that were measured on one GPU:
//
//  1. Asker.Device, a part of its name ("H100"); where nothing was measured on such a one, the
//     kernel is nvcc's own
//  2. a GPU of this machine
//  3. the one that was measured on last
//
// Of these in turn an approximate one comes first, then one by measuring, then the user's own, and
// then the newest. A prediction counts for builds that ask for it, where nothing at all was decided
// on the kernel, on whatever GPU and for whomever. It was not run: a recipe that is not exact by
// construction is none.
func Of(all []cache.Decision, by Asker) (best cache.Decision, ok bool) {
	var list []cache.Decision
	for _, d := range all {
		switch {
		case d.Pinned:
			return d, true
		case d.Predicted:
			if exact, ok := exactness(d); len(all) == 1 && by.Predicted && ok && d.Recipe != "" &&
				exact == rewrite.ByConstruction {
				return d, true
			}
		case !approximate(d) || d.Recipe != "" && d.From == "" && by.Files != nil && Meet(d.For, by.Files()):
			list = append(list, d)
		}
	}
	for _, d := range by.onOne(list) {
		a, b := approximate(d), approximate(best)
		if !ok || a && !b || a == b && newer(d, best) {
			best, ok = d, true
		}
	}
	return best, ok
}

func exactness(d cache.Decision) (rewrite.Exactness, bool) {
	r, err := recipe.Parse(d.Recipe)
	return rewrite.ExactnessOf(r), err == nil
}

// approximate reports whether a decision is for the builds alone that it names, whatever was written
// with its recipe. One of a lever that is gone or to come is refused by its recipe instead.
func approximate(d cache.Decision) bool {
	if exact, ok := exactness(d); !ok || exact != rewrite.Approximate {
		return d.Approximate()
	}
	r, _ := recipe.Parse(d.Recipe)
	return rewrite.Check(r) == nil || d.From == "" && d.Approximate()
}

// newer reports whether d is a later word than an earlier decision of the list.
func newer(d, earlier cache.Decision) bool {
	if a, b := d.Measured(), earlier.Measured(); a != b {
		return a
	}
	return d.From == earlier.From && d.Time.After(earlier.Time)
}

// Meet reports whether two lists of what programs are built into (cache.Decision.For) have a file
// in common; a folder ends in a slash.
func Meet(a, b []string) bool {
	covers := func(x, y string) bool { return x == y || strings.HasSuffix(x, "/") && strings.HasPrefix(y, x) }
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return covers(x, y) || covers(y, x) })
	})
}

// onOne leaves the decisions for one GPU. One that names none may be for any.
func (a Asker) onOne(all []cache.Decision) []cache.Decision {
	on := func(match func(device string) bool) []cache.Decision {
		return slices.DeleteFunc(all, func(d cache.Decision) bool {
			return d.Evidence.Device != "" && !match(d.Evidence.Device)
		})
	}
	if a.Device != "" {
		want := strings.ToLower(a.Device)
		return on(func(device string) bool { return strings.Contains(strings.ToLower(device), want) })
	}
	devices := map[string]bool{}
	for _, d := range all {
		devices[d.Evidence.Device] = true
	}
	if len(devices) < 2 {
		return all
	}
	if a.Here != nil {
		for _, here := range a.Here() {
			if devices[here] {
				return on(func(device string) bool { return device == here })
			}
		}
	}
	newest := all[0]
	for _, d := range all[1:] {
		if newer(d, newest) {
			newest = d
		}
	}
	return on(func(device string) bool { return device == newest.Evidence.Device })
}

// gpuFolder is where the driver lists the GPUs, a folder for each.
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
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "Model:"); ok {
				out = append(out, strings.TrimSpace(name))
			}
		}
	}
	return out
}
