package main

import (
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/policy/tuner"
)

// What a shell is told when it completes a KERNEL or a lever. Of trouble it is told nothing.

// completesKernels lets a verb's first argument be completed by the kernels that list gives, as
// names with where they are from; those behind it by levers, where more is so.
func completesKernels(c *cobra.Command, list func(*cache.Store) map[string]string, more bool) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string,
		_ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return kernelCompletions(list), cobra.ShellCompDirectiveNoFileComp
		case more:
			return lever.Names(), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completesFlag does so for a flag's value.
func completesFlag(c *cobra.Command, flag string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string,
		string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return kernelCompletions(builtNames), cobra.ShellCompDirectiveNoFileComp
	})
}

func kernelCompletions(list func(*cache.Store) map[string]string) []cobra.Completion {
	store, err := openStore()
	if err != nil {
		return nil
	}
	var out []cobra.Completion
	for name, from := range list(store) {
		out = append(out, cobra.CompletionWithDesc(name, from))
	}
	slices.Sort(out)
	return out
}

// builtNames are the kernels that were built.
func builtNames(store *cache.Store) map[string]string {
	out := map[string]string{}
	for _, b := range builtKernels(store) {
		out[policy.ShortName(b.Name)] = filepath.Base(b.source)
	}
	return out
}

// pinnedNames are those with a recipe by hand.
func pinnedNames(store *cache.Store) map[string]string {
	out := map[string]string{}
	_ = records(store, cache.Pins, func(d cache.Decision) {
		out[policy.ShortName(d.Kernel)] = d.Recipe
	})
	return out
}

// bannedNames are those with levers that are banned.
func bannedNames(store *cache.Store) map[string]string {
	out := map[string]string{}
	list, _ := bans(store)
	for _, b := range list {
		out[policy.ShortName(b.Name)] = "banned: " + joined(b.ban.Levers)
	}
	return out
}

// capturedNames are those that launches are captured of.
func capturedNames(store *cache.Store) map[string]string {
	out := map[string]string{}
	if s, err := tuner.Captures(store); err == nil {
		list, _ := s.List()
		for _, m := range list {
			out[policy.ShortName(m.Kernel)] = filepath.Base(m.Program)
		}
	}
	return out
}
