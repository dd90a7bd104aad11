package report

import (
	"encoding/json"
	"fmt"

	"gnvcc/cache"
)

// Read reads the decisions of a report in JSON.
func Read(text []byte) ([]cache.Decision, error) {
	var r struct {
		Format  string
		Version int
		Kernels []struct{ Decision *cache.Decision }
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Format != "gnvcc-report":
		return nil, fmt.Errorf("its format is %q", r.Format)
	case r.Version != 1 && r.Version != 2: // 1 has times of pins
		return nil, fmt.Errorf("it has version %d of the format, and this gnvcc reads 1 and 2", r.Version)
	}
	var out []cache.Decision
	for i, k := range r.Kernels {
		if k.Decision == nil {
			return nil, fmt.Errorf("entry %d has no decision", i)
		}
		out = append(out, *k.Decision)
	}
	return out, nil
}
