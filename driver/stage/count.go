package stage

import (
	"errors"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
)

// What a stage did is counted for gnvcc doctor --store: one line in the store's file, before the tool's exit
// code is passed on or the process becomes the tool.

// Outcomes, as gnvcc doctor --store names them.
const (
	outSeen     = "seen before, no recipe: the tool itself"
	outNoted    = "nvcc's own result, noted"
	outKept     = "with recipes, taken from the store"
	outCompiled = "with recipes, compiled"
	outRefused  = "recipes refused: nvcc's own result"
	outTaken    = "taken from the store"
	outAside    = "left to nvcc"
	outFailed   = "failed on gnvcc's side: nvcc's own result"
)

// count notes how the stage ended. err is what its work gave.
func (s *stage) count(err error) {
	if s.store == nil {
		return
	}
	e := cache.Event{Stage: s.name, Outcome: s.outcome}
	switch {
	case errors.Is(err, toolcmd.ErrAside):
		e.Outcome, e.Why = outAside, strings.TrimSuffix(err.Error(), ": "+toolcmd.ErrAside.Error())
	case err != nil:
		e.Outcome, e.Why = outFailed, err.Error()
	case e.Outcome != "":
	case s.result == nil:
		return // nothing was to be done
	case !s.result.OK():
		e.Outcome = "the tool refused the input"
	default:
		e.Outcome = outNoted
	}
	s.store.Count(e)
}

// trim keeps the store below its cap; once a day that takes a while, else one stat.
func (s *stage) trim() error {
	if s.store == nil {
		return nil
	}
	most, err := cache.Cap()
	if err == nil {
		err = s.store.Trim(most)
	}
	if err != nil {
		s.log.Debug().Err(err).Msg("the store was not trimmed")
	}
	return err
}
