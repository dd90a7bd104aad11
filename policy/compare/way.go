// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/toolkit"
)

// A Way is how recorded commands are built. The zero one is as they were recorded.
type Way struct {
	Toolkit string   // version or folder, "": the recorded one
	Flags   []string // options of nvcc's that go before the command's own
	Commit  string   // of the tree that its sources are taken from, "": as they are now
}

// A builder builds in a way. Its store has what comes out.
type builder struct {
	way   Way
	kit   toolkit.Toolkit
	trees *trees
	store *cache.Store // the user's
	into  *cache.Store
}

func newBuilder(way Way, store, into *cache.Store, scratch string) (*builder, error) {
	b := &builder{way: way, store: store, into: into}
	if way.Toolkit != "" {
		self, _ := os.Executable()
		var err error
		if b.kit, err = toolkit.Named(self, environment.Read(), way.Toolkit); err != nil {
			return nil, err
		}
	}
	if way.Commit != "" {
		b.trees = &trees{commit: way.Commit, scratch: scratch}
	}
	return b, nil
}

// build runs a recorded command in the way.
func (b *builder) build(ctx context.Context, hash string) (*apply.Trial, error) {
	c, err := record.LoadCommand(b.store, hash)
	if err != nil {
		return nil, fmt.Errorf("its command is no longer in the store; build it again: %w", err)
	}
	o := apply.Otherwise{Store: b.into, Nvcc: b.kit.Nvcc, Flags: b.way.Flags}
	if b.kit.Nvcc != "" {
		o.Moved = toolkits(c.Nvcc, b.kit)
	}
	if b.trees != nil {
		move, err := b.trees.of(ctx, c.Dir)
		if err != nil {
			return nil, err
		}
		o.Moved = append(o.Moved, move)
	}
	return apply.TryOtherwise(ctx, b.store, hash, o)
}

// quoted is what a tool's message about its command line names.
var quoted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:nvcc|ptxas) fatal *:.*'-*([^']+)'`)
})

// misused is the option of the way's that a tool refuses, as it says where a build failed; "": it
// is something else that failed.
func (b *builder) misused(failed error) string {
	m := quoted().FindStringSubmatch(failed.Error())
	n := slices.IndexFunc(b.way.Flags, func(word string) bool {
		return m != nil && strings.Contains(word, m[1])
	})
	if n < 0 {
		return ""
	}
	return b.way.Flags[n]
}

// half matches what a shell or the host compiler says where a toolkit lacks a part of its own.
var half = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?:sh: .*not found|<command-line>: fatal error: cuda_runtime\.h: No such file.*)`)
})

// toolkits puts one toolkit's folder in the place of another's: build systems name its headers, and
// those of one version are not for the compiler of another.
func toolkits(nvcc string, kit toolkit.Toolkit) (out []apply.Move) {
	was := toolkit.Toolkit{Nvcc: nvcc}.Dir()
	dirs := []string{was}
	for _, path := range []string{was, nvcc} {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			if path == nvcc {
				real = filepath.Dir(filepath.Dir(real))
			}
			dirs = append(dirs, real)
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range slices.Compact(dirs) {
		// "/usr" is no toolkit's alone, though nvcc may lie in /usr/bin
		if strings.Count(dir, "/") > 1 && dir != kit.Dir() {
			out = append(out, apply.Move{From: dir, To: kit.Dir()})
		}
	}
	return out
}

// title says what a build is, for people: the toolkit that it was seen to take, and what is added.
func (w Way) title(version string) string {
	out := "CUDA " + version
	if version == "" {
		if out = "as recorded"; w.Toolkit != "" {
			out = "CUDA " + w.Toolkit
		}
	}
	if len(w.Flags) > 0 {
		out += " " + strings.Join(w.Flags, " ")
	}
	if w.Commit != "" {
		out += " at " + w.Commit
	}
	return out
}
