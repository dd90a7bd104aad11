package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/cache/remote"
	"gnvcc/policy"
	"gnvcc/profile/capture"
)

func pullVerb() *cobra.Command {
	c := newVerb("pull [OPTIONS] oci://HOST/REPOSITORY[:TAG] | pull [NAME...] | pull --remove NAME",
		"download recipes from a registry; builds use them after your own",
		`Brings the decisions under a tag of an OCI registry, or, without a tag, those of all publishers, merged: of two on one kernel
and GPU the measured one, then the newer, then the one with more evidence. Builds on this machine take them for kernels that it
has not measured itself, as those of stores in GNVCC_STORE, and behind these. No build asks the registry: what was pulled counts
until the next pull. What is cut, altered, not signed by a key that is asked for, or older than what was pulled before is
refused, and what was there stays. Without an address: what was pulled before, again.

With --captures: the captured launches that were pushed beside a tag, for tune, compare and judge --captures NAME. They are
replayed with the code that was built here of kernels of their names, never with their publisher's. Those that have expired are
not used.`,
		arguments(0, -1))
	var p pulling
	fs := c.Flags()
	fs.StringVar(&p.name, "as", "", "call it this `name` here (default: the repository's last word, and the tag)")
	fs.StringVar(&p.keys, "require-signed", "",
		"take only what one of the ed25519 public keys in this `file` has signed; this pull, and all later ones of it")
	fs.BoolVar(&p.captures, "captures", false, "bring captured launches, not recipes")
	fs.StringVar(&p.remove, "remove", "", "take the remote of this `name` away")
	return onStore(c, 2, p.run)
}

// A pulling is what is to be pulled, and how.
type pulling struct {
	name, keys, remove string
	captures           bool
}

func (p *pulling) run(ctx context.Context, store *cache.Store, words []string) error {
	if p.remove != "" {
		if len(words) > 0 {
			return errors.New("--remove takes the name of one remote, and nothing else")
		}
		if err := remote.Remove(store, p.remove); err != nil {
			return err
		}
		fmt.Fprintf(console, "%s is removed; gnvcc apply builds without it\n", p.remove)
		return nil
	}
	if len(words) > 0 && strings.Contains(words[0], "://") {
		if len(words) > 1 {
			return fmt.Errorf("unexpected argument %q: one address at a time", words[1])
		}
		reference, tag, err := referenceOf(words[0])
		switch {
		case err != nil:
			return err
		case p.captures && tag == "":
			return fmt.Errorf("which tag? Captures are brought from one: %s:TAG", words[0])
		case p.captures:
			reference = remote.CapturesTag(reference)
		case remote.IsCaptures(reference):
			return fmt.Errorf("%s has captures (--captures)", tag)
		}
		return p.one(ctx, store, p.named(reference), reference)
	}
	if p.name != "" || p.captures {
		return errors.New("--as and --captures are for an address")
	}
	all, err := remote.All(store)
	names := words
	for _, r := range all {
		if len(words) == 0 {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 && err == nil {
		return errors.New("nothing was pulled before: gnvcc pull oci://HOST/REPOSITORY")
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(r *remote.Remote) bool { return r.Name == name }) {
			err = errors.Join(err, fmt.Errorf("there is no remote %s", name))
			continue
		}
		err = errors.Join(err, p.one(ctx, store, name, ""))
	}
	return err
}

// named is what the remote at an address is called here.
func (p *pulling) named(reference string) string {
	if p.captures && p.name != "" {
		return remote.CapturesTag(p.name)
	}
	return cmp.Or(p.name, remote.NameOf(reference))
}

// one pulls a remote; reference "": from where it was pulled before.
func (p *pulling) one(ctx context.Context, store *cache.Store, name, reference string) error {
	r, err := remote.Open(store, name, reference)
	if err != nil {
		return err
	}
	defer r.Close()
	if p.keys != "" {
		if r.Keys, err = filepath.Abs(p.keys); err != nil {
			return err
		}
	}
	var keys remote.Keys
	if r.Keys != "" {
		if keys, err = remote.ReadKeys(r.Keys); err != nil {
			return err
		}
	}
	late := r.Expire()
	c, err := newCarrier(r.Reference)
	if err != nil {
		return errors.Join(late, err)
	}
	defer c.work.Remove()
	r.Sound.File = func(name string, content []byte) error {
		return capture.CheckFile(r.ShardsDir(), name, content)
	}
	r.Sound.Whole = capture.CheckFolder
	have, captures := map[string]string{}, remote.IsCaptures(r.Reference)
	_, gone := os.Stat(r.CapturesDir()) // a pull that was killed
	for tag, t := range r.Tags {
		if (keys == nil || keys.Has(t.Signed)) && (!captures || gone == nil) {
			have[tag] = t.Digest
		}
	}
	found, err := c.pull(ctx, have, r.ShardsDir())
	if err != nil {
		return errors.Join(late, err)
	}
	changed, problems := p.take(r, c, keys, have, found)
	r.Pulled = time.Now().UTC().Truncate(time.Second)
	n, left := 0, 0
	if captures {
		return errors.Join(problems, r.Note(), p.tellCaptures(r))
	}
	if changed || !r.Published() {
		n, left, err = r.Publish(func(d cache.Decision) bool { return portable(d) })
		err = errors.Join(problems, err)
	} else {
		err = errors.Join(problems, r.Note())
	}
	if changed || err == nil {
		p.tell(r, changed, n, left)
	}
	return err
}

// take judges what was found, and keeps in r what is sound.
func (p *pulling) take(r *remote.Remote, c *carrier, keys remote.Keys, have map[string]string,
	found map[string]carried) (changed bool, problems error) {
	wrong := func(tag string, err error) {
		problems = errors.Join(problems, fmt.Errorf("%s: %s: %w", r.Name, tag, err))
		if _, was := r.Tags[tag]; was && have[tag] == "" { // nobody who is believed has signed it
			delete(r.Tags, tag)
			changed = true
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(found)) {
		f := found[tag]
		switch {
		case f.Missing:
			wrong(tag, errors.New("the registry has no such tag; what was pulled before stays"))
		case f.Error != "":
			wrong(tag, errors.New(f.Error))
		case f.New:
			index, signature, err := c.index(tag)
			if err != nil {
				wrong(tag, err)
				continue
			}
			_, signed, err := r.Check(tag, index, signature, keys)
			if err != nil {
				wrong(tag, err)
				continue
			}
			r.Tags[tag] = remote.Tag{Digest: f.Digest, Index: index, Signed: signed}
			changed = true
		}
	}
	for tag := range r.Tags {
		if _, there := found[tag]; !there { // its publisher has taken it away
			delete(r.Tags, tag)
			changed = true
		}
	}
	return changed, problems
}

// tellCaptures says what there is, and takes away what nobody who is believed stands for any more.
func (p *pulling) tellCaptures(r *remote.Remote) error {
	x := r.Captured()
	if x == nil {
		return os.RemoveAll(r.CapturesDir())
	}
	fmt.Fprintf(console, "%s: %s from oci://%s, used until %s; tune, compare and judge take them with --captures %s\n",
		r.Name, policy.Count(x.Captures, "captured launch"), r.Reference,
		x.Expires.Local().Format("2006-01-02 15:04"), r.Name)
	return nil
}

func (p *pulling) tell(r *remote.Remote, changed bool, n, left int) {
	if !changed {
		fmt.Fprintf(console, "%s: nothing new in oci://%s\n", r.Name, r.Reference)
		return
	}
	fmt.Fprintf(console, "%s: %s of %s from oci://%s", r.Name, policy.Count(n, "decision"),
		policy.Count(len(r.Tags), "publisher"), r.Reference)
	if left > 0 {
		fmt.Fprintf(console, "; %d left out (of another version)", left)
	}
	fmt.Fprintln(console, "; gnvcc apply builds with them")
}

// sayRemotes is doctor's word on what was pulled, and when.
func sayRemotes(say sayer, store *cache.Store) {
	all, err := remote.All(store)
	if err != nil {
		say(cache.Note, "", "what was pulled: %v", err)
	}
	for _, r := range all {
		signed := ""
		if r.Keys != "" {
			signed = ", signed by a key of " + r.Keys
			if _, err := os.Stat(r.Keys); err != nil {
				signed += " (which is gone)"
			}
		}
		if x := r.Captured(); x != nil {
			signed += ", used until " + x.Expires.Local().Format("2006-01-02")
		}
		say(cache.Fine, "", "remote %s: oci://%s, %s%s; pulled %s ago, pushed %s ago", r.Name,
			r.Reference, policy.Count(len(r.Tags), "publisher"), signed, cache.AgeText(r.Pulled),
			cache.AgeText(r.Newest()))
	}
}
