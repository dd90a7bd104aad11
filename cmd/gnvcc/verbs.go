package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
	"gnvcc/policy/selection"
)

// The verbs are cobra's commands: help and completions come from one definition each. They are made
// when a verb is asked for, and not on a build's way.

// groups are the verbs, in the order of the help; help and completion are cobra's own.
var groups = []struct {
	title string
	verbs map[string]func() *cobra.Command
}{
	{"Find recipes", verbSet{"tune": tuneVerb, "watch": watchVerb, "predict": predictVerb}},
	{"Build with them", verbSet{"apply": applyVerb, "revert": revertVerb, "status": statusVerb}},
	{"See what is known", verbSet{"report": reportVerb, "explain": explainVerb, "doctor": doctorVerb}},
	{"Judge changes", verbSet{"compare": compareVerb, "judge": judgeVerb}},
	{"Share them", verbSet{"export": exportVerb, "lock": lockVerb, "push": pushVerb, "pull": pullVerb}},
	{"Decide by hand", verbSet{"pin": pinVerb}},
	{others, verbSet{"version": versionVerb}},
}

type verbSet = map[string]func() *cobra.Command

const others = "Others"

// isVerb reports whether a word is a verb.
func isVerb(word string) bool {
	for _, g := range groups {
		if g.verbs[word] != nil {
			return true
		}
	}
	return word == "help" || word == "completion"
}

// takesCommand marks a verb whose arguments are a command with options of its own.
const takesCommand = "command"

// commandBehind makes a verb leave what follows its first argument alone.
func commandBehind(c *cobra.Command) {
	c.Flags().SetInterspersed(false)
	c.Annotations = map[string]string{takesCommand: "yes"}
}

// An exit is the code that a verb ends with; it has said why.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// newVerb makes a verb; run gets what is no option, and gives the exit code.
func newVerb(use, short, long string, args cobra.PositionalArgs) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, SilenceUsage: true, SilenceErrors: true,
		DisableFlagsInUseLine: true,
		Args: func(c *cobra.Command, words []string) error {
			if err := filled(c, words); err != nil {
				return err
			}
			return args(c, words)
		}}
	return c
}

// filled refuses empty words: they come from a script's variable that is not set, and "gnvcc apply
// $DIR" must not mean all.
func filled(c *cobra.Command, words []string) (err error) {
	own := words
	if c.Annotations[takesCommand] != "" {
		own = words[:min(1, len(words))] // the others are the program's
	}
	if slices.Contains(own, "") {
		return errors.New("an argument is empty")
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if text := f.Value.String(); f.Value.Type() == "string" && text == "" ||
			f.Value.Type() == "stringSlice" && text == "[]" {
			err = fmt.Errorf("--%s is given an empty value", f.Name)
		}
	})
	return err
}

// tries gives a verb its work. What goes wrong in it is said, and the verb ends with the code,
// unless the error is one of its own (exit).
func tries(c *cobra.Command, code int, run func(args []string) error) *cobra.Command {
	c.RunE = func(_ *cobra.Command, args []string) error {
		err := run(args)
		var own exit
		switch {
		case err == nil, errors.As(err, &own) && own == 0:
			return nil
		case own != 0:
			return own
		}
		complain(c.Name(), err)
		return exit(code)
	}
	return c
}

// withStore is tries for what works on the user's store. A signal ends the process.
func withStore(c *cobra.Command, code int,
	run func(store *cache.Store, args []string) error) *cobra.Command {
	return tries(c, code, func(args []string) error {
		store, err := openStore()
		if err != nil {
			return err
		}
		return run(store, args)
	})
}

// onStore is withStore for what a signal ends by its context.
func onStore(c *cobra.Command, code int,
	run func(ctx context.Context, store *cache.Store, args []string) error) *cobra.Command {
	return withStore(c, code, func(store *cache.Store, args []string) error {
		ctx, stop := ended(context.Background())
		defer stop()
		return run(ctx, store, args)
	})
}

// root holds all verbs.
func root() *cobra.Command {
	c := &cobra.Command{Use: "gnvcc", SilenceUsage: true, SilenceErrors: true, DisableSuggestions: true}
	for _, g := range groups {
		c.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, make := range g.verbs {
			v := make()
			v.GroupID = g.title
			c.AddCommand(v)
		}
	}
	c.SetHelpCommandGroupID(others)
	c.SetCompletionCommandGroupID(others)
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		text := about(c, terminalWidth(os.Stdout))
		if !c.HasParent() {
			text = overview(c)
		}
		fmt.Fprint(stdout(), text)
	})
	c.SetOut(console)
	c.InitDefaultHelpCmd()
	c.InitDefaultCompletionCmd()
	return c
}

// arguments is the rule for verbs that take so many; most < 0: any number.
func arguments(least, most int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case most == 0 && len(args) > 0:
			return fmt.Errorf("unexpected argument %q: this verb takes none", args[0])
		case most >= 0 && len(args) > most:
			return fmt.Errorf("unexpected argument %q", args[most])
		case len(args) < least:
			return errors.New("an argument is missing")
		}
		return nil
	}
}

// none is the rule for verbs that take no arguments.
var none = arguments(0, 0)

// complete answers a shell that completes a line (cobra.ShellCompRequestCmd).
func complete(args []string) int {
	c := root()
	c.SetArgs(args)
	if c.Execute() != nil {
		return 1
	}
	return 0
}

// execute runs a verb with the arguments behind its name, and gives the exit code.
func execute(name string, args []string) int {
	c := root()
	v, _, err := c.Find([]string{name})
	if err != nil {
		return complain(name, err)
	}
	c.SetArgs(append([]string{name}, args...))
	err = c.Execute()
	var code exit
	switch {
	case err == nil && console.err != nil && v.Annotations[takesCommand] == "":
		// A full disk: nobody may take what is there for whole. Behind a program's run the exit code is
		// the program's.
		return complain(name, console.err)
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	return complain(name, fmt.Errorf("%w\nusage: %s (gnvcc %s --help shows more)", err, v.UseLine(),
		name))
}

// A plainWord may be a mistyped verb: nvcc takes no input without a suffix.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2,12}$`) })

// hint says which verb a word may be meant for, where nvcc is about to refuse the word in its own
// way: a first word that is no file, and no question that it answers without looking at files.
func hint(args []string) {
	if len(args) == 0 { // nvcc: no input files
		fmt.Fprintln(stderr, "gnvcc: gnvcc help lists the commands of gnvcc")
		return
	}
	word := args[0]
	if !plainWord().MatchString(word) {
		return
	}
	if _, err := os.Lstat(word); err == nil {
		return
	}
	if toolcmd.ReadLine(args, "", os.Getenv).Query {
		return
	}
	var like []string
	for _, v := range root().Commands() {
		if selection.Distance(word, v.Name()) <= 1 || len(word) > 2 && strings.HasPrefix(v.Name(), word) {
			like = append(like, v.Name())
		}
	}
	if len(like) > 0 {
		fmt.Fprintf(stderr, "gnvcc: there is no verb %q; did you mean gnvcc %s?\n", word,
			strings.Join(like, ", or gnvcc "))
	}
}
