package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gnvcc/cache"
)

// Read reads the decisions of a report in JSON: an object with a version, or the list that gnvcc
// printed before there was one.
func Read(text []byte) ([]cache.Decision, error) {
	type entry struct {
		Decision *cache.Decision `json:"decision"`
	}
	var r struct {
		Format  string
		Version int
		Kernels []entry
	}
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		err = json.Unmarshal(text, &r.Kernels)
	} else if err = json.Unmarshal(text, &r); err == nil {
		switch {
		case r.Format != "gnvcc-report":
			err = fmt.Errorf("its format is %q", r.Format)
		case r.Version > 1:
			err = fmt.Errorf("it has version %d of the format, and this gnvcc reads up to 1", r.Version)
		}
	}
	if err != nil {
		return nil, err
	}
	var out []cache.Decision
	for i, e := range r.Kernels {
		if e.Decision == nil {
			return nil, fmt.Errorf("entry %d has no decision", i)
		}
		out = append(out, *e.Decision)
	}
	return out, nil
}
