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
	"gnvcc/policy/tuner"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

func pushVerb() *cobra.Command {
	c := newVerb("push [OPTIONS] oci://HOST/REPOSITORY:TAG",
		"publish what was measured here in a registry, for gnvcc pull",
		`Puts the decisions that were measured into this store under a tag of an OCI registry, with their evidence: kernels' names,
GPUs, launch shapes, values of arguments, times. Pins, bans, approximations, what was imported or pulled, captures and compiled
code do not travel. Only shards that have changed are sent. One publisher has one tag: a tag that another store has pushed to is
refused, unless --merge adds to what is there (a CI's tag, say) or --over replaces it. Credentials are those of docker login and
podman login.

With --captures captured launches are pushed instead, for tune, compare and judge on other machines, as TAG.captures. They hold
memory of your programs: whoever may read the repository reads it. After --expires no gnvcc uses them; a registry keeps them until
somebody deletes them there.`, arguments(1, 1))
	var p pushing
	fs := c.Flags()
	fs.StringVar(&p.sign, "sign", "",
		"sign with the ed25519 private key in this `file` (openssl genpkey -algorithm ed25519 -out FILE)")
	fs.BoolVar(&p.merge, "merge", false, "keep what the tag has from other stores, and add to it")
	fs.BoolVar(&p.over, "over", false, "replace what another store has pushed")
	fs.BoolVar(&p.captures, "captures", false, "push captured launches, not recipes")
	p.expires = seconds(30 * 24 * time.Hour)
	fs.Var(&p.expires, "expires", "with --captures: they expire after this `time`: 30d, 12h (default 30d)")
	fs.Lookup("expires").DefValue = ""
	oneOf(c, "merge", "over")
	oneOf(c, "merge", "captures")
	return tries(c, 2, func(args []string) error {
		ctx, stop := ended(context.Background())
		defer stop()
		switch {
		case c.Flags().Changed("expires") && !p.captures:
			return errors.New("--expires is for --captures: recipes do not expire")
		case p.expires <= 0:
			return errors.New("--expires must be more than 0: 30d, 12h")
		}
		return p.run(ctx, args[0])
	})
}

// A pushing is what is to be pushed, and how.
type pushing struct {
	sign                  string
	merge, over, captures bool
	expires               seconds
}

// A standingTag is what a tag has before a push.
type standingTag struct {
	digest    string // "-": it is not there
	index     *remote.Index
	text      []byte
	signature string
}

func (p *pushing) run(ctx context.Context, word string) error {
	reference, tag, err := referenceOf(word)
	if err == nil && tag == "" {
		err = fmt.Errorf("which tag? One publisher has one: oci://%s:$(hostname), say", reference)
	}
	if err != nil {
		return err
	}
	if p.captures {
		tag, reference = remote.CapturesTag(tag), remote.CapturesTag(reference)
	} else if remote.IsCaptures(tag) {
		return fmt.Errorf("%s is for captures (--captures)", tag)
	}
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	own, id, err := publishable(b.Store())
	if err != nil {
		return err
	}
	if len(own) == 0 && !p.captures {
		return errors.New(
			"nothing was measured into this store that can be pushed (gnvcc tune -- ./app; pinned, imported and approximate recipes stay here)")
	}
	c, err := newCarrier(reference)
	if err != nil {
		return err
	}
	defer c.work.Remove()
	shards := filepath.Join(c.work.Path, "theirs")
	if err := os.Mkdir(shards, 0o700); err != nil {
		return err
	}
	was, err := p.standing(ctx, c, tag, shards)
	if err != nil {
		return err
	}
	all, added := own, 0
	if p.merge {
		id = remote.Several // so that no later push takes the tag for one's own, and the others' away
	}
	if theirs := was.index; theirs != nil && (p.merge || theirs.Publisher != id) {
		switch {
		case p.merge:
			if all, err = merged(own, theirs, shards); err != nil {
				return fmt.Errorf("read what %s has: %w (--over replaces it)", word, err)
			}
			added = len(all) - len(own)
		case !p.over:
			return fmt.Errorf(
				"%s is another store's, or several stores' (on %s, pushed %s): take a tag of your own, or --merge, or --over", word,
				theirs.Host, theirs.Time.Local().Format("2006-01-02 15:04"))
		}
	}
	x, blobs, what, err := p.packed(b.Store(), all, filepath.Join(c.work.Path, "push", "shards"))
	if err != nil {
		return err
	}
	x.Tag, x.Publisher, x.Gnvcc = tag, id, ownVersion()
	x.Host, _ = os.Hostname()
	x.Time = time.Now().UTC().Truncate(time.Second)
	done, changed, err := p.signed(x, was)
	if err != nil || done {
		if done {
			fmt.Fprintf(console, "%s has these %s already\n", word, what)
		}
		return err
	}
	if err := p.send(ctx, c, x, blobs, was, tag); err != nil {
		return err
	}
	p.tell(x, word, what, changed, added)
	return nil
}

func (p *pushing) tell(x *remote.Index, word, what string, changed, added int) {
	fmt.Fprintf(console, "%s: %s pushed, %d of %d shards are new", word, what, changed, remote.Shards)
	if added > 0 {
		fmt.Fprintf(console, "; %d of them were there", added)
	}
	fmt.Fprintln(console)
	if p.captures {
		fmt.Fprintf(console, "they hold memory of your programs, which whoever may read that repository reads; used until %s (--expires)\n",
			x.Expires.Local().Format("2006-01-02 15:04"))
	}
}

// packed makes the shards, those of captures as files in a folder; what: so many of what.
func (p *pushing) packed(store *cache.Store, all []cache.Decision, to string) (x *remote.Index,
	blobs map[string][]byte, what string, err error) {
	if !p.captures {
		if x, blobs, err = remote.Pack(all); err == nil {
			what = policy.Count(x.Decisions(), "decision")
		}
		return x, blobs, what, err
	}
	captures, err := tuner.Captures(store)
	if err != nil {
		return nil, nil, "", err
	}
	names, list := captures.Files()
	if len(list) == 0 {
		return nil, nil, "", errors.New("no launches are captured (gnvcc tune -- ./app captures some)")
	}
	if x, err = remote.PackFiles(captures.Path(), names, to); err != nil {
		return nil, nil, "", fmt.Errorf("%w (gnvcc doctor --captures lists them, --drop removes some)", err)
	}
	x.Captures = len(list)
	x.Expires = time.Now().Add(time.Duration(p.expires)).UTC().Truncate(time.Second)
	return x, nil, policy.Count(len(list), "captured launch"), nil
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

// portable tells whether a decision may count on another machine: it was measured, its recipe is
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

// standing looks at what the tag has now.
func (p *pushing) standing(ctx context.Context, c *carrier, tag, shards string) (
	was standingTag, err error) {
	if !p.merge {
		shards = "-"
	}
	found, err := c.pull(ctx, nil, shards)
	if err != nil {
		return was, err
	}
	if f := found[tag]; f.Missing {
		was.digest = "-"
		return was, nil
	} else if was.digest = f.Digest; f.Error != "" {
		if p.over {
			return was, nil
		}
		return was, fmt.Errorf("look at what %s has: %s (--over replaces it)", c.reference, f.Error)
	}
	if was.text, was.signature, err = c.index(tag); err != nil {
		return was, err
	}
	if was.index, err = remote.ReadIndex(was.text, tag); err != nil {
		if was.index = nil; p.over {
			return was, nil
		}
		err = fmt.Errorf("look at what %s has: %w (--over replaces it)", c.reference, err)
	}
	return was, err
}

// merged adds one's own decisions to those of an artefact, under the rules of readers.
func merged(own []cache.Decision, theirs *remote.Index, shards string) ([]cache.Decision, error) {
	mine := make([]cache.Arrived, len(own))
	for i, d := range own {
		raw, err := json.Marshal(d)
		if err != nil {
			return nil, err
		}
		mine[i] = cache.Arrived{Decision: d, Raw: raw}
	}
	lists := [][]cache.Arrived{mine}
	for i, s := range theirs.Shards {
		packed, err := os.ReadFile(filepath.Join(shards, s.Digest))
		if err != nil {
			return nil, err
		}
		list, err := theirs.Unpack(i, packed)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	var out []cache.Decision
	for _, d := range remote.Merge(lists) {
		if portable(d.Decision) {
			out = append(out, d.Decision)
		}
	}
	return out, nil
}

// signed makes an index the next one of its tag. done: the tag has the same already, with the
// signature that is wanted; changed is how many shards are others.
func (p *pushing) signed(x *remote.Index, was standingTag) (done bool, changed int, err error) {
	changed = remote.Shards
	y := was.index
	if y == nil {
		return false, changed, nil
	}
	if !x.Time.After(y.Time) { // a clock that is behind the last pusher's
		x.Time = y.Time.Add(time.Second)
	}
	changed = 0
	for i := range x.Shards {
		if x.Shards[i] != y.Shards[i] {
			changed++
		}
	}
	signature := ""
	if p.sign != "" {
		if signature, err = remote.Sign(was.text, p.sign); err != nil {
			return false, changed, err
		}
	}
	same := changed == 0 && x.Publisher == y.Publisher && signature == was.signature
	return same && x.Expires.IsZero(), changed, nil // captures: they are to be used for longer
}

// send writes the artefact down for the carrier.
func (p *pushing) send(ctx context.Context, c *carrier, x *remote.Index, blobs map[string][]byte,
	was standingTag, tag string) error {
	out := filepath.Join(c.work.Path, "push")
	index, err := json.Marshal(x)
	if err == nil {
		err = os.MkdirAll(filepath.Join(out, "shards"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(out, "index"), index, 0o600)
	}
	if err == nil && p.sign != "" {
		var signature string
		if signature, err = remote.Sign(index, p.sign); err == nil {
			err = os.WriteFile(filepath.Join(out, "signature"), []byte(signature), 0o600)
		}
	}
	for digest, b := range blobs {
		if err == nil {
			err = os.WriteFile(filepath.Join(out, "shards", digest), b, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("write down what is to be pushed: %w", err)
	}
	digest, err := c.run(ctx, "push", c.reference, out, was.digest)
	if err != nil {
		return err
	}
	// No registry compares and swaps: whoever pushed between our look and our push has won, or lost.
	now, err := c.pull(ctx, nil, "-")
	if err == nil && now[tag].Digest != digest {
		err = fmt.Errorf("another has pushed to %s at the same moment: push again, and give each publisher a tag of its own",
			c.reference)
	}
	return err
}

// What gnvcc push and gnvcc pull have in common: the program that speaks with registries
// (cmd/gnvcc-oci), and what it leaves in a folder.

const carrierName = "gnvcc-oci"

// registryTimeout is how long a transfer of recipes may take; captures, up to some GB, have fifteen
// times as long. It is a variable for tests.
var registryTimeout = time.Minute

// A carrier runs that program.
type carrier struct {
	program   string
	reference string // HOST/REPO, or HOST/REPO:TAG
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
	work, err := scratch.New()
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	return &carrier{program, reference, work}, nil
}

// run has it do something, and gives what it prints.
func (c *carrier) run(ctx context.Context, args ...string) (string, error) {
	timeout := registryTimeout
	if remote.IsCaptures(c.reference) {
		timeout *= 15
	}
	// It ends itself in time; what hangs all the same is ended from here.
	ctx, cancel := context.WithTimeout(ctx, timeout+5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, append([]string{"--timeout", timeout.String()}, args...)...)
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
