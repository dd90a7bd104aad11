package stage

import (
	"os"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
)

// The cudafe stage: preprocessed code in, host code out. It changes nothing but the number of a
// process in names (module.go). It is there for apply, which takes from the store what cudafe++ wrote
// (reuse.go).

func (s *stage) cudafe() error {
	s.sameModule()
	if !s.env.Reuse {
		return nil // the stage becomes cudafe++
	}
	c, err := toolcmd.ReadCudafe(s.words[1:])
	if err != nil {
		return err
	}
	// Reading takes place while cudafe++ works, unless its work may be known.
	var r *reuse
	prepared := s.beside(func() error {
		var inputs []string
		for _, path := range append([]string{c.In}, c.Reads...) {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if inputs = append(inputs, cache.Hash(content)); len(inputs) == 1 {
				s.apply.Input(content)
			}
		}
		var err error
		r, err = s.newReuse(inputs, c.Outputs)
		return err
	})
	if s.env.Reuse && prepared() == nil && s.take(r) {
		return nil
	}
	end, err := s.run(nil)
	notKept := prepared()
	if err != nil || !end.OK() {
		return err
	}
	if notKept != nil {
		s.log.Debug().Err(notKept).Msg("nothing is kept for apply")
		return nil
	}
	return s.keepStep(r)
}
