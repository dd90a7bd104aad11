package driver

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Redirecting: a command's arguments changed so that it writes elsewhere. What writes files that
// can't be sent elsewhere with certainty is not run again at all: the error says so.

// sideFiles are options that name a file which is written besides the output: dependencies (which
// are as they were), a table of times (to which nvcc appends), a trace.
var sideFiles = set(`dependency-output MF time fdevice-time-trace`)

// passed are options that hand words on to a host tool.
var passed = set(`compiler-options Xcompiler linker-options Xlinker archive-options Xarchive`)

// strays begin words for host tools by which these write files of their own choice.
var strays = []string{
	"-M", "-Wp,-M", "-o", "-save-temps", "--save-temps", "-fdump-", "-aux-info", "-time=", "-dump",
	"-Wl,-Map", "-Wl,--Map", "-Wl,-o", "-Wl,--dependency-file", "-Wl,--out-implib", "-Map", "--Map",
	"--dependency-file", "--out-implib", "-Wa,-a", "-Wa,--MD", "-fprofile-", "-fauto-profile",
}

// redirect gives the arguments for writing into out, with side files in side. l is the whole line.
func (l *Line) redirect(args []string, out, side string) ([]string, error) {
	switch {
	case l.Phase == "run":
		return nil, fmt.Errorf("it runs the program that it builds (-run)")
	case l.Keeps:
		return nil, fmt.Errorf("it keeps files between the steps (--keep)")
	case l.Options != "":
		return nil, fmt.Errorf("an option file: %s", l.Options)
	case l.Stray != "":
		return nil, fmt.Errorf("%s writes a file of its own", l.Stray)
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
	var words []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		name, _, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if len(word) < 2 || word[0] != '-' || !valued[name] {
			words = append(words, word)
			continue
		}
		value := ""
		switch {
		case name == "o" || name == "output-file":
			value = filepath.Join(out, base)
			done++
		case name == "odir" || name == "output-directory":
			value, odir = out, true
		case sideFiles[name]:
			value = filepath.Join(side, fmt.Sprintf("side%d", sides))
			sides++
		}
		switch {
		case value == "":
			words = append(words, word)
			if !hasValue && i+1 < len(args) {
				i++
				words = append(words, args[i])
			}
		case hasValue:
			words = append(words, strings.SplitAfterN(word, "=", 2)[0]+value)
		default:
			words = append(words, word, value)
			i++
		}
	}
	if l.Output != "" && done != 1 || l.OutDir != "" && !odir || sides != l.Sides {
		return nil, fmt.Errorf("an option file or a variable says where it writes")
	}
	if l.Output == "" && !odir {
		words = append(words, "-odir", out)
	}
	return words, nil
}

// place is the folder in which a command writes.
func (l *Line) place() string {
	if l.Output != "" {
		return filepath.Dir(inside(l.dir, l.Output))
	}
	return inside(l.dir, l.OutDir)
}

// strayWord gives the first of a list of words, as -Xcompiler has it, that writes a file.
func strayWord(value string) string {
	separates := func(c rune) bool { return strings.ContainsRune(", \t\"'", c) }
	words := strings.FieldsFunc(value, separates)
	for i, word := range words {
		if word == "-Wp" || word == "-Wl" || word == "-Wa" { // -Wl,-Map=x, cut at its comma
			if i+1 < len(words) {
				word += "," + words[i+1]
			}
		}
		for _, s := range strays {
			if strings.HasPrefix(word, s) {
				return word
			}
		}
	}
	return ""
}
