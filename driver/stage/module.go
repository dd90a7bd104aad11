package stage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
)

// Module ids that end in the number of a process (driver/record/module.go). In 11.8 cicc makes
// the id up and cudafe++ reads it, from 12.4 on it is the other way round; with -ptx, -cubin and
// -fatbin there is cicc alone. Looked at: 11.8, 12.4, 13.0, 13.3, 13.5.
//
// Whoever makes an id up is given the one of the last build that compiled the same: the tool is not
// asked to make one, and reads the one that is there. All others read what it has read. So host and
// device code agree, whatever fails on our side, and with several targets at a time. cudafe++ has a
// stage for that in those commands only for which such an id is on record (driver/prefix.go).

// sameModule makes this run's module id that of the build: for apply the one that is in the
// object, else the last one of the same text.
func (s *stage) sameModule() {
	m := toolcmd.ReadModule(s.words[1:])
	if m.Make < 0 || m.File == "" {
		return
	}
	id := s.apply.Module(m.Source)
	if s.apply == nil && s.store != nil {
		id = s.knownModule(m)
	}
	if id == "" {
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

// knownModule is the id on record for what a tool is about to compile, "" where there is none.
func (s *stage) knownModule(m toolcmd.Module) string {
	var text string
	for _, known := range record.Modules(s.store, s.env.Command) {
		if known.Source != m.Source || known.Host != (s.name == "cudafe") {
			continue
		}
		if text == "" {
			content, err := os.ReadFile(m.In)
			if err != nil {
				return ""
			}
			text = cache.Hash(content)
		}
		if known.Text == text && toolcmd.CutProcess(known.ID) != "" && s.replaces(known.ID) {
			return known.ID
		}
	}
	return ""
}

// replaces tells whether no other object than the one that this command is about to write over will
// bear an id, as far as that matters. With -rdc=true the id is in names that the linker sees: of
// two objects that bear one id, the one moved away before the other was built, it takes only one.
func (s *stage) replaces(id string) bool {
	if !slices.Contains(s.words, "--device-c") {
		return true
	}
	c, err := record.LoadCommand(s.store, s.env.Command)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(record.Writes(c), func(path string) bool {
		content, err := cache.ReadRegular(path, maxPTX)
		return err == nil && bytes.Contains(content, []byte(id))
	})
}

// noteModule keeps the id that cicc has read or made up for the next build. input is the hash of
// what cicc has read.
func (s *stage) noteModule(c *toolcmd.Cicc, id, input string) error {
	if s.apply != nil || s.env.Command == "" || toolcmd.CutProcess(id) == "" {
		return nil
	}
	for _, known := range record.Modules(s.store, s.env.Command) {
		if known.Source == c.Source && known.ID == id {
			return nil
		}
	}
	m := record.Module{Source: c.Source, Text: input, ID: id}
	if !c.Makes {
		content := hostInput(c.Args[c.In])
		if content == nil {
			return nil
		}
		m.Text, m.Host = cache.Hash(content), true
	}
	if err := record.KeepModule(s.store, s.env.Command, m); err != nil {
		return fmt.Errorf("note the module's id: %w", err)
	}
	return nil
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

// hostInput is what cudafe++ has read of a file whose device code cicc reads under the given name:
// k.cpp4.ii beside k.cpp1.ii or k.compute_90.cpp1.ii, where names are nvcc's temporary ones with a
// smaller number; nil where it is not found.
func hostInput(in string) []byte {
	dir, base := filepath.Split(in)
	base, ok := strings.CutSuffix(base, ".cpp1.ii")
	if !ok {
		return nil
	}
	_, names, err := toolcmd.CutTemporary(base)
	if err != nil || len(names) > 1 {
		return nil
	}
	places := []string{dir}
	if len(names) == 1 {
		if base, ok = strings.CutPrefix(base, names[0]); !ok {
			return nil
		}
		start, last, _ := strings.Cut(strings.TrimSuffix(names[0], "_"), "-")
		number, err := strconv.Atoi(last)
		if err != nil || number > 1<<16 {
			return nil
		}
		places = nil
		for n := number - 1; n >= 0; n-- {
			places = append(places, fmt.Sprint(dir, start, "-", n, "_"))
		}
	}
	whole, _, _ := strings.Cut(base, ".compute_")
	for _, place := range places {
		for _, name := range []string{base, whole} {
			if content, err := os.ReadFile(place + name + ".cpp4.ii"); err == nil {
				return content
			}
		}
	}
	return nil
}
