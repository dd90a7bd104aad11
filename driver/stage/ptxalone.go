package stage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/driver/job"
	"gnvcc/driver/standing"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite"
)

// PTX alone: with -arch=compute_90, or code=compute_90, fatbinary takes the PTX, and the driver
// compiles it where the program runs. Since 13.0 nvcc has ptxas look at it (without -o), and then
// reads the file: so what stands there may be changed, where GNVCC_PTX says for which target:
//
//	GNVCC_PTX=sm_90 gnvcc -arch=compute_90 -c k.cu
//
// gives each kernel the recipe that a build for that target by this ptxas takes, if it is one of
// register caps and cache hints: these don't change what is computed, whoever compiles it. That a
// launch needs no more than with nvcc's own PTX was seen with this ptxas; of the driver's, which
// may be another one, nothing is known, and so it has to be asked for.

// ptxAlone takes a command that can't be read as one that writes a cubin; err says why.
func (s *stage) ptxAlone(err error) error {
	if s.env.PTX == "" || s.apply != nil || !errors.Is(err, toolcmd.ErrAside) {
		return err
	}
	call := s.asBuild()
	if call == nil {
		return err
	}
	if !strings.HasPrefix(filepath.Base(call.Input()), toolcmd.Temporary) || call.Debug || call.Reloc {
		// the driver links what is left to it, and compares caps with what kernels call
		return fmt.Errorf("%s is a file of yours, for debugging, or still to be linked: %w", call.Input(),
			toolcmd.ErrAside)
	}
	own, err := s.run(nil)
	if err != nil || !own.OK() {
		return err
	}
	text, err := cache.ReadRegular(call.Input(), maxPTX)
	if err != nil {
		return err
	}
	j, err := job.New(s.store, call, s.tool, text)
	if err != nil {
		return err
	}
	kernels, err := j.Kernels()
	if err != nil || len(kernels) == 0 {
		return err
	}
	changed, err := s.capped(j, kernels)
	if err != nil || changed == nil {
		return err
	}
	group := s.group(call.Input(), j.Hash)
	s.env.Keep(group, "default.ptx", text)
	s.env.Keep(group, "final.ptx", changed)
	s.outcome = outCompiled
	return replace(call.Input(), changed)
}

// asBuild is the command of a build for the target that GNVCC_PTX names, nil where there is none.
func (s *stage) asBuild() *toolcmd.Ptxas {
	args, found := []string(nil), false
	for _, a := range s.words[1:] {
		if strings.HasPrefix(a, "-arch=compute_") {
			a, found = "-arch="+s.env.PTX, true
		}
		args = append(args, a)
	}
	call, err := toolcmd.ReadPtxas(append(args, "-o", "out.cubin"))
	if err != nil || !found {
		return nil
	}
	return call
}

// capped is a job's PTX with the recipes of its kernels, nil where there is nothing to be changed.
func (s *stage) capped(j *job.Job, kernels []cache.Kernel) ([]byte, error) {
	kn, err := standing.KnownAt(s.store, s.dir, s.env)
	//lint:ignore SA5001 what could be read is there beside an error
	defer kn.Close()
	if err != nil || kn.Problem != nil {
		return nil, errors.Join(err, kn.Problem)
	}
	recipes, _, _ := standing.Recipes(kn, kernels, standing.AskerOf(s.store, s.env.Command, s.env))
	for name, r := range recipes {
		if !rewrite.Neutral(r) {
			s.log.Warn().Str("kernel", name).Str("recipe", r.String()).Msg(
				"not applied to PTX alone: register caps and cache hints are")
			delete(recipes, name)
		}
	}
	if len(recipes) == 0 {
		return nil, nil
	}
	b, err := s.bench(s.group(j.Call.Input(), j.Hash))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), compile.Limit)
	defer cancel()
	text, refused, err := b.Text(ctx, j, kernels, recipes)
	for name, reason := range refused {
		s.log.Warn().Str("kernel", name).Err(reason).Msg("not applied to PTX alone")
	}
	return text, err
}
