package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
)

// push puts the artefact in a folder under the tag, if that still has the manifest with the digest
// expected ("-": is not there yet), and prints the new one's. Registries have no compare-and-swap:
// between the look and the push another one may come, and gnvcc push looks again when it is done.
func (r *repository) push(ctx context.Context, dir, expected string) error {
	index, err := os.ReadFile(filepath.Join(dir, indexName))
	if err != nil {
		return err
	}
	signature, err := os.ReadFile(filepath.Join(dir, signatureName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var listed struct {
		Expires string
		Shards  []struct{ Digest string }
	}
	if err := json.Unmarshal(index, &listed); err != nil {
		return err
	}
	config := described(indexType, index)
	m := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: v1.MediaTypeImageManifest, ArtifactType: artefactType, Config: config}
	shards := shardType
	m.Annotations = map[string]string{}
	if len(signature) > 0 {
		m.Annotations[signatureNote] = string(signature)
	}
	if listed.Expires != "" {
		m.Annotations[expiresNote], m.ArtifactType, shards = listed.Expires, capturesType, filesType
	}
	g, blobs := errgroup.WithContext(ctx)
	g.SetLimit(8)
	g.Go(func() error { return r.blob(blobs, config, index) })
	sent := map[string]bool{}
	for _, s := range listed.Shards {
		b, err := os.ReadFile(filepath.Join(dir, shardsName, s.Digest))
		if err != nil {
			return err
		}
		d := described(shards, b)
		m.Layers = append(m.Layers, d)
		if !sent[s.Digest] {
			sent[s.Digest] = true
			g.Go(func() error { return r.blob(blobs, d, b) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	now, err := r.Resolve(ctx, r.tag)
	switch {
	case errors.Is(err, errNotFound):
		now.Digest = "-"
	case err != nil:
		return err
	}
	if string(now.Digest) != expected {
		return fmt.Errorf("somebody else has pushed to %s meanwhile: push again", r.Reference)
	}
	d := described(v1.MediaTypeImageManifest, text)
	if err := r.Manifests().PushReference(ctx, d, bytes.NewReader(text), r.tag); err != nil {
		return err
	}
	fmt.Println(d.Digest)
	return nil
}

func described(kind string, b []byte) v1.Descriptor {
	return v1.Descriptor{MediaType: kind, Digest: digest.FromBytes(b), Size: int64(len(b))}
}

// blob sends what the registry does not have.
func (r *repository) blob(ctx context.Context, d v1.Descriptor, b []byte) error {
	there, err := r.Blobs().Exists(ctx, d)
	if err == nil && !there {
		err = r.Blobs().Push(ctx, d, bytes.NewReader(b))
	}
	if err != nil {
		return fmt.Errorf("send %s: %w", strings.TrimPrefix(d.MediaType, "application/"), err)
	}
	return nil
}
