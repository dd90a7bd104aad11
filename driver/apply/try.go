package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/scratch"
	"gnvcc/driver/toolcmd"
)

// Trying: a recorded command is run again as apply runs it, with nothing applied and all of its
// outputs in a scratch folder, and it stops before the host compiler: cicc and ptxas have said by
// then what its kernels are now. Nothing of the user's is written, and the store's records of what
// was built stay as they are; what a compile by recipe needs (device code, PTX, the cubins) is
// kept as objects.
//
// It can be tried otherwise than it was recorded, too: with another toolkit, with more options, on
// another tree. What that gives is kept in a store of its own: one PTX may come from both, and the
// user's store has to say how the user's was made.
//
// Nothing but the host stage can end nvcc there. For a compile it leaves an empty object and says
// that all is well, so that the command's other files are compiled too; a link it refuses.

// ErrSource is wrapped where a command that is tried fails by itself: a source that can't be
// compiled as it is now. The text has the compiler's own words.
var ErrSource = errors.New("it does not compile")

// A Trial is what a command gives now.
type Trial struct {
	Files []string      // as in Built
	Units []record.Unit // their cubins are objects
}

// Otherwise is what of a recorded command is to be otherwise where it is tried.
type Otherwise struct {
	Store *cache.Store // where its objects are kept
	Nvcc  string       // "": the recorded one
	Flags []string     // options of nvcc's, which go before its own (toolcmd.Overrule)
	Moved []Move
	// another file in the place of an input, both absolute; files that it includes by quotes are
	// found next to it first, then where the input lies. "": none
	Input, Other string
	// what is made of it is a cubin: a third of a compile's time, where that is for one target
	Cubin bool
}

// A Move is a folder that lies elsewhere, wherever a command names it. Both are absolute.
type Move struct{ From, To string }

// Try runs a recorded command. ctx ends it.
func Try(ctx context.Context, store *cache.Store, hash string) (*Trial, error) {
	return TryOtherwise(ctx, store, hash, Otherwise{Store: store})
}

// TryOtherwise runs a recorded command as it is not recorded. ctx ends it.
func TryOtherwise(ctx context.Context, store *cache.Store, hash string,
	o Otherwise) (*Trial, error) {
	c, err := record.LoadCommand(store, hash)
	if err != nil {
		return nil, fmt.Errorf("its command is no longer in the store; build it again: %w", err)
	}
	if o.Input != o.Other {
		if c.Args, err = with(c, o); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("gnvcc's own file: %w", err)
	}
	scratch, err := scratch.New()
	if err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	defer scratch.Remove()
	if o.Store == nil {
		o.Store = store
	}
	r := &fileState{hash: hash, command: o.of(c)}
	r.all = record.Read(store).ByCommand()[hash]
	r.newest(store)
	c = r.command
	b := &beside{rerun: r, store: o.Store, self: self, dir: scratch.Path, stop: true, nvcc: o.Nvcc,
		env: environment.Read()}
	ran, err := b.run(ctx, nil)
	if err != nil {
		return nil, b.why(ctx, err)
	}
	out, files, tools := new(Trial), map[string]bool{}, map[string]bool{}
	known := &Builds{store: o.Store}
	for _, n := range ran.left.Notes {
		out.Units = append(out.Units, known.unit(c.Dir, n.Assembly, files, tools))
	}
	out.Files = known.sorted(files)
	return out, nil
}

// of is a command as it is to be tried.
func (o Otherwise) of(c cache.Command) cache.Command {
	c.Args = toolcmd.Overrule(c.Args, o.Flags)
	for _, m := range o.Moved {
		c.Dir = moved(c.Dir, m)
		for _, list := range []*[]string{&c.Args, &c.Env} {
			*list = slices.Clone(*list)
			for i, word := range *list {
				(*list)[i] = moved(word, m)
			}
		}
	}
	return c
}

// moved puts a folder in the place of another where a word names that, or what lies in it: as a
// path, or as one of a list, or behind an option's letters (-I/usr, a=/usr, /bin:/usr).
func moved(word string, m Move) string {
	var out strings.Builder
	for rest := word; ; {
		at := strings.Index(rest, m.From)
		if at < 0 {
			return out.String() + rest
		}
		to, end := m.From, at+len(m.From)
		before := word[:len(word)-len(rest)+at]
		if n := len(before); n >= 2 && before[n-2] == '-' { // an option's letter
			before = before[:n-2]
		}
		begins := before == "" || strings.ContainsAny(before[len(before)-1:], "=:,; \"'")
		if begins && (end == len(rest) || strings.IndexByte("/:,; \"'", rest[end]) >= 0) {
			to = m.To
		}
		out.WriteString(rest[:at] + to)
		rest = rest[end:]
	}
}

// why says why a command that was tried has failed.
func (b *beside) why(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.Contains(b.said, "No space left on device"):
		return fmt.Errorf("the disk is full: %s", firstError(b.said))
	case b.said != "":
		return fmt.Errorf("%w: %s", ErrSource, firstError(b.said))
	}
	return fmt.Errorf("run %s again: %w", b.rerun.name(), err)
}

// firstError is the line of a compiler's messages that says most: the first that names an error.
func firstError(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, word := range []string{"error", "fatal", "No such file"} {
		for _, line := range lines {
			if strings.Contains(line, word) {
				return strings.TrimSpace(line)
			}
		}
	}
	return strings.TrimSpace(lines[0])
}

// Same reports whether two paths lead to one file: a build may have been started in a folder that a
// link leads to, while nvcc's tools know the folder itself.
func Same(a, b string) bool {
	real, err := filepath.EvalSymlinks(a)
	if err != nil || a == b {
		return a == b
	}
	other, err := filepath.EvalSymlinks(b)
	return err == nil && real == other
}

// with is a command's words with another input.
func with(c cache.Command, o Otherwise) ([]string, error) {
	words := slices.Clone(c.Args)
	at := slices.IndexFunc(words, func(w string) bool {
		return !strings.HasPrefix(w, "-") && Same(toolcmd.Inside(c.Dir, w), o.Input)
	})
	if at < 0 {
		return nil, fmt.Errorf("%s is no input of its recorded command", o.Input)
	}
	words[at] = o.Other
	if o.Cubin {
		words = append(slices.DeleteFunc(words, func(w string) bool {
			return w == "-c" || w == "--compile"
		}), "-cubin")
	}
	beside := filepath.Dir(o.Input)
	if strings.ContainsAny(beside, ", ") {
		return append(words, "-I", beside), nil
	}
	return append(words, "-Xcompiler", "-iquote,"+beside), nil
}
