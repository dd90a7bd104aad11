package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/content"

	"gnvcc/cache/remote"
	"gnvcc/profile/capture"
)

// at is how many requests are under way at a time.
const at = 8

// maxTags bounds what a registry may have us ask for.
const maxTags = 100_000

// A found is what became of one tag.
type found struct {
	Digest  string
	Missing bool   `json:",omitempty"` // there is no such tag
	New     bool   // its index lies in the folder, and its shards
	Error   string `json:",omitempty"`
}

// pull brings what stands under the tag, or under all tags, and is not yet here: of each tag
// TAG.index and TAG.signature into the folder work, shards into shards ("-": none), by their hash.
// have.json in work says which manifest was pulled last of each tag; pulled.json says what became
// of each. Trouble with one tag is that tag's.
func (r *repository) pull(ctx context.Context, work, shards string) error {
	have := map[string]string{}
	if text, err := os.ReadFile(filepath.Join(work, haveName)); err == nil {
		if err := json.Unmarshal(text, &have); err != nil {
			return err
		}
	}
	tags := []string{r.tag}
	if r.tag == "" {
		tags = nil
		err := r.Tags(ctx, "", func(more []string) error {
			if tags = append(tags, more...); len(tags) > maxTags {
				return fmt.Errorf("more than %d tags", maxTags)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	var mu sync.Mutex
	all := map[string]found{}
	var g errgroup.Group
	g.SetLimit(at)
	for _, tag := range tags {
		g.Go(func() error {
			if !remote.IsTag(tag) || r.tag == "" && remote.IsCaptures(tag) {
				return nil // it becomes the name of a file; captures are for who asks for them
			}
			f, err := r.one(ctx, tag, have[tag], work, shards)
			switch {
			case errors.Is(err, errNotFound) && f.Digest == "":
				f.Missing = true
			case err != nil && f.Digest == "": // the registry's trouble, not the tag's
				return err
			case err != nil && ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				f.Error = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			all[tag] = f
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(work, pulledName), text, 0o600)
}

// one brings what stands under a tag.
func (r *repository) one(ctx context.Context, tag, have, work, shards string) (f found, err error) {
	d, err := r.Resolve(ctx, tag)
	if err != nil {
		return f, err
	}
	f.Digest = d.Digest.String()
	if f.Digest == have {
		return f, nil
	}
	text, err := content.FetchAll(ctx, r.Manifests(), d)
	if err != nil {
		return f, err
	}
	var m v1.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return f, fmt.Errorf("its manifest can't be read: %w", err)
	}
	if m.Config.MediaType != indexType || m.Config.Size > remote.MaxIndex ||
		len(m.Layers) != remote.Shards {
		return f, errors.New("it was not pushed by gnvcc push")
	}
	index, err := content.FetchAll(ctx, r.Blobs(), m.Config)
	if err != nil {
		return f, fmt.Errorf("fetch its index: %w", err)
	}
	if shards != "-" {
		if err := r.shards(ctx, m.Layers, shards, remote.IsCaptures(tag)); err != nil {
			return f, fmt.Errorf("fetch a shard: %w", err)
		}
	}
	err = os.WriteFile(filepath.Join(work, tag+"."+signatureName),
		[]byte(m.Annotations[signatureNote]), 0o600)
	if err == nil {
		err = os.WriteFile(filepath.Join(work, tag+"."+indexName), index, 0o600)
	}
	f.New = err == nil
	return f, err
}

// shards brings those that are not here. Captures may have gigabytes, and are unpacked beside them
// (unpacked): whether the disk has room for both is looked at before each, since others write, too.
func (r *repository) shards(ctx context.Context, list []v1.Descriptor, dir string,
	unpacked bool) error {
	var paths []string
	var whole, missing int64
	for _, l := range list {
		name := strings.TrimPrefix(l.Digest.String(), "sha256:")
		if err := l.Digest.Validate(); err != nil || len(name) != 64 {
			return fmt.Errorf("%q is no digest", l.Digest)
		}
		if l.Size < 0 || l.Size > remote.MaxShard {
			return fmt.Errorf("%d bytes: at most %d are taken", l.Size, remote.MaxShard)
		}
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err == nil && info.Size() == l.Size {
			path = "" // it is here
		} else {
			missing += l.Size
		}
		whole, paths = whole+l.Size, append(paths, path)
	}
	for i, l := range list {
		if paths[i] == "" {
			continue
		}
		if unpacked {
			if err := capture.RoomFor(dir, whole+missing); err != nil {
				for _, path := range paths[:i] {
					os.Remove(path)
				}
				return err
			}
		}
		if err := r.shard(ctx, l, paths[i]); err != nil {
			return err
		}
		missing -= l.Size
	}
	return nil
}

// shard brings one. A file that a killed pull left has another name.
func (r *repository) shard(ctx context.Context, l v1.Descriptor, path string) error {
	b, err := content.FetchAll(ctx, r.Blobs(), l) // compares size and digest
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
