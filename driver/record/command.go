package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolcmd"
)

// memoTarget keeps which command was the last to write an output, by the output's name.
const memoTarget cache.Memos[string] = "target"

// KeepCommand keeps a command as an object and gives its hash. The second time that costs two looks
// at files.
func KeepCommand(store *cache.Store, env *environment.Environment, nvcc string, args []string,
	line *toolcmd.Line) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w: %w", err, toolcmd.ErrAside)
	}
	record := cache.Command{Args: args, Dir: dir, Env: env.Compile(), Nvcc: nvcc}
	for _, list := range [][]string{record.Args, record.Env, {dir, nvcc}} {
		for _, s := range list {
			if !utf8.ValidString(s) { // JSON would change it
				return "", fmt.Errorf("%q is not UTF-8: %w", s, toolcmd.ErrAside)
			}
		}
	}
	text, err := json.Marshal(record)
	if err != nil {
		return "", err
	}
	hash := cache.Hash(text)
	if !store.HasObject(hash) {
		if _, err := store.PutObject(text); err != nil {
			return "", err
		}
	}
	target := targetKey(line, dir)
	if last, _ := memoTarget.Get(store, target); last != hash {
		if err := memoTarget.Put(store, target, hash); err != nil {
			return "", err
		}
	}
	return hash, nil
}

// LoadCommand reads a command that KeepCommand kept.
func LoadCommand(store *cache.Store, hash string) (cache.Command, error) {
	var c cache.Command
	text, err := store.Object(hash)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("command %s: %w", hash, err)
	}
	return c, nil
}

// IsLast reports whether a command is the last one that was seen to write its output.
func IsLast(store *cache.Store, hash string, c cache.Command) bool {
	last, ok := memoTarget.Get(store, TargetOf(c))
	return ok && last == hash
}

// TargetOf is the same for commands that write the same.
func TargetOf(c cache.Command) string { return targetKey(Line(c), c.Dir) }

// targetKey is the key of memoTarget: one for a folder, however it was reached.
func targetKey(l *toolcmd.Line, dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return cache.Hash([]byte(l.Target(dir)))
}

// Line reads a recorded command.
func Line(c cache.Command) *toolcmd.Line {
	return toolcmd.ReadLine(c.Args, c.Dir, environment.Of(c.Env).Get)
}

// HasHost reports whether a command compiles host code.
func HasHost(c cache.Command) bool {
	switch Line(c).Phase {
	case "compile", "link", "run", "lib":
		return true
	}
	return false
}

// Vanished reports whether nothing is left of what a command has built.
func Vanished(c cache.Command) bool {
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return true
	}
	l := Line(c)
	if l.Output == "" {
		return false // the names of its outputs are nvcc's affair
	}
	_, err := os.Lstat(l.Target(c.Dir))
	return os.IsNotExist(err)
}

// Writes names the files that a command writes. Where it has no -o they are named as nvcc names
// them.
func Writes(c cache.Command) []string {
	l := Line(c)
	if l.Output != "" {
		return []string{followed(l.Target(c.Dir))}
	}
	dir := toolcmd.Inside(c.Dir, l.OutDir)
	extension := map[string]string{"compile": ".o", "cubin": ".cubin", "fatbin": ".fatbin",
		"ptx": ".ptx"}[l.Phase]
	if extension == "" {
		return []string{followed(filepath.Join(dir, "a.out"))}
	}
	var out []string
	for _, in := range l.Inputs {
		base := filepath.Base(in)
		out = append(out, followed(filepath.Join(dir, strings.TrimSuffix(base, filepath.Ext(base))+
			extension)))
	}
	return out
}

// followed is a path with the symbolic links of its folder followed: one file may be reached by
// several ways.
func followed(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, filepath.Base(path))
}

// memoNvcc keeps which nvcc (cache.Store.FileKey) ran a command last.
const memoNvcc cache.Memos[string] = "nvcc"

// NoteNvcc notes it. An older note may stay where it can't be kept: a reason alone rests on it.
func NoteNvcc(store *cache.Store, command, key string) {
	if was, _ := memoNvcc.Get(store, command); command != "" && was != key {
		memoNvcc.Put(store, command, key)
	}
}

// ChangedNvcc reports whether a command's nvcc is known to be another one than that which ran it last.
func ChangedNvcc(store *cache.Store, command string, nvcc string) bool {
	was, ok := memoNvcc.Get(store, command)
	now, err := store.FileKey(nvcc)
	return ok && (err != nil || now != was)
}
