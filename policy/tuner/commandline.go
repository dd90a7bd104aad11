package tuner

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/google/shlex"
)

// Command lines that are given as one string: --judge, --build.

// A line is such a command line. Its words are run as they are; one that needs a shell (pipes,
// variables, patterns, ...) is run by sh, as it stands.
type line struct {
	text  string
	words []string // nil: for sh
}

// shellSigns are the characters that sh does something with, quotes and backslashes aside. shlex
// knows none of them but the last, which begins a comment there.
const shellSigns = "|&;<>()$`*?[]{}~!=%\n#"

// CheckCommand says what is wrong with the text of --judge or --build before anything is run.
func CheckCommand(text string) error {
	l, err := newLine(text)
	if err != nil {
		return err
	}
	return l.check()
}

// newLine reads a command line. An error is one that no shell would run, such as a quote that is
// not closed.
func newLine(text string) (line, error) {
	if strings.ContainsAny(text, shellSigns) {
		return line{text: text}, nil
	}
	words, err := shlex.Split(text)
	if err != nil {
		return line{}, fmt.Errorf("%q is no command line: %w", text, err)
	}
	if len(words) == 0 {
		return line{}, errors.New("an empty command line")
	}
	if strings.Contains(text, `"`) && strings.Contains(text, `\`) {
		return line{text: text}, nil // shlex takes every backslash between double quotes away, sh some
	}
	return line{text, words}, nil
}

// check says what is wrong with a command line before anything is run for it: a program that is not
// there.
func (l line) check() error {
	if l.words == nil {
		return nil
	}
	_, err := exec.LookPath(l.words[0])
	return err
}

// argv is the command with further arguments behind it.
func (l line) argv(more ...string) []string {
	if l.words == nil {
		return append([]string{"sh", "-c", l.text + ` "$@"`, "sh"}, more...)
	}
	return append(append([]string(nil), l.words...), more...)
}
