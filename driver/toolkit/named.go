// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/driver/environment"
)

// A toolkit that somebody asks for by its version, besides the one that builds take.

// Named finds the toolkit of a version ("13.5"), or in a folder, or of an nvcc.
func Named(self string, env *environment.Environment, word string) (Toolkit, error) {
	if strings.Contains(word, "/") {
		path, err := filepath.Abs(word)
		if err != nil {
			return Toolkit{}, err
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, "bin", "nvcc")
		}
		if !executable(path) {
			return Toolkit{}, fmt.Errorf("there is no nvcc at %s", word)
		}
		if mine, err := os.Stat(self); err == nil {
			if info, err := os.Stat(path); err == nil && os.SameFile(mine, info) {
				return Toolkit{}, fmt.Errorf("%s is gnvcc itself, and no toolkit's nvcc", word)
			}
		}
		return Toolkit{home(path), word}, nil
	}
	dirs := installed(env)
	more, _ := filepath.Glob(defaultToolkit + "-[0-9]*")
	var have []string
	for _, dir := range append(dirs, more...) {
		version := strings.TrimPrefix(filepath.Base(dir), "cuda-")
		path := filepath.Join(dir, "bin", "nvcc")
		if !executable(path) {
			continue
		}
		if version == word {
			return Toolkit{home(path), dir}, nil
		}
		have = append(have, version)
	}
	if found, err := Find(self, env); err == nil {
		if id, err := os.Stat(found.Nvcc); err == nil {
			version, err := VersionOf(nil, found.Nvcc, id.Name())
			if err == nil && (version == word || strings.HasPrefix(version, word+".")) {
				return found, nil
			}
			have = append(have, version)
		}
	}
	slices.Sort(have)
	there := "none"
	if have = slices.Compact(have); len(have) > 0 {
		there = strings.Join(have, ", ")
	}
	return Toolkit{}, fmt.Errorf(
		"CUDA %s is not on this machine (there is %s): install/toolkit %s gets it, or name its folder",
		word, there, word)
}
