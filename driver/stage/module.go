package stage

import (
	"os"
	"slices"

	"gnvcc/driver/toolcmd"
)

// sameModule makes this run's module id that of the build, where another process would make up
// another one (a file that exports nothing, see toolcmd.CutProcess): the tool is not told to make
// one, and reads the one that is there.
func (s *stage) sameModule() {
	source, file, at := toolcmd.ReadModule(s.words[1:])
	if at < 0 {
		return
	}
	id := s.apply.Module(source)
	if file == "" || id == "" {
		return
	}
	if err := os.WriteFile(file, []byte(id), 0o600); err != nil {
		s.log.Warn().Err(err).Msg("the module's id is a new one")
		return
	}
	s.words = slices.Delete(slices.Clone(s.words), 1+at, 1+at+1)
}
