package stage

import (
	"os"
	"slices"

	"gnvcc/driver/toolcmd"
)

// Module ids. nvcc's front end names static symbols, unnamed namespaces and what stands in headers by
// an id of the translation unit. Where a file exports something the id is made from that. Where it
// does not (instances of templates and static kernels only) it ends in the number of the process that
// made it up. In 11.8 cicc makes it up and cudafe++ reads it, from 12.4 on it is the other way round;
// with -ptx, -cubin and -fatbin there is cicc alone. Looked at: 11.8, 12.4, 13.0, 13.3, 13.5.
//
// In a command that apply runs again, whoever makes an id up is given the build's own: the tool is
// not asked to make one, and reads the one that is there. So host and device code agree, and the
// object is the build's but for what a recipe changed.

// sameModule makes the module id of a command that apply runs again that of the build.
func (s *stage) sameModule() {
	m := toolcmd.ReadModule(s.words[1:])
	id := s.apply.Module(m.Source)
	if m.Make < 0 || m.File == "" || id == "" {
		return
	}
	if err := os.WriteFile(m.File, []byte(id), 0o600); err != nil {
		s.log.Warn().Err(err).Msg("the module's id is a new one")
		return
	}
	s.words = withoutMaking(s.words, m)
}

// withoutMaking leaves the option out by which a tool makes the id up: it reads it then.
func withoutMaking(words []string, m toolcmd.Module) []string {
	return slices.Delete(slices.Clone(words), 1+m.Make, 1+m.Make+1)
}

// asRead is the call that apply will make, where cicc made up such an id in this one: it will read
// the id then.
func (s *stage) asRead(c *toolcmd.Cicc, input keptInput) *reuse {
	if !c.Makes || c.Module < 0 {
		return input.same
	}
	id, err := os.ReadFile(c.Args[c.Module])
	if err != nil || toolcmd.CutProcess(string(id)) == "" {
		return input.same
	}
	later := *s
	later.words = withoutMaking(s.words, toolcmd.ReadModule(c.Args))
	reads, err := toolcmd.ReadCicc(later.words[1:])
	if err != nil {
		return nil
	}
	return later.ciccReuse(reads, input.hash, id)
}
