package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/policy"
	"gnvcc/policy/selection"
	"gnvcc/policy/tuner"
)

// What verbs mean by KERNEL: package selection's words, asked of the kernels that this store knows.

const kernelUsage = `KERNEL is a name as in the source, with or without template arguments, namespaces and parameters, a mangled one, an identity
or how one begins (8 digits and more; gnvcc report --json), else a regular expression for a part of a name.`

// A builtKernel is a kernel of a build on record, with the source that it is from.
type builtKernel struct {
	record.BuiltKernel
	source string
}

func (b builtKernel) selected() selection.Kernel {
	return selection.Kernel{Name: b.Name, Identity: b.Identity, File: b.source,
		Target: b.Assembly.Target}
}

// builtKernels are those of the newest build of every file and target: record.Built's, under every
// name that the same code has.
func builtKernels(store *cache.Store) []builtKernel {
	var out []builtKernel
	for _, all := range record.Read(store).ByCommand() {
		for _, a := range record.Newest(store, all) {
			source := record.SourceOf(store, a)
			if source != "" && !filepath.IsAbs(source) {
				source = filepath.Join(a.Dir, source)
			}
			for _, k := range a.Kernels {
				if k.Identity != "" {
					out = append(out, builtKernel{record.BuiltKernel{Kernel: k, Assembly: a}, source})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b builtKernel) int {
		return cmp.Or(a.Compare(b.BuiltKernel), b.Assembly.Time.Compare(a.Assembly.Time),
			cmp.Compare(a.source, b.source))
	})
	return out
}

// codes are kernels without those whose code another one in front of them has.
func codes(list []builtKernel) []record.BuiltKernel {
	had := map[string]bool{}
	var out []record.BuiltKernel
	for _, b := range list {
		if !had[b.Identity] {
			had[b.Identity] = true
			out = append(out, b.BuiltKernel)
		}
	}
	return out
}

// newestBuilt gives the kernels that were built by their identities, each in its newest build.
func newestBuilt(store *cache.Store) map[string]record.BuiltKernel {
	out := map[string]record.BuiltKernel{}
	for _, b := range builtKernels(store) {
		if old, ok := out[b.Identity]; !ok || b.Assembly.Time.After(old.Assembly.Time) {
			out[b.Identity] = b.BuiltKernel
		}
	}
	return out
}

func selectedDecision(d cache.Decision) selection.Kernel {
	return selection.Kernel{Name: d.Kernel, Identity: d.Identity, Target: d.Target}
}

// known are the kernels that were built, with a store, and those of decisions.
func known(store *cache.Store, decisions []cache.Decision) []selection.Kernel {
	var out []selection.Kernel
	files := map[string]string{}
	if store != nil {
		for _, b := range builtKernels(store) {
			out = append(out, b.selected())
			files[b.Identity] = b.source
		}
	}
	for _, d := range decisions {
		k := selectedDecision(d)
		k.File = files[d.Identity]
		out = append(out, k)
	}
	return out
}

// identities are those of kernels that a word means.
func identities(list []selection.Kernel) map[string]bool {
	out := map[string]bool{}
	for _, k := range list {
		out[k.Identity] = true
	}
	return out
}

func itself(k selection.Kernel) selection.Kernel { return k }

// openStore opens the user's store.
func openStore() (*cache.Store, error) {
	dir, err := cache.Dir()
	if err != nil {
		return nil, err
	}
	return cache.Open(dir)
}

// openDecisions opens the user's store, up to date with what builds have noted.
func openDecisions(ctx context.Context) (*tuner.Decisions, error) {
	store, err := openStore()
	if err != nil {
		return nil, err
	}
	return tuner.ReadDecisions(ctx, store)
}

// complain prints what went wrong, and gives the exit code for it.
func complain(verb string, err error) int {
	fmt.Fprintf(stderr, "gnvcc %s: %v\n", verb, err)
	var known *cache.Error
	if errors.As(err, &known) && known.Advice != "" && !strings.Contains(err.Error(), known.Advice) {
		fmt.Fprintln(stderr, "  ", known.Advice)
	}
	return 2
}

// What a shell gets when it completes a KERNEL. Errors are not printed.

// completesKernels lets a verb's first argument be completed by the kernels that were built.
func completesKernels(c *cobra.Command) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string,
		_ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return kernelCompletions(), cobra.ShellCompDirectiveNoFileComp
	}
}

// kernelCompletions are the kernels that were built, each with its source.
func kernelCompletions() []cobra.Completion {
	store, err := openStore()
	if err != nil {
		return nil
	}
	var out []cobra.Completion
	for _, b := range builtKernels(store) {
		out = append(out, cobra.CompletionWithDesc(policy.ShortName(b.Name), filepath.Base(b.source)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
