package stage

import (
	"slices"
	"strings"

	"gnvcc/driver/child"
	"gnvcc/driver/job"
)

// ends is what a stage does in a command that is tried, where that is not its usual work. Of the
// host compiler's calls the compile of what cudafe++ wrote is left out, and the link refused.
func (s *stage) ends() (code int, done bool) {
	switch s.name {
	case "cudafe":
		if store, err := s.env.OpenStore(); err == nil {
			s.store = store
			s.sameModule()
		}
		return s.become(), true
	case "nvlink":
		return s.halt(1), true
	case "host":
		at := slices.Index(s.words, "-o")
		compiles := slices.ContainsFunc(s.words, func(w string) bool {
			return strings.HasSuffix(w, ".cudafe1.cpp")
		})
		switch {
		case slices.Contains(s.words, "-E"):
			return s.become(), true
		case compiles && at > 0 && at+1 < len(s.words) && install(s.words[at+1], nil) == nil:
			return s.halt(0), true
		}
		return s.halt(1), true
	}
	return 0, false
}

// halt says that the command goes no further.
func (s *stage) halt(code int) int {
	s.apply.Halt()
	return code
}

// knownCubin writes what ptxas wrote before from the same PTX with the same options, in a command
// that is tried: of a file with an edit most kernels, and often all, are as they were.
func (s *stage) knownCubin(j *job.Job, std *job.Default) bool {
	content, err := s.store.Object(std.Cubin)
	if err != nil || install(j.Call.Output(), content) != nil {
		return false
	}
	if err := s.note(j, content, std.Kernels, std.Code); err != nil {
		s.log.Warn().Err(err).Msg("ptxas runs again")
		return false
	}
	s.result = &child.Ending{}
	return true
}
