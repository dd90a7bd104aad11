package forest

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// version is raised whenever the file's form, or the meaning of a feature, changes.
const version = 1

// Save writes a forest as JSON.
func (f *Forest) Save(w io.Writer) error {
	c := *f
	c.Version = version
	return json.NewEncoder(w).Encode(c)
}

// Load reads a forest for a device and for features, and refuses one of another version, device or
// features, and one that is damaged.
func Load(r io.Reader, device string, features []string) (*Forest, error) {
	var f Forest
	if err := json.NewDecoder(io.LimitReader(r, 1<<28)).Decode(&f); err != nil {
		return nil, fmt.Errorf("read the forest: %w; train it anew", err)
	}
	switch {
	case f.Version != version:
		return nil, fmt.Errorf("the forest has version %d, this program reads %d: train it anew",
			f.Version, version)
	case f.Device != device:
		return nil, fmt.Errorf("the forest was grown on %s, the target is %s: train one there", f.Device,
			device)
	case !slices.Equal(f.Features, features):
		return nil, fmt.Errorf("the forest knows other features: train it anew")
	case len(f.Trees) == 0:
		return nil, fmt.Errorf("the forest has no trees: train it anew")
	}
	for n, t := range f.Trees {
		if len(t) == 0 {
			return nil, fmt.Errorf("tree %d of the forest is empty: train it anew", n)
		}
		for at, node := range t {
			leaf := node.Left == 0 && node.Right == 0
			// Children behind their parent: so every walk ends.
			if !leaf && (node.Left <= at || node.Right <= at || node.Left >= len(t) ||
				node.Right >= len(t) ||
				node.Feature < 0 || node.Feature >= len(features)) {
				return nil, fmt.Errorf("tree %d of the forest is damaged at node %d: train it anew", n, at)
			}
		}
	}
	return &f, nil
}
