package main

import (
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
)

func pullVerb() *cobra.Command {
	c := newVerb("pull [OPTIONS] oci://HOST/REPOSITORY[:TAG] | pull [NAME...] | pull --remove NAME",
		"download recipes from a registry; builds use them after your own",
		`Brings the decisions under a tag of an OCI registry, or, without a tag, those of all publishers, merged: of two on one kernel
and GPU the measured one, then the newer, then the one with more evidence. Builds on this machine take them for kernels that it
has not measured itself, as those of stores in GNVCC_STORE, and behind these. No build asks the registry: what was pulled counts
until the next pull. What is cut, altered, not signed by a key that is asked for, or older than what was pulled before is
refused, and what was there stays. It is called REPOSITORY-TAG here, with - for each /. Without an address: what was pulled before, again.`,
		arguments(0, -1))
	var p pulling
	fs := c.Flags()
	fs.StringVar(&p.keys, "require-signed", "",
		"take only what one of the ed25519 public keys in this `file` has signed; this pull, and all later ones of it")
	fs.StringVar(&p.remove, "remove", "", "take the remote of this `name` away")
	return onStore(c, 2, p.run)
}

// A pulling is what is to be pulled, and how.
type pulling struct{ keys, remove string }

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
		reference, _, err := referenceOf(words[0])
		if err != nil {
			return err
		}
		return p.one(ctx, store, remote.NameOf(reference), reference)
	}
	all, err := remote.All(store)
	var known []string
	for _, r := range all {
		known = append(known, r.Name)
	}
	if len(words) == 0 {
		words = known
	}
	if len(words) == 0 && err == nil {
		return errors.New("nothing was pulled before: gnvcc pull oci://HOST/REPOSITORY")
	}
	for _, name := range words {
		if !slices.Contains(known, name) {
			err = errors.Join(err, fmt.Errorf("there is no remote %s", name))
			continue
		}
		err = errors.Join(err, p.one(ctx, store, name, ""))
	}
	return err
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
	c, err := newCarrier(r.Reference)
	if err != nil {
		return err
	}
	sound := map[string]bool{}
	for tag, t := range r.Tags {
		if sound[tag] = keys == nil || keys.Has(t.Signed); !sound[tag] {
			r.Again(tag)
		}
	}
	found, err := c.pull(ctx, "pull", r.Dir())
	if err != nil {
		return err
	}
	changed, problems := takePulled(r, keys, sound, found)
	r.Pulled = time.Now().UTC().Truncate(time.Second)
	n, left := 0, 0
	if changed || !r.Published() {
		n, left, err = r.Publish(portable)
	} else {
		err = r.Note()
	}
	if err = errors.Join(problems, err); changed || err == nil {
		tellPulled(r, changed, n, left)
	}
	return err
}

// takePulled judges what was found, and keeps in r what is sound: what was, and stands in the registry as
// it was, is sound.
func takePulled(r *remote.Remote, keys remote.Keys, sound map[string]bool,
	found map[string]remote.Pulled) (changed bool, problems error) {
	for _, tag := range slices.Sorted(maps.Keys(found)) {
		f, err := found[tag], error(nil)
		switch {
		case f.Digest == "":
			err = errors.New("the registry has no such tag; what was pulled before stays")
		case f.Error != "":
			err = errors.New(f.Error)
		case sound[tag] && r.Tags[tag].Digest == f.Digest:
			continue
		default:
			t := remote.Tag{Digest: f.Digest}
			signature := ""
			if t.Index, signature, err = remote.Artefact(r.Dir(), f.Digest); err == nil {
				_, t.Signed, err = r.Check(tag, t.Index, signature, keys)
			}
			if err == nil {
				r.Tags[tag], changed = t, true
				continue
			}
		}
		problems = errors.Join(problems, fmt.Errorf("%s: %s: %w", r.Name, tag, err))
		if _, was := r.Tags[tag]; was && !sound[tag] { // no trusted key has signed it
			delete(r.Tags, tag)
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

func tellPulled(r *remote.Remote, changed bool, n, left int) {
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
		say(cache.Fine, "", "remote %s: oci://%s, %s%s; pulled %s ago, pushed %s ago", r.Name,
			r.Reference, policy.Count(len(r.Tags), "publisher"), signed, cache.AgeText(r.Pulled),
			cache.AgeText(r.Newest()))
	}
}
