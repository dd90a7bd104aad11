package stage

import (
	"fmt"
	"os"
	"slices"

	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
)

// Module ids that end in a process' number (driver/record/module.go). In 11.8 cicc makes the id up
// and cudafe++ reads it, from 12.4 on it is the other way round; with -ptx, -cubin and -fatbin there
// is cicc alone. Looked at: 11.8, 12.4, 13.0, 13.3, 13.5.
//
// In a command that runs again whoever makes an id up is given the last build's: the tool is not
// asked to make one, and reads the one that is there. So host and device code agree, the object is
// the build's but for what a recipe changed, and what is in the store is found.

// sameModule makes the module id of a command that runs again that of the last build.
func (s *stage) sameModule() {
	m := toolcmd.ReadModule(s.words[1:])
	if m.Make < 0 || m.File == "" {
		return
	}
	id := record.Modules(s.store, s.env.Command)[m.Source]
	if toolcmd.CutProcess(id) == "" || s.apply == nil && !record.Bears(s.store, s.env.Command, id) {
		return
	}
	if err := os.WriteFile(m.File, []byte(id), 0o600); err != nil {
		s.log.Warn().Err(err).Msg("the module's id is a new one")
		return
	}
	s.words = withoutMaking(s.words, m)
}

// noteModule keeps a module id for the command's next build.
func (s *stage) noteModule(source, id string) error {
	if s.apply != nil || toolcmd.CutProcess(id) == "" {
		return nil
	}
	if err := record.KeepModule(s.store, s.env.Command, source, id); err != nil {
		return fmt.Errorf("note the module's id: %w", err)
	}
	return nil
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
