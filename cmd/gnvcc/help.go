package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

// overview is the help of gnvcc without a verb.
func overview(root *cobra.Command) string {
	return "gnvcc is a drop-in for nvcc that makes kernels faster.\n\n" +
		"  gnvcc ARGS       what nvcc ARGS does, with the recipes that are known (gnvcc --help is nvcc's)\n" +
		"  gnvcc tune --apply -- ./app ARGS   run a program, find recipes, build with them\n\n" +
		root.UsageString() +
		"A word that is the name of a file here is an input for nvcc, not a verb.\n\n" +
		"Settings, as variables or in a gnvcc.toml (gnvcc doctor --config):\n" + variablesText() +
		"\nThis is gnvcc " + ownVersion() + ".\n"
}

// nvccsHelp shows nvcc's help with a line of ours at its end, where a person reads it: both outputs
// are a terminal. Elsewhere (a pipe, a script, under the name of nvcc) it is nvcc's alone. The line
// has to come last, so that nvcc runs as a child here, and here only.
func nvccsHelp(args []string) (code int, done bool) {
	if len(args) != 1 || !slices.Contains([]string{"--help", "-help", "-h"}, args[0]) ||
		!isTerminal(os.Stdout) || !isTerminal(os.Stderr) {
		return 0, false
	}
	self, err := os.Executable()
	if err != nil {
		return 0, false
	}
	cmd := exec.Command(self, args[0])
	cmd.Args[0] = "nvcc" // in whose place nothing is said
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, false
	}
	if err := cmd.Wait(); err == nil {
		fmt.Fprintln(stderr, "gnvcc: this is nvcc's help; gnvcc help is gnvcc's")
	}
	return cmd.ProcessState.ExitCode(), true
}

// widest is how many columns help takes at most: longer lines are hard to read.
const widest = 100

// about is a verb's help for a terminal of so many columns; 0: none.
func about(c *cobra.Command, columns int) string {
	if columns == 0 || columns > widest {
		columns = widest
	}
	c.InitDefaultHelpFlag()
	c.Flags().Lookup("help").Usage = "show this help"
	text := fmt.Sprintf("%s\nUsage:\n  %s\n\nOptions:\n%s", reflow(c.Long, columns), c.UseLine(), c.LocalFlags().FlagUsagesWrapped(columns))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = wrap(line, columns) // what pflag leaves long in a narrow terminal
	}
	return strings.Join(lines, "\n")
}

// reflow fills lines up to a width; a line that is indented stands by itself.
func reflow(text string, columns int) string {
	var out strings.Builder
	paragraph := ""
	flush := func() {
		if paragraph != "" {
			out.WriteString(strings.ReplaceAll(wrap(paragraph, columns), "\n    ", "\n") + "\n")
		}
		paragraph = ""
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, " "):
			flush()
			out.WriteString(wrap(line, columns) + "\n")
		case paragraph == "":
			paragraph = line
		default:
			paragraph += " " + line
		}
	}
	flush()
	return out.String()
}

func versionVerb() *cobra.Command {
	c := newVerb("version", "print gnvcc's version", "Prints gnvcc's version (gnvcc --version is nvcc's).", none)
	return tries(c, 2, func([]string) error {
		fmt.Fprintln(console, "gnvcc", ownVersion())
		return nil
	})
}

// ownRelease is the version that the source has, or is on its way to: the Makefile takes it from
// here.
const ownRelease = "1.0.0"

// version is set by the linker (see the Makefile): the release, and the commit where that is not
// the release's own ("1.0.0+g0123456789ab"). Without it, as after go install, the build's own
// information says what there is. The linker sets no variable that has a value of its own.
var version string

// ownVersion is gnvcc's version.
func ownVersion() string {
	if version != "" {
		return version
	}
	return versionOf(debug.ReadBuildInfo())
}

// ofCommit matches the versions that Go makes of a commit and its date.
var ofCommit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[-.][0-9]{14}-[0-9a-f]{12}(\+dirty)?$`)
})

func versionOf(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ownRelease
	}
	if v := info.Main.Version; v != "" && v != "(devel)" && !ofCommit().MatchString(v) {
		return strings.TrimPrefix(v, "v")
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = "+g" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if commit == "" {
		return ownRelease
	}
	return ownRelease + commit + dirty
}
