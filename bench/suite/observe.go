// What tuning was to the user: how long the run took compared with one without gnvcc, what captures held
// it up, when decisions were there, and which part of the program's time could be replayed.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Observed is what gnvcc tune's line in GNVCC_LOG says. Times are seconds.
type Observed struct {
	Program float64 // the program, from its start to its end
	// from its start: when the driver was started, when the first launch came, when the last process
	// that used the GPU began to end
	Driver, Launch, End float64 `json:",omitempty"`

	Held     float64 // of it, for captures
	Captured int64   // bytes
	Kept     float64 // from the program's end until all captures were in the store
	Decided  float64 // from there, too, until everything was decided
	Rows     []Part
}

// A Part is a part of the program's time on the GPU, seconds: a captured launch stands for it, or
// none does.
type Part struct {
	Kernel  string
	Seconds float64
	Same    bool   // replayed, with the bits that the program had
	Why     string `json:",omitempty"` // it is not, or nothing was searched on it
	// that a search waited for the capture's file, and replayed it
	Unpacking, Replaying float64 `json:",omitempty"`
	// seconds of that by step (gnvcc's words)
	Spent map[string]float64 `json:",omitempty"`
}

// plain runs nvcc's build as the user does, with nothing else running.
func (j *job) plain(ctx context.Context, what string) error {
	r, err := j.do(ctx, what, j.make("before", j.s.target), j.s.limits.run)
	if err == nil {
		j.result.Plain = append(j.result.Plain, r.Wall.Seconds())
	}
	return err
}

// log is where gnvcc tune writes.
func (j *job) log() string { return filepath.Join(j.s.work, "logs", j.name+".tune.jsonl") }

// observed takes over what tune wrote; a gnvcc that writes nothing is no trouble.
func (r *Result) observed(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var l struct {
			Message string
			Observed
		}
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.Message == "tuned" {
			r.Observed = &l.Observed
		}
	}
	return lines.Err()
}

// Other is the program with other arguments than those that it was tuned with.
type Other struct {
	Command       string
	Before, After []int64 // all kernels' time, one entry a run, nanoseconds
	Stdout        string
	Failed        string `json:",omitempty"` // for one of the builds
}

// others reads a file of commands: a program's name, then what to run in its folder.
func others(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, command, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("%s:%d: a name, and a command", path, i+1)
		}
		out[name] = strings.TrimSpace(command)
	}
	return out, nil
}
