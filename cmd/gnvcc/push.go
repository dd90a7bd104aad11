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

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/cache/remote"
	"gnvcc/driver/scratch"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

func pushVerb() *cobra.Command {
	c := newVerb("push [OPTIONS] oci://HOST/REPOSITORY:TAG",
		"publish what was measured here in a registry, for gnvcc pull",
		`Puts the decisions that were measured into this store under a tag of an OCI registry, with their evidence: kernels' names,
GPUs, launch shapes, values of arguments, times. Pins, bans, approximations, what was imported or pulled, captures and compiled
code do not travel. Only shards that have changed are sent. One publisher has one tag: a tag that another store has pushed to is
refused, unless --merge adds to what is there (a CI's tag, say). Credentials are those of docker login and podman login.`, arguments(1, 1))
	var p pushing
	fs := c.Flags()
	fs.StringVar(&p.sign, "sign", "",
		"sign with the ed25519 private key in this `file` (openssl genpkey -algorithm ed25519 -out FILE)")
	fs.BoolVar(&p.merge, "merge", false, "keep what the tag has from other stores, and add to it")
	return tries(c, 2, func(args []string) error {
		ctx, stop := ended(context.Background())
		defer stop()
		return p.run(ctx, args[0])
	})
}

// A pushing is what is to be pushed, and how.
type pushing struct {
	sign  string
	merge bool
}

func (p *pushing) run(ctx context.Context, word string) error {
	reference, tag, err := referenceOf(word)
	if err == nil && tag == "" {
		err = fmt.Errorf("which tag? One publisher has one: oci://%s:$(hostname), say", reference)
	}
	if err != nil {
		return err
	}
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	all, id, err := publishable(b.Store())
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New(
			"nothing was measured into this store that can be pushed (gnvcc tune -- ./app; pinned, imported and approximate recipes stay here)")
	}
	if p.merge {
		id = remote.Several // so that no later push takes the tag for one's own, and the others' away
	}
	work, err := scratch.New()
	if err != nil {
		return fmt.Errorf("make a scratch folder: %w", err)
	}
	defer work.Remove()
	c, err := newCarrier(reference)
	if err != nil {
		return err
	}
	was, err := p.look(ctx, c, filepath.Join(work.Path, "theirs"), tag)
	if err != nil {
		return err
	}
	own := len(all)
	switch theirs := was.index; {
	case theirs == nil:
	case p.merge:
		if all, err = merged(all, theirs, was.folder); err != nil {
			return fmt.Errorf("read what %s has: %w", word, err)
		}
	case theirs.Publisher != id:
		return fmt.Errorf(
			"%s is another store's, or several stores' (on %s, pushed %s): take a tag of your own, or --merge", word,
			theirs.Host, theirs.Time.Local().Format("2006-01-02 15:04"))
	}
	folder := filepath.Join(work.Path, "ours")
	x, err := remote.Pack(folder, all)
	if err != nil {
		return err
	}
	what := policy.Count(x.Decisions(), "decision")
	x.Tag, x.Publisher, x.Gnvcc = tag, id, ownVersion()
	x.Host, _ = os.Hostname()
	x.Time = time.Now().UTC().Truncate(time.Second)
	same, changed, err := p.follows(x, was)
	switch {
	case err != nil:
		return err
	case same:
		fmt.Fprintf(console, "%s has these %s already\n", word, what)
		return nil
	}
	digest, err := x.Write(folder, p.sign)
	if err != nil {
		return fmt.Errorf("write down what is to be pushed: %w", err)
	}
	if _, err := c.run(ctx, "push", folder, digest, was.digest); err != nil {
		return err
	}
	fmt.Fprintf(console, "%s: %s pushed, %d of %d shards are new", word, what, changed, remote.Shards)
	if added := len(all) - own; added > 0 {
		fmt.Fprintf(console, "; %d of them were there", added)
	}
	fmt.Fprintln(console)
	return nil
}

// A tagged is what a tag has before a push.
type tagged struct {
	folder    string
	digest    string // "-": it is not there
	index     *remote.Index
	text      []byte
	signature string
}

// look looks at a tag.
func (p *pushing) look(ctx context.Context, c *carrier, folder, tag string) (was tagged, err error) {
	verb := "index"
	if p.merge {
		verb = "pull"
	}
	found, err := c.pull(ctx, verb, folder)
	f := found[tag]
	if err != nil || f.Digest == "" {
		return tagged{digest: "-"}, err
	}
	was = tagged{folder: folder, digest: f.Digest}
	if f.Error != "" {
		err = errors.New(f.Error)
	} else if was.text, was.signature, err = remote.Artefact(folder, f.Digest); err == nil {
		was.index, err = remote.ReadIndex(was.text, tag)
	}
	if err != nil {
		err = fmt.Errorf("look at what %s has: %w (take another tag)", c.reference, err)
	}
	return was, err
}

// publishable are the decisions that may go to others, and the name of the store that they are
// from. What its user has banned since he measured it is none.
func publishable(store *cache.Store) (out []cache.Decision, id string, err error) {
	sn, err := store.Snapshot()
	if err != nil && !errors.Is(err, cache.ErrNone) {
		return nil, "", err
	}
	known := standing.KnownOf(store, sn) // for the bans
	defer known.Close()
	all, err := sn.AllDecisions()
	if err != nil {
		return nil, "", err
	}
	for _, d := range all {
		if d.Imported != "" || !portable(d) || known.Untaken(d) != nil {
			continue
		}
		d.For, d.From = nil, "" // paths of this machine
		out = append(out, d)
	}
	return out, sn.ID(), nil
}

// portable reports whether a decision may count on another machine: it was measured, its recipe is
// one of this version, and it is for all builds.
func portable(d cache.Decision) bool {
	if d.Pinned || d.Predicted || d.Approximate() || len(d.Evidence.Launches) == 0 ||
		!cache.IsHash(d.Identity) {
		return false
	}
	r, err := recipe.Parse(d.Recipe)
	if err != nil || rewrite.Check(r) != nil {
		return false
	}
	level, err := rewrite.ParseExactness(d.Exactness)
	exact := rewrite.ExactnessOf(r)
	return exact != rewrite.Approximate && (r.IsDefault() || err == nil && level >= exact)
}

// merged adds one's own decisions to those of an artefact, under the rules of readers.
func merged(own []cache.Decision, theirs *remote.Index, folder string) ([]cache.Decision, error) {
	lists, err := theirs.Read(folder)
	if err != nil {
		return nil, err
	}
	mine := make([]cache.Arrived, len(own))
	for i, d := range own {
		raw, err := json.Marshal(d)
		if err != nil {
			return nil, err
		}
		mine[i] = cache.Arrived{Decision: d, Raw: raw}
	}
	var out []cache.Decision
	for _, d := range remote.Merge(append(lists, mine)) {
		if portable(d.Decision) {
			out = append(out, d.Decision)
		}
	}
	return out, nil
}

// follows makes an index the next one of its tag. same: the tag has this already, with the
// signature that is wanted; changed is how many shards are others.
func (p *pushing) follows(x *remote.Index, was tagged) (same bool, changed int, err error) {
	y := was.index
	if y == nil {
		return false, remote.Shards, nil
	}
	if !x.Time.After(y.Time) { // a clock that is behind the last pusher's
		x.Time = y.Time.Add(time.Second)
	}
	for i := range x.Shards {
		if x.Shards[i] != y.Shards[i] {
			changed++
		}
	}
	signature := ""
	if p.sign != "" {
		signature, err = remote.Sign(was.text, p.sign)
	}
	return changed == 0 && x.Publisher == y.Publisher && signature == was.signature, changed, err
}

// The program that speaks with registries (cmd/gnvcc-oci), for push and pull.

const carrierName = "gnvcc-oci"

// registryTimeout is how long a transfer may take. It is a variable for tests.
var registryTimeout = time.Minute

// A carrier runs that program.
type carrier struct {
	program   string
	reference string // HOST/REPO, or HOST/REPO:TAG
}

// newCarrier finds the program: next to this one, where the installation puts it, or in PATH.
func newCarrier(reference string) (*carrier, error) {
	program := ""
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		program = filepath.Join(filepath.Dir(self), carrierName)
	}
	if info, err := os.Stat(program); err != nil || info.IsDir() {
		if program, err = exec.LookPath(carrierName); err != nil {
			return nil, fmt.Errorf("the program %s, which gnvcc needs for registries, is neither next to gnvcc nor in PATH: make build makes it, make install installs it",
				carrierName)
		}
	}
	return &carrier{program, reference}, nil
}

// run has it do something, and gives what it prints.
func (c *carrier) run(ctx context.Context, verb string, args ...string) ([]byte, error) {
	// It ends itself in time; what hangs all the same is ended from here.
	ctx, cancel := context.WithTimeout(ctx, registryTimeout+5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, append([]string{"--timeout", registryTimeout.String(), verb,
		c.reference}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if text := strings.TrimSpace(errs.String()); err != nil && text != "" {
		err = errors.New(text)
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", verb, c.reference, err)
	}
	return out, err
}

// pull brings what is new into a folder; verb "index": without the shards.
func (c *carrier) pull(ctx context.Context, verb, folder string) (map[string]remote.Pulled, error) {
	text, err := c.run(ctx, verb, folder)
	if err != nil {
		return nil, err
	}
	var all map[string]remote.Pulled
	return all, json.Unmarshal(text, &all)
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
