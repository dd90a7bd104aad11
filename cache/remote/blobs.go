package remote

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gnvcc/cache"
)

// What a registry has of an artefact, and what cmd/gnvcc-oci copies: blobs named by their hashes.
// The one that a tag stands for is the manifest; it names the index, the shards, and the signature.

const (
	// IndexType is what a manifest calls the index.
	IndexType    = "application/vnd.gnvcc.index.v1+json"
	shardType    = "application/vnd.gnvcc.shard.v1+zstd"
	manifestType = "application/vnd.oci.image.manifest.v1+json"

	signatureNote = "gnvcc.signature"
)

// Pulled is what became of one tag: no digest, there is no such tag.
type Pulled struct{ Digest, Error string }

type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations"`
}

// Blobs is where a folder has its blobs.
func Blobs(folder string) string { return filepath.Join(folder, "blobs", "sha256") }

// BlobPath is where it has the one with a digest.
func BlobPath(folder, digest string) string {
	return filepath.Join(Blobs(folder), strings.TrimPrefix(digest, "sha256:"))
}

// put writes a blob, and gives its digest.
func put(folder string, b []byte) (string, error) {
	digest := "sha256:" + cache.Hash(b)
	err := os.MkdirAll(Blobs(folder), 0o700)
	if err == nil {
		err = os.WriteFile(BlobPath(folder, digest), b, 0o600)
	}
	return digest, err
}

// Write writes the index and its manifest next to the shards, signed by the key in a file ("": not
// signed), and gives the manifest's digest.
func (x *Index) Write(folder, keyFile string) (string, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return "", err
	}
	m := manifest{SchemaVersion: 2, MediaType: manifestType, ArtifactType: "application/vnd.gnvcc.recipes.v1",
		Config: descriptor{MediaType: IndexType, Size: int64(len(text))}, Annotations: map[string]string{}}
	for _, s := range x.Shards {
		m.Layers = append(m.Layers, descriptor{shardType, "sha256:" + s.Digest, s.Size})
	}
	if keyFile != "" {
		if m.Annotations[signatureNote], err = Sign(text, keyFile); err != nil {
			return "", err
		}
	}
	if m.Config.Digest, err = put(folder, text); err != nil {
		return "", err
	}
	if text, err = json.Marshal(m); err != nil {
		return "", err
	}
	return put(folder, text)
}

// Artefact reads the index that a manifest names, as it came, and the signature.
func Artefact(folder, digest string) (index []byte, signature string, err error) {
	text, err := os.ReadFile(BlobPath(folder, digest))
	if err != nil {
		return nil, "", err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, "", fmt.Errorf("its manifest can't be read: %w", err)
	}
	hash := strings.TrimPrefix(m.Config.Digest, "sha256:")
	if !cache.IsHash(hash) {
		return nil, "", fmt.Errorf("%q is no digest", m.Config.Digest)
	}
	index, err = cache.ReadRegular(BlobPath(folder, hash), MaxIndex)
	return index, m.Annotations[signatureNote], err
}
