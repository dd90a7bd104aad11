package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gnvcc/cache/remote"
	"gnvcc/driver/scratch"
)

// What gnvcc push and gnvcc pull have in common: the program that speaks with registries
// (cmd/gnvcc-oci), and what it leaves in a folder.

const carrierName = "gnvcc-oci"

// A carrier runs that program.
type carrier struct {
	program   string
	reference string // HOST/REPO, or HOST/REPO:TAG
	plain     bool
	timeout   time.Duration
	work      *scratch.Folder
}

// A carried is what it says of a tag.
type carried struct {
	Digest  string
	Missing bool // there is no such tag
	New     bool // its index and signature have been put into the folder
	Error   string
}

// newCarrier finds the program: beside this one, where the installation puts it, or in PATH.
func newCarrier(reference string, plain bool, timeout time.Duration) (*carrier, error) {
	program := ""
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		program = filepath.Join(filepath.Dir(self), carrierName)
	}
	if info, err := os.Stat(program); err != nil || info.IsDir() {
		if program, err = exec.LookPath(carrierName); err != nil {
			return nil, fmt.Errorf("the program %s, which speaks with registries, is neither beside gnvcc nor in PATH: make build makes it, make install installs it",
				carrierName)
		}
	}
	work, err := scratch.New()
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	return &carrier{program, reference, plain, timeout, work}, nil
}

// run has it do something, and gives what it prints.
func (c *carrier) run(ctx context.Context, args ...string) (string, error) {
	options := []string{"--timeout", c.timeout.String()}
	if c.plain {
		options = append(options, "--plain-http")
	}
	// It ends itself in time; what hangs all the same is ended from here.
	ctx, cancel := context.WithTimeout(ctx, c.timeout+5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, append(options, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(errs.String()); text != "" {
			err = errors.New(text)
		}
		return "", fmt.Errorf("%s %s: %w", args[0], c.reference, err)
	}
	return strings.TrimSpace(out.String()), nil
}

// pull brings what is new: have is what is there already, by tag; shards is the folder for shards,
// "-" where they are not wanted.
func (c *carrier) pull(ctx context.Context, have map[string]string, shards string) (
	map[string]carried, error) {
	text, err := json.Marshal(have)
	if err == nil {
		err = os.WriteFile(filepath.Join(c.work.Path, "have.json"), text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if _, err := c.run(ctx, "pull", c.reference, c.work.Path, shards); err != nil {
		return nil, err
	}
	text, err = os.ReadFile(filepath.Join(c.work.Path, "pulled.json"))
	if err != nil {
		return nil, err
	}
	var all map[string]carried
	return all, json.Unmarshal(text, &all)
}

// index reads what was brought of a tag.
func (c *carrier) index(tag string) (index []byte, signature string, err error) {
	index, err = os.ReadFile(filepath.Join(c.work.Path, tag+".index"))
	if err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(filepath.Join(c.work.Path, tag+".signature"))
	return index, string(text), err
}

const referenceForm = "oci://HOST/REPOSITORY:TAG"

// referenceOf reads oci://HOST/REPO or oci://HOST/REPO:TAG.
func referenceOf(word string) (reference, tag string, err error) {
	reference, ok := strings.CutPrefix(word, "oci://")
	host, repo, found := strings.Cut(reference, "/")
	if !ok || !found || host == "" || repo == "" || strings.ContainsAny(reference, "@ ") {
		return "", "", fmt.Errorf("%q is no place in a registry: %s", word, referenceForm)
	}
	if i := strings.LastIndexByte(reference, ':'); i > strings.LastIndexByte(reference, '/') {
		tag = reference[i+1:]
		if !remote.IsTag(tag) {
			return "", "", fmt.Errorf("%q is no tag: letters, digits, . _ -", tag)
		}
	}
	return reference, tag, nil
}

// registryOptions are those of both verbs.
type registryOptions struct {
	plain   bool
	timeout time.Duration
}
