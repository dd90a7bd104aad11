// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"gnvcc/cache/remote"
)

// TestRoom: captures are brought only where the disk has room for them, packed and unpacked; what
// was brought before it was full goes. Recipes, which are small, come all the same.
func TestRoom(t *testing.T) {
	blobs := map[string][]byte{}
	put := func(kind, text string) v1.Descriptor {
		d := described(kind, []byte(text))
		blobs[d.Digest.String()] = []byte(text)
		return d
	}
	m := v1.Manifest{MediaType: v1.MediaTypeImageManifest, Config: put(indexType, "{}")}
	for i := range remote.Shards {
		m.Layers = append(m.Layers, put(filesType, strings.Repeat("x", 1000+i)))
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	top := described(v1.MediaTypeImageManifest, text)
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", top.MediaType)
			w.Header().Set("Docker-Content-Digest", top.Digest.String())
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			w.Write(text)
			return
		}
		b := blobs[filepath.Base(r.URL.Path)]
		if len(b) > 100 {
			asked.Add(1)
		}
		w.Write(b)
	}))
	defer s.Close()
	r, err := open(strings.TrimPrefix(s.URL, "http://") + "/team/recipes")
	if err != nil {
		t.Fatal(err)
	}
	pull := func(tag, shards string) (int, error) {
		asked.Store(0)
		_, err := r.one(context.Background(), tag, "", t.TempDir(), shards)
		return int(asked.Load()), err
	}
	to := t.TempDir()
	if n, err := pull("a.captures", to); err != nil || n != remote.Shards {
		t.Errorf("%d shards: %v", n, err)
	}
	if err := os.Remove(filepath.Join(to, m.Layers[3].Digest.Encoded())); err != nil {
		t.Fatal(err)
	}
	if n, err := pull("a.captures", to); err != nil || n != 1 {
		t.Errorf("%d shards, where one was missing: %v", n, err)
	}
	const full = "/proc/self" // a file system without room
	if n, err := pull("a.captures", full); n != 0 || err == nil ||
		!strings.Contains(err.Error(), "nearly full") {
		t.Errorf("%d shards are asked for, for a full disk: %v", n, err)
	}
	if n, err := pull("a", full); n != 1 || err == nil || strings.Contains(err.Error(), "nearly full") {
		t.Errorf("%d shards of recipes: %v", n, err)
	}
}
