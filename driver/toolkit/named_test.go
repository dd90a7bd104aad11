// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/driver/environment"
)

// TestNamed: a toolkit goes by its version or its folder; which there are is said where it is none
// of them.
func TestNamed(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"12.4", "13.5"} {
		bin := filepath.Join(root, version, "bin")
		os.MkdirAll(bin, 0o700)
		os.WriteFile(filepath.Join(bin, "nvcc"), []byte("#!/bin/sh\n"), 0o700)
		os.WriteFile(filepath.Join(bin, "nvcc.profile"), nil, 0o600)
	}
	env := environment.Of([]string{"GNVCC_TOOLKITS=" + root, "PATH=" + t.TempDir()})
	for _, word := range []string{"13.5", filepath.Join(root, "13.5"),
		filepath.Join(root, "13.5", "bin", "nvcc")} {
		got, err := Named("", env, word)
		if err != nil || got.Nvcc != filepath.Join(root, "13.5", "bin", "nvcc") {
			t.Errorf("%s: %+v, %v", word, got, err)
		}
	}
	for word, says := range map[string]string{"13.4": "12.4, 13.5", root: "no nvcc at",
		"./nowhere": "no nvcc at"} {
		if _, err := Named("", env, word); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", word, err)
		}
	}
	self := filepath.Join(root, "13.5", "bin", "nvcc")
	if _, err := Named(self, env, self); err == nil || !strings.Contains(err.Error(), "gnvcc itself") {
		t.Errorf("gnvcc's own file: %v", err)
	}
}
