package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"gnvcc/install/kits"
)

// wrong are command lines that each verb must refuse, and a part of what it says. Verbs are cobra's
// own list: one that is added without a row fails. What is wrong for every verb (an unknown option,
// an option without its value, an empty argument) is tried by TestArguments itself.
var wrong = map[string][]struct{ line, says string }{
	"apply": {{"a b", `unexpected argument "b"`}, {"nosuch", "nosuch"}},
	"compare": {{"", "with what? --toolkit"}, {"--flags -O1 a b", `unexpected argument "b"`},
		{"--toolkit 9.9", "CUDA 9.9 is not on this machine"}, {"--flags -O1 --lock f", "--flags and --lock"},
		{"--lock nosuch", "nosuch"}, {"--lock . --json", "--json and --lock"},
		{"--flags -O1", "no builds by gnvcc are on record here"}, {"--flags -O1 k", "no such kernel: k"}},
	"doctor": {{"now", "this verb takes none"}, {"--store --config", "--config and --store"}},
	"explain": {{"", "an argument is missing"}, {"a b", `unexpected argument "b"`},
		{"(", "missing closing"}, {"k", "no such kernel: k"}},
	"export": {{"a b", `unexpected argument "b"`}, {"nosuch", "nosuch"}, {"--all .", "--all"},
		{"-o nosuch/file", "no lock file is written"}},
	"judge": {{"", "which file?"}, {"a.cu b.cu", `unexpected argument "b.cu"`},
		{"--serve a.cu", "--serve reads"}, {"--within 1 a.cu", "ABS,REL"}, {"nosuch.cu", "no such file"}},
	"lock": {{"a b c", `unexpected argument "c"`}, {"nosuch", "nosuch"}, {".", "regular file"},
		{"--off", "go by no lock file"}, {"--off nosuch", "nosuch"}, {"--off --take a", "--off and --take"},
		{"--take", "which lock file"}, {"--take a b", `unexpected argument "b"`},
		{"--take nosuch", "nosuch"}, {"--take .", "regular file"}},
	"pin": {{"", "expected KERNEL RECIPE"}, {"k", "expected KERNEL RECIPE"},
		{"k a b", `unexpected argument "b"`}, {"k maxnreg", "maxnreg"}, {"k magic=1", "magic"},
		{"k maxnreg=40", "no such kernel: k"}, {"--without magic k", `unknown lever "magic"`},
		{"--without maxnreg k", "no such kernel: k"}, {"--none k", "no such kernel: k"},
		{"--none", "expected KERNEL"}, {"--none k maxnreg=40", "expected KERNEL"},
		{"--forget", "expected KERNEL"}, {"--forget k", "no such kernel: k"}, {"--forget --none k", "--forget and --none"},
		{"-n --none k", "-n goes with"}},
	"predict": {{"a b", `unexpected argument "b"`}, {"(", "missing closing"}},
	"pull":    {{"oci://", "oci://"}, {"--remove y", "no remote y"}},
	"push": {{"", "an argument is missing"}, {"a b", `unexpected argument "b"`},
		{"nosuch", "oci://"}},
	"report": {{"extra", "no such file"}, {"--html f --json", "--html and --json"},
		{"--all .", "or use --all"}, {"--html nosuch/page", "writing the page"}},
	"revert": {{"a b", `unexpected argument "b"`}, {"nosuch", "nosuch"}},
	"status": {{"a b", `unexpected argument "b"`}, {"nosuch", "nosuch"}},
	"tune": {{"", "no captured launches"}, {"--apply", "no captured launches"}, {"--budget soon true",
		"number of seconds"}, {"--budget -1 true", "number of seconds"}, {"--budget 0 true", "budget"},
		{"--budget 1e300 true", "number of seconds"}, {"--kernels k", "no launches are captured of it"},
		{"--exact maybe true", "construction, checked or approximate"}, {"--exact approximate true", "--within"},
		{"--within much --exact=approximate true", "no bound"}, {"--within app:true --exact=approximate true", "needs --exact=approximate and --apply"}, {"--within 1e-3", "need the program"},
		{"--levers magic true", `"magic"`}, {"--levers=-magic true", `"magic"`},
		{"--levers hint,-hint true", "both hint and -hint"}, {"--levers approx true", "--exact=approximate"},
		{"--kernels ( true", "missing closing"}, {"-- ./nosuch", "nosuch"},
		{"--on moon true", "there are local:gpus=N"}, {"--on local:gpus=2 --within 1e-3 true", "--on searches for exact recipes"},
		{"--observe", "no program observed yet"}, {"--observe --apply true", "--observe does no search"},
	},
	"watch":   {{"nosuch", "nosuch"}, {"--status --stop", "--status and --stop"}},
	"version": {{"now", "this verb takes none"}},
}

// TestArguments: what is wrong is refused with a message of a few lines that names the verb,
// nothing is printed to standard output, and nothing is left behind but what a store is.
func TestArguments(t *testing.T) {
	s := newSite(t, kits.Any(t).Nvcc(), asIfDriver+"=yes")
	refuse := func(t *testing.T, says string, words ...string) {
		t.Helper()
		cmd := s.command(s.exe, words...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var code *exec.ExitError
		line := strings.Join(words, " ")
		if !errors.As(err, &code) {
			t.Errorf("gnvcc %s: not refused (%v)\n%s%s", line, err, stdout.String(), stderr.String())
			return
		}
		text := stderr.String()
		switch {
		case code.ExitCode() != 1 && code.ExitCode() != 2 && code.ExitCode() != 127:
			t.Errorf("gnvcc %s: exit code %d", line, code.ExitCode())
		case !strings.Contains(text, says):
			t.Errorf("gnvcc %s does not say %q:\n%s", line, says, text)
		case !strings.HasPrefix(text, "gnvcc "+words[0]+": "):
			t.Errorf("gnvcc %s does not begin by its name: %s", line, text)
		case strings.Count(text, "\n") > 6 || strings.Contains(text, "goroutine"):
			t.Errorf("gnvcc %s says much:\n%s", line, text)
		case stdout.Len() > 0:
			t.Errorf("gnvcc %s prints: %s", line, stdout.String())
		}
	}
	for _, v := range root().Commands() {
		name := v.Name()
		if name == "help" || name == "completion" { // cobra's own
			continue
		}
		t.Run(name, func(t *testing.T) {
			if len(wrong[name]) == 0 {
				t.Fatal("the table has no row for this verb")
			}
			for _, w := range wrong[name] {
				refuse(t, w.says, append([]string{name}, strings.Fields(w.line)...)...)
			}
			refuse(t, "unknown flag: --no-such-option", name, "--no-such-option")
			refuse(t, "empty", name, "")
			v.Flags().VisitAll(func(f *pflag.Flag) {
				if f.NoOptDefVal == "" {
					refuse(t, "flag needs an argument: --"+f.Name, name, "--"+f.Name)
					refuse(t, "--"+f.Name, name, "--"+f.Name+"=")
				} else {
					refuse(t, "invalid argument", name, "--"+f.Name+"=perhaps")
				}
			})
		})
	}
	options := 0
	for _, v := range root().Commands() {
		v.LocalNonPersistentFlags().VisitAll(func(*pflag.Flag) { options++ })
	}
	if options > 71 {
		t.Errorf("%d options are more than people can know", options)
	}
	for name := range wrong {
		if !isVerb(name) {
			t.Errorf("the table has a row for %s, which is no verb", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
