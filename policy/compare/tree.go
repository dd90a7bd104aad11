// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gnvcc/driver/apply"
	"gnvcc/driver/environment"
)

// Another commit's tree: its files in a scratch folder, and with them what the present tree has
// that git does not know and a compile may read (headers that the build made). The user's own tree
// is only read.

// trees are those of one commit, by repository.
type trees struct {
	commit, scratch string
	mu              sync.Mutex
	made            map[string]string
}

// read says of what git does not know what a compile may read.
var read = []string{".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".tcc", ".def",
	".cu", ".txt"}

// of gives the folder that stands for the repository of a command's folder.
func (t *trees) of(ctx context.Context, dir string) (apply.Move, error) {
	top, err := git(ctx, dir, []string{"rev-parse", "--show-toplevel"})
	if err != nil {
		return apply.Move{}, fmt.Errorf("%s is in no git repository: %w", dir, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := apply.Move{From: strings.TrimSuffix(top, "\n")}
	if to, ok := t.made[m.From]; ok {
		m.To = to
		return m, t.within(m, dir)
	}
	m.To = filepath.Join(t.scratch, fmt.Sprintf("tree%d", len(t.made)))
	if err := fill(ctx, m, t.commit); err != nil {
		return m, fmt.Errorf("the tree of %s: %w", t.commit, err)
	}
	if t.made == nil {
		t.made = map[string]string{}
	}
	t.made[m.From] = m.To
	return m, t.within(m, dir)
}

// within makes the folder in which a command runs, if the commit lacks it.
func (t *trees) within(m apply.Move, dir string) error {
	rel, err := filepath.Rel(m.From, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return fmt.Errorf("%s is reached through a link: name the folder as git does (%s)", dir, m.From)
	}
	return os.MkdirAll(filepath.Join(m.To, rel), 0o700)
}

// fill puts a commit's files into the folder, those of submodules as well that are in the present
// tree, as the commit has them.
func fill(ctx context.Context, m apply.Move, commit string) error {
	// ^{commit}: a name, and not an option or a file
	hash, err := git(ctx, m.From, []string{"rev-parse", "--verify", "--end-of-options",
		commit + "^{commit}"})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(m.To, 0o700); err != nil {
		return err
	}
	// not git archive, which leaves out what .gitattributes says (export-ignore); with an index of our
	// own, next to which nothing is written
	index := m.To + ".index"
	for _, args := range [][]string{{"read-tree", strings.TrimSpace(hash)},
		{"checkout-index", "--all", "--prefix=" + m.To + "/"}} {
		args = slices.Concat([]string{"-c", "core.sparseCheckout=false", "-c", "core.splitIndex=false",
			"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args)
		if _, err := git(ctx, m.From, args, "GIT_INDEX_FILE="+index); err != nil {
			return err
		}
	}
	entries, err := git(ctx, m.From, []string{"ls-files", "-z", "--stage"}, "GIT_INDEX_FILE="+index)
	if err != nil {
		return err
	}
	for _, entry := range strings.Split(entries, "\x00") {
		about, path, _ := strings.Cut(entry, "\t") // "160000 HASH 0", PATH
		words := strings.Fields(about)
		if len(words) < 2 || words[0] != submodule {
			continue
		}
		from := filepath.Join(m.From, path)
		if _, err := os.Stat(filepath.Join(from, ".git")); err != nil {
			continue // the present tree does without it
		}
		if err := fill(ctx, apply.Move{From: from, To: filepath.Join(m.To, path)}, words[1]); err != nil {
			return fmt.Errorf("the submodule %s at %.12s, which the commit takes (git fetch in it may get that): %w",
				path, words[1], err)
		}
	}
	others, err := git(ctx, m.From, []string{"ls-files", "-z", "--others"})
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(m.To) // nothing is written where a link of the commit's leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range strings.Split(others, "\x00") {
		if name != "" && slices.Contains(read, filepath.Ext(name)) {
			if err := copyNew(root, filepath.Join(m.From, name), name); err != nil {
				return err
			}
		}
	}
	return nil
}

// submodule is the mode of one in an index.
const submodule = "160000"

// copyNew copies a regular file to where none is.
func copyNew(root *os.Root, from, name string) error {
	info, err := os.Stat(from)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a link to nowhere: nothing could read it
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil // the commit has a file, or a link, where a folder is now
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil // the commit has it
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err == nil {
		err = e
	}
	return err
}

// git runs git in a folder, for the repository that this lies in: a hook's environment would have
// it be the hook's.
func git(ctx context.Context, dir string, args []string, env ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(environment.Read().Without("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
		"GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE"), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		at := slices.IndexFunc(args, func(a string) bool { return a != "-c" && !strings.Contains(a, "=") })
		return "", fmt.Errorf("git %s: %w: %s", args[at], err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}
