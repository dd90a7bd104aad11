package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/policy"
	"gnvcc/policy/report"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
)

// Whose decisions a report shows: those on kernels that were built in and below a folder, and those
// on kernels that programs there were seen to launch. A store serves all projects of a user.

// A scope is a folder's part of the store.
type scope struct {
	folder  string // absolute; "": everything
	kernels map[string]bool
	places  map[string]report.Place // by identity
	real    map[string]string       // folders, with symbolic links followed
}

// scopeOf looks at what was built and seen in and below a folder, "" for everywhere.
func scopeOf(store *cache.Store, folder string) (*scope, error) {
	s := &scope{folder: folder, kernels: map[string]bool{}, places: map[string]report.Place{},
		real: map[string]string{}}
	builds := apply.ReadBuilds(store)
	for _, built := range builds.Commands(nil) {
		here := s.below(built.Output) || slices.ContainsFunc(built.Files, s.below)
		for _, u := range built.Units {
			for _, k := range u.Kernels {
				if _, known := s.places[k.Identity]; u.Source != "" && (here || !known) {
					s.places[k.Identity] = report.Place{File: s.short(u.Source)}
				}
				s.kernels[k.Identity] = s.kernels[k.Identity] || here
			}
		}
	}
	list, err := tuner.Captures(store)
	if err != nil {
		return nil, err
	}
	for _, p := range list.Profiles() {
		for _, l := range p.Shapes {
			for _, at := range builds.Of(l.Cubin, l.Kernel) {
				place := s.places[at.Identity]
				if place.Program == "" || s.has(p) {
					place.Program = s.short(p.Program)
				}
				s.places[at.Identity] = place
				if s.has(p) {
					s.kernels[at.Identity] = true
				}
			}
		}
	}
	return s, nil
}

// has tells whether a program lies in or below the folder.
func (s *scope) has(p *capture.Profile) bool { return s.below(p.Program) }

// below tells so of a path, whichever way it was reached by.
func (s *scope) below(path string) bool {
	return strings.HasPrefix(s.followed(path), strings.TrimSuffix(s.folder, "/")+"/")
}

// followed is a path with the symbolic links of its folder followed.
func (s *scope) followed(path string) string {
	dir := filepath.Dir(path)
	real, known := s.real[dir]
	if !known {
		var err error
		if real, err = filepath.EvalSymlinks(dir); err != nil {
			real = dir
		}
		s.real[dir] = real
	}
	return filepath.Join(real, filepath.Base(path))
}

// short is a path as somebody in the folder would type it.
func (s *scope) short(path string) string {
	if s.folder != "" && s.below(path) {
		if rel, err := filepath.Rel(s.folder, s.followed(path)); err == nil {
			return rel
		}
	}
	return path
}

// of keeps the decisions on the folder's kernels.
func (s *scope) of(all []cache.Decision) []cache.Decision {
	if s.folder == "" {
		return all
	}
	var out []cache.Decision
	for _, d := range all {
		if s.kernels[d.Identity] {
			out = append(out, d)
		}
	}
	return out
}

func (s *scope) place(d cache.Decision) report.Place { return s.places[d.Identity] }

// nothing says that the folder has no decisions, and where some are.
func (s *scope) nothing(elsewhere int) string {
	switch {
	case elsewhere == 0:
		return "nothing decided yet: gnvcc tune -- ./app finds recipes for a program built with gnvcc"
	case !slices.Contains(slices.Collect(maps.Values(s.kernels)), true):
		return fmt.Sprintf("nothing was built with gnvcc in %s; the store has decisions on %s:"+
			" gnvcc report --all", s.folder, policy.Count(elsewhere, "kernel"))
	}
	return fmt.Sprintf("nothing decided yet for what was built in %s: gnvcc tune -- ./app finds recipes"+
		" (decisions on %s from elsewhere: gnvcc report --all)", s.folder, policy.Count(elsewhere, "kernel"))
}
