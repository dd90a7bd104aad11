package driver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/stage"
	"gnvcc/driver/standing"
	"gnvcc/driver/toolkit"
)

// sccache in front of gnvcc takes nvcc apart: it asks for the commands (--dryrun), looks each tool
// up in the PATH and the CICC_PATH that the answer begins with, and runs cicc and ptxas itself,
// where it has not kept what they give. So with GNVCC_SCCACHE=1 the answer names a folder of ours
// first, in which cicc and ptxas are scripts:
//
//	#$ PATH=/home/me/.cache/gnvcc/tools/1f0a...:/usr/local/cuda/bin:/usr/bin
//	#$ CICC_PATH=/home/me/.cache/gnvcc/tools/1f0a...
//
// sccache finds a result by the program's content, its arguments and its input. The script of ptxas
// holds a hash of all that decides which recipes a build takes (standing.Key), the version of ptxas
// and ours: where any of that changes it is another program. The stages see what this process sees:
// sccache runs them in folders of its own, so that the lock file is named. Below it there is no
// command that gnvcc apply could run again, and no host stub to be changed: recipes with second
// entries are left alone.
//
// Whatever goes wrong here ends in nvcc's own answer, and in a script in the tool itself.

// toolsKept is how long scripts stay that no dry run has asked for.
const toolsKept = 7 * 24 * time.Hour

// forSccache answers a dry run, if it is one; else, and where that is not possible, ok is false.
func forSccache(kit toolkit.Toolkit, env *environment.Environment, self string,
	args []string) (code int, ok bool) {
	if self == "" || !slices.Contains(args, "--dryrun") {
		return 0, false
	}
	log := env.Log()
	dir, err := sccacheTools(kit, env, self)
	if err != nil {
		log.Warn().Err(err).Msg("below sccache without recipes")
		return 0, false
	}
	var said bytes.Buffer
	cmd := &exec.Cmd{Path: kit.Nvcc, Args: append([]string{kit.Nvcc}, args...), Env: env.All(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: &said}
	err = cmd.Run()
	os.Stderr.Write(withTools(said.Bytes(), dir))
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0, true
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		return ended.ExitCode(), true
	}
	return complain("run %s: %v", kit.Nvcc, err), true
}

// withTools puts our folder in front of the toolkit's in a dry run's answer.
func withTools(answer []byte, dir string) []byte {
	lines := strings.SplitAfter(string(answer), "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "#$ PATH="):
			lines[i] = strings.Replace(line, "=", "="+dir+":", 1)
		case strings.HasPrefix(line, "#$ CICC_PATH="):
			lines[i] = "#$ CICC_PATH=" + dir + "\n"
		}
	}
	return []byte(strings.Join(lines, ""))
}

// sccacheTools makes the folder of scripts.
func sccacheTools(kit toolkit.Toolkit, env *environment.Environment, self string) (string, error) {
	store, err := env.OpenStore()
	if err != nil {
		return "", err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	key, lock, err := standing.Key(store, dir, env)
	if err != nil {
		return "", err
	}
	scripts, all := map[string]string{}, []string{self}
	for _, name := range []string{"cicc", "ptxas"} {
		tool, err := kit.Tool(name)
		if err != nil {
			return "", err
		}
		if tool, err = filepath.Abs(tool); err != nil {
			return "", err
		}
		id, err := cache.FileKey(tool)
		if err != nil {
			return "", err
		}
		note := "cicc " + cache.OwnKey()
		if name == "ptxas" {
			version, err := toolkit.VersionOf(store, tool, id)
			if err != nil {
				return "", err
			}
			note = strings.Join([]string{"ptxas", version, cache.OwnKey(), key}, " ")
		}
		scripts[name] = sccacheScript(env, name, note, self, tool, lock)
		all = append(all, scripts[name])
	}
	parent := filepath.Join(store.Path(), "tools")
	folder := filepath.Join(parent, cache.HashOf(all...)[:16])
	if strings.ContainsAny(folder, ":\n") {
		return "", fmt.Errorf("%s: a folder in PATH can't be called so", folder)
	}
	return folder, writeTools(parent, folder, scripts)
}

// sccacheScript is a tool with the stage in front of it. note is for sccache alone.
func sccacheScript(env *environment.Environment, name, note, self, tool, lock string) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# %s\nPATH=${PATH#\"${0%%/*}\":}\n", note)
	if name == "cicc" {
		fmt.Fprintf(&b, "CICC_PATH=%s\n", quote(filepath.Dir(tool)))
	}
	fmt.Fprintf(&b, "if [ -x %s ]; then\n", quote(self))
	for _, setting := range env.OfStages(lock) {
		variable, value, _ := strings.Cut(setting, "=")
		fmt.Fprintf(&b, "  export %s=%s\n", variable, quote(value))
	}
	fmt.Fprintf(&b, "  exec %s %s%s %s \"$@\"\nfi\nexec %[4]s \"$@\"\n", quote(self), stage.Word, name,
		quote(tool))
	return b.String()
}

// writeTools writes the scripts where they are not, all or none, and takes old ones away.
func writeTools(parent, folder string, scripts map[string]string) error {
	now := time.Now()
	if info, err := os.Stat(folder); err == nil {
		if now.Sub(info.ModTime()) > toolsKept/7 {
			return os.Chtimes(folder, now, now)
		}
		return nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	old, _ := os.ReadDir(parent)
	for _, e := range old {
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > toolsKept {
			os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
	beside, err := os.MkdirTemp(parent, ".new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside)
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(beside, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(beside, 0o755); err != nil {
		return err
	}
	if err := os.Rename(beside, folder); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}
