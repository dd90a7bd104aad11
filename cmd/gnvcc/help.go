package main

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

func helpVerb() *cobra.Command {
	c := newVerb("help [VERB]", "show this help", "Lists the verbs and variables, or describes one verb.", arguments(0, 1))
	return tries(c, 2, help)
}

// help prints what there is.
func help(args []string) error {
	if len(args) == 1 {
		if verbNamed(args[0]) == nil {
			return fmt.Errorf("unknown verb %q (gnvcc help lists them)", args[0])
		}
		return exit(execute(args[0], []string{"--help"}))
	}
	out := stdout()
	fmt.Fprint(out, "gnvcc is a drop-in for nvcc that makes kernels faster.\n\n"+
		"  gnvcc ARGS       what nvcc ARGS does, with the recipes that are known (gnvcc --help is nvcc's)\n"+
		"  gnvcc tune --apply -- ./app ARGS   run a program, find recipes, build with them\n")
	for _, g := range groups() {
		fmt.Fprintf(out, "\n%s\n", g.title)
		for _, v := range g.verbs {
			fmt.Fprintf(out, "  %-12s %s\n", v.name, v.make().Short)
		}
	}
	fmt.Fprintf(out, "\ngnvcc VERB -h lists a verb's options. A word that is the name of a file here is an input for nvcc, not a verb.\n\nSettings, as variables or in a gnvcc.toml (gnvcc config):\n%s\nThis is gnvcc %s.\n", variablesText(), ownVersion())
	return nil
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
	text := fmt.Sprintf("%s\nUsage:\n  gnvcc %s\n\nOptions:\n%s", reflow(c.Long, columns), c.Use, c.LocalFlags().FlagUsagesWrapped(columns))
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

func completionVerb() *cobra.Command {
	c := newVerb("completion bash|zsh|fish", "print completions of verbs and options for a shell",
		"Prints a script that makes a shell complete verbs, options, and names of kernels and levers. Other words are completed as files.", arguments(1, 1))
	c.ValidArgs = []string{"bash", "zsh", "fish"}
	return tries(c, 2, func(args []string) error {
		switch r := root(); args[0] {
		case "bash":
			return r.GenBashCompletionV2(console, true)
		case "zsh":
			return r.GenZshCompletion(console)
		case "fish":
			return r.GenFishCompletion(console, true)
		}
		return fmt.Errorf("no completion for %q: bash, zsh and fish have one", args[0])
	})
}

func manVerb() *cobra.Command {
	c := newVerb("man", "print the manual page: gnvcc man | man -l -", "Prints the manual page, for man -l - or share/man/man1/gnvcc.1.", none)
	return tries(c, 2, func([]string) error {
		fmt.Fprint(console, manual())
		return nil
	})
}

// manual is the page in roff's man macros.
func manual() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH GNVCC 1 "" "gnvcc %s"`, roff(ownVersion()))
	line(".SH NAME\ngnvcc \\- nvcc, with kernels made faster by recipes that were measured")
	line(".SH SYNOPSIS\n.B gnvcc\n.I nvcc's arguments\n.br\n.B gnvcc\n.I verb\n[options]")
	for _, g := range groups() {
		line(".SH %s", strings.ToUpper(roff(g.title)))
		for _, of := range g.verbs {
			v := of.make()
			line(".SS gnvcc %s\n%s", roff(v.Use), roff(v.Long))
			if v.HasLocalFlags() {
				line(".PP\n.nf\n%s\n.fi", roff(strings.TrimRight(v.LocalFlags().FlagUsagesWrapped(76), "\n")))
			}
		}
	}
	line(".SH ENVIRONMENT\n.nf\n%s.fi", roff(variablesText()))
	return b.String()
}

// roff escapes text: backslashes, dashes, and dots and quotes that begin a line.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
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
