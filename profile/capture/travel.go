// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Captures on their way to another machine: the files that they consist of, and what is wrong with
// files that come from one. Who brings them is cache/remote's affair.

// Files are those of the captures that are whole, by their paths in the folder.
func (s *Store) Files() (names []string, list []*Manifest) {
	all, _ := s.List()
	for _, m := range all {
		files := []string{"launches/" + m.ID + ".json"}
		for _, c := range m.chunks() {
			if hashes().MatchString(c.Hash) {
				files = append(files, path.Join("chunks", c.Hash[:2], c.Hash+".zst"))
			}
		}
		if len(files) == 1+len(m.chunks()) && !slices.ContainsFunc(files, func(name string) bool {
			_, err := os.Stat(filepath.Join(s.dir, name))
			return err != nil
		}) {
			names, list = append(names, files...), append(list, m)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), list
}

// CheckFile says what is wrong with a file that is to be one of a folder of captures; dir's disk is
// not filled with it.
func CheckFile(dir, name string, content []byte) error {
	if err := RoomFor(dir, int64(len(content))); err != nil {
		return err
	}
	base := path.Base(name)
	if id, ok := strings.CutSuffix(base, ".json"); ok && ids().MatchString(id) &&
		name == "launches/"+base {
		m, err := decode(content, id)
		if err == nil {
			_, _, _, err = settingsOf(m.Settings)
		}
		return err
	}
	hash, ok := strings.CutSuffix(base, ".zst")
	if !ok || !hashes().MatchString(hash) || name != path.Join("chunks", hash[:2], base) {
		return damaged("no file of a folder of captures")
	}
	_, err := unpacked(hash, content)
	return err
}

// CheckFolder says whether a folder has so many captures, and each of them all that it names.
func CheckFolder(dir string, captures int) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	if _, list := s.Files(); len(list) != captures || captures == 0 {
		return fmt.Errorf("%d of its %d captures are intact", len(list), captures)
	}
	return nil
}
