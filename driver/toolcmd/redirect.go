package toolcmd

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Redirecting: a command's arguments changed so that it writes elsewhere. What writes files that
// can't be sent elsewhere with certainty is not run again at all: the error says so.

// Redirect gives the arguments for writing into out, with side files in side. l is the whole line.
func (l *Line) Redirect(args []string, out, side string) ([]string, error) {
	switch {
	case l.Phase == "run":
		return nil, fmt.Errorf("it runs the program that it builds (-run)")
	case l.Options != "":
		return nil, fmt.Errorf("an option file: %s", l.Options)
	case l.Stray != "":
		return nil, fmt.Errorf("%s may write another file, or something else each time: apply does not know it", l.Stray)
	}
	dir := l.dir
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("its folder is not known")
	}
	base := ""
	if l.Output != "" {
		base = filepath.Base(l.Output)
	}
	done, sides, odir := 0, 0, false
	read, _ := lineTable().read(args) // the table is lax: there is no error
	var words []string
	for _, w := range read {
		value := ""
		switch {
		case w.option.value && !w.has:
			return nil, fmt.Errorf("%s has no value", w.text)
		case w.name == "output-file":
			value = filepath.Join(out, base)
			done++
		case w.name == "output-directory":
			value, odir = out, true
		case w.name == "keep-dir":
			continue
		case w.does == lineSide:
			value = filepath.Join(side, fmt.Sprintf("side%d", sides))
			sides++
		}
		words = append(words, args[w.index:w.next()]...)
		if value != "" {
			words[len(words)-1] = args[w.at][:w.from] + value
		}
	}
	if l.Output != "" && done != 1 || l.OutDir != "" && !odir || sides != l.Sides {
		return nil, fmt.Errorf("an option file or a variable says where it writes")
	}
	if l.Output == "" && !odir {
		words = append(words, "-odir", out)
	}
	if l.Keeps { // an object shows the folder only where the host compiler's -g writes it down
		words = append(words, "--keep-dir", side)
	}
	return words, nil
}

// once are options that nvcc takes one of, targets those that say together for which GPUs.
var (
	once = []string{"maxrregcount", "ftz", "prec-div", "prec-sqrt", "fmad", "std", "optimize",
		"Ofast-compile", "relocatable-device-code", "default-stream"}
	targets = []string{"gpu-architecture", "gpu-code", "generate-code"}
)

// Overrule gives the arguments with more options, before which those go that say otherwise, and
// those that keep files between the steps, which would be the user's.
func Overrule(args, more []string) []string {
	given, _ := lineTable().read(more) // the table is lax: there is no error
	gone := func(name string) bool {
		return slices.ContainsFunc(given, func(w word) bool {
			return w.name == name && slices.Contains(once, name) ||
				slices.Contains(targets, w.name) && slices.Contains(targets, name)
		})
	}
	var out []string
	read, _ := lineTable().read(args)
	for _, w := range read {
		if !w.known || !gone(w.name) && w.does != lineKeeps && w.name != "keep-dir" {
			out = append(out, args[w.index:w.next()]...)
		}
	}
	return append(out, more...)
}

// Place is the folder in which a command writes.
func (l *Line) Place() string {
	if l.Output != "" {
		return filepath.Dir(Inside(l.dir, l.Output))
	}
	return Inside(l.dir, l.OutDir)
}
