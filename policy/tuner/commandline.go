package tuner

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Command lines that are given as one string, --judge and --build: sh runs them.

// shell is a command line with further arguments behind it, as sh runs it.
func shell(text string, more ...string) []string {
	return append([]string{"sh", "-c", text + ` "$@"`, "sh"}, more...)
}

// CheckCommand says what is wrong with the text of --judge or --build before anything is run: a
// quote that is not closed, a program that is not there.
func CheckCommand(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return errors.New("an empty command line")
	}
	if said, err := exec.Command("sh", "-n", "-c", text).CombinedOutput(); err != nil {
		return fmt.Errorf("%q is no command line: %s", text, bytes.TrimSpace(said))
	}
	if strings.ContainsAny(text, "|&;<>()$`*?[]{}~!=%\n#'\"\\") { // sh makes other words of it
		return nil
	}
	_, err := exec.LookPath(words[0])
	return err
}
