// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"

	"gnvcc/cache/remote"
)

// TestRoom: captures are brought only where the disk has room for them, packed and unpacked.
func TestRoom(t *testing.T) {
	blobs := map[string][]byte{}
	put := func(kind, text string) v1.Descriptor {
		d := content.NewDescriptorFromBytes(kind, []byte(text))
		blobs[d.Digest.String()] = []byte(text)
		return d
	}
	m := v1.Manifest{MediaType: v1.MediaTypeImageManifest, Config: put(remote.IndexType, "{}")}
	for i := range remote.Shards {
		m.Layers = append(m.Layers, put(remote.FilesType, strings.Repeat("x", 1000+i)))
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	top := content.NewDescriptorFromBytes(v1.MediaTypeImageManifest, text)
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
	full := errors.New("nearly full")
	roomFor = func(_ string, bytes int64) error {
		if bytes < 2*1000*remote.Shards {
			t.Errorf("room for %d bytes is enough", bytes)
		}
		return full
	}
	pull := func() (int, error) {
		asked.Store(0)
		dir := t.TempDir()
		to, err := oci.NewStorage(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = r.fetch(context.Background(), to, top, dir, true)
		return int(asked.Load()), err
	}
	if n, err := pull(); n != 0 || !errors.Is(err, full) {
		t.Errorf("%d shards are asked for, for a full disk: %v", n, err)
	}
	roomFor = func(string, int64) error { return nil }
	if n, err := pull(); n != remote.Shards || err != nil {
		t.Errorf("%d shards: %v", n, err)
	}
}
