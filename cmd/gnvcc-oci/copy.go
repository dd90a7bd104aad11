package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"

	"gnvcc/cache/remote"
)

const (
	// how many requests are under way at a time
	requests = 8
	// bounds what a registry may have us ask for
	maxTags = 100_000
)

// push sends the artefact with a manifest from a folder of blobs and tags it, if the tag still has
// the manifest expected ("-": none). Registries have no compare-and-swap: whoever pushes between
// the two looks at the tag has won, or lost.
func (r *repository) push(ctx context.Context, folder, manifest, expected string) error {
	info, err := os.Stat(remote.BlobPath(folder, manifest))
	if err != nil {
		return err
	}
	from, err := oci.NewStorage(folder)
	if err != nil {
		return err
	}
	d := v1.Descriptor{MediaType: v1.MediaTypeImageManifest, Digest: digest.Digest(manifest), Size: info.Size()}
	if err := oras.CopyGraph(ctx, from, r, d, oras.CopyGraphOptions{Concurrency: requests}); err != nil {
		return err
	}
	has := func(want string) error {
		now, err := r.Resolve(ctx, r.tag)
		if errors.Is(err, errdef.ErrNotFound) {
			now.Digest, err = "-", nil
		}
		if err == nil && now.Digest.String() != want {
			err = fmt.Errorf("somebody else has pushed to %s at the same moment: push again, and give each publisher a tag of its own", r.Reference)
		}
		return err
	}
	if err := has(expected); err != nil {
		return err
	}
	if err := r.Tag(ctx, d, r.tag); err != nil {
		return err
	}
	return has(manifest)
}

// pull brings what stands under the tag, or under all tags, into a folder of blobs: completely, or
// without the shards. It prints what became of each tag. Trouble with one tag is that tag's.
func (r *repository) pull(ctx context.Context, folder string, whole bool) error {
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
	to, err := oci.NewStorage(folder)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	all := map[string]remote.Pulled{}
	var g errgroup.Group
	g.SetLimit(requests)
	for _, tag := range tags {
		if r.tag == "" && strings.HasSuffix(tag, ".captures") {
			continue // captured launches, which an earlier gnvcc pushed
		}
		g.Go(func() error {
			var p remote.Pulled
			d, err := r.Resolve(ctx, tag)
			switch {
			case errors.Is(err, errdef.ErrNotFound):
			case err != nil: // the registry's trouble, not the tag's
				return err
			default:
				p.Digest = d.Digest.String()
				if err := r.fetch(ctx, to, d, whole); ctx.Err() != nil {
					return ctx.Err()
				} else if err != nil {
					p.Error = "fetch it: " + err.Error()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all[tag] = p
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// fetch brings a manifest, and before it what the manifest names; what the folder has is not
// fetched again.
func (r *repository) fetch(ctx context.Context, to *oci.Storage, d v1.Descriptor, whole bool) error {
	unknown := errors.New("it was not pushed by gnvcc push")
	if d.MediaType != v1.MediaTypeImageManifest {
		return unknown
	}
	o := oras.CopyGraphOptions{Concurrency: requests}
	o.FindSuccessors = func(ctx context.Context, from content.Fetcher, d v1.Descriptor) ([]v1.Descriptor, error) {
		if d.MediaType != v1.MediaTypeImageManifest {
			return nil, nil
		}
		text, err := content.FetchAll(ctx, from, d)
		if err != nil {
			return nil, err
		}
		var m v1.Manifest
		if json.Unmarshal(text, &m) != nil || m.Config.MediaType != remote.IndexType ||
			m.Config.Size > remote.MaxIndex || len(m.Layers) != remote.Shards {
			return nil, unknown
		}
		if !whole {
			return []v1.Descriptor{m.Config}, nil
		}
		for _, l := range m.Layers {
			if l.Size < 0 || l.Size > remote.MaxShard || l.MediaType == v1.MediaTypeImageManifest {
				return nil, fmt.Errorf("%d bytes: at most %d are taken", l.Size, remote.MaxShard)
			}
		}
		return append(m.Layers, m.Config), nil
	}
	return oras.CopyGraph(ctx, r, to, d, o)
}
