package stage

import (
	"os"

	"gnvcc/driver/toolcmd"
)

// The cudafe stage: preprocessed code in, host code out. It changes nothing; it is there for apply,
// which takes from the store what cudafe++ wrote (reuse.go).

func (s *stage) cudafe() error {
	s.sameModule()
	c, err := toolcmd.ReadCudafe(s.words[1:])
	if err != nil {
		return err
	}
	// Reading takes place while cudafe++ works, unless its work may be known.
	type prepared struct {
		r   *reuse
		err error
	}
	done := make(chan prepared, 1)
	prepare := func() {
		var p prepared
		var inputs [][]byte
		for _, path := range append([]string{c.In}, c.Reads...) {
			content, err := os.ReadFile(path)
			if err != nil {
				done <- prepared{err: err}
				return
			}
			inputs = append(inputs, content)
		}
		s.apply.Input(inputs[0])
		p.r, p.err = s.newReuse(inputs, c.Outputs)
		done <- p
	}
	var p prepared
	if s.env.Reuse {
		prepare()
		if p = <-done; p.err == nil && s.take(p.r) {
			return nil
		}
	} else {
		go prepare()
	}
	end, err := s.run(nil)
	if !s.env.Reuse {
		p = <-done
	}
	if err != nil || !end.OK() {
		return err
	}
	if p.err != nil {
		s.log.Debug().Err(p.err).Msg("nothing is kept for apply")
		return nil
	}
	return s.keepStep(p.r)
}
