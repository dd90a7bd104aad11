package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/scratch"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
)

// A manner is how an nvcc takes prefixes.
type manner struct {
	Takes bool // it knows the options
	Host  bool // --cpp-prefix stands in front of the host compiler, too
	// the first word of its cicc command: 13.x writes "$CICC_PATH/cicc" with its quotes, 12.4 and
	// older cicc
	Cicc string
}

// memoManner keeps the manners of an nvcc, which is asked once.
const memoManner cache.Memos[manner] = "manner4"

// mannerOf asks an nvcc for a dry run with prefixes and looks at where they stand. An nvcc that
// does not know the options, or that shows them where we don't expect them, is left alone: that is
// the way out for versions that nobody has tried yet.
func mannerOf(nvcc string, store *cache.Store, env *environment.Environment) (manner, error) {
	var m manner
	key, err := cache.FileKey(nvcc)
	if err != nil {
		return m, err
	}
	script := toolkit.IsScript(nvcc)
	if script { // which nvcc stands behind it may depend on the environment
		key = cache.HashOf(append([]string{key}, env.Compile()...)...)
	}
	if m, ok := memoManner.Get(store, key); ok {
		return m, nil
	}
	if !script {
		m, err = askQuickly(nvcc, env)
	}
	if script || err != nil || !m.Takes {
		if m, err = askManner(nvcc, env); err != nil {
			return m, err
		}
	}
	memoManner.Put(store, key, m) // asked again if it can't be kept
	return m, nil
}

// askManner asks by a dry run; options are further ones.
func askManner(nvcc string, env *environment.Environment, options ...string) (manner, error) {
	const mark = "gnvcc-was-here"
	cmd := exec.Command(nvcc, append(options, "--cicc-prefix", mark, "--cudafe-prefix", mark,
		"--cpp-prefix", mark, "--ptxas-prefix", mark, "--nvlink-prefix", mark, "--dryrun",
		"-o", "gnvcc-was-here", "gnvcc-was-here.cu")...)
	cmd.Env = env.Without("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err == nil {
		return readManner(text, mark), nil
	}
	if !strings.Contains(text, "-prefix") { // some other trouble, perhaps gone the next time
		return manner{}, fmt.Errorf("ask %s how it takes prefixes: %w: %s: %w", nvcc, err,
			strings.TrimSpace(text), toolcmd.ErrAside)
	}
	return manner{}, nil
}

// askQuickly asks with a stand-in for the host compiler. A dry run takes 22 ms, 8 of them for
// gcc -E, from which nvcc learns which compiler that is; here any will do. Who gets no answer that
// he knows asks again without the stand-in.
func askQuickly(nvcc string, env *environment.Environment) (manner, error) {
	architecture := "__NV_X86_64__"
	if runtime.GOARCH == "arm64" {
		architecture = "__NV_AARCH64__"
	}
	folder, err := scratch.Unswept(os.TempDir())
	if err != nil {
		return manner{}, err
	}
	defer folder.Remove()
	gcc := filepath.Join(folder.Path, "gcc")
	err = os.WriteFile(gcc, []byte("#!/bin/sh\necho '__NV_CPLUSPLUS 201703L\n__NV_GNUC__ 12\n"+
		"__NV_GNUC_MINOR__ 2\n__NV_GNUC_PATCHLEVEL__ 0\n__NV_LINUX__\n"+architecture+"'\n"), 0o700)
	if err != nil {
		return manner{}, err
	}
	return askManner(nvcc, env, "-ccbin", gcc)
}

// readManner reads nvcc's list of commands.
func readManner(dryrun, mark string) manner {
	var m manner
	cudafe, ptxas, nvlink := false, false, false
	for _, line := range strings.Split(dryrun, "\n") {
		command, ok := strings.CutPrefix(line, "#$ ")
		if !ok {
			continue
		}
		words := strings.Fields(command)
		if len(words) < 2 {
			continue
		}
		switch {
		case words[0] == mark && strings.Trim(filepath.Base(words[1]), `"`) == "cicc":
			m.Cicc = words[1]
		case words[0] == mark && words[1] == "cudafe++":
			cudafe = true
		case words[0] == mark && slices.Contains(words, "-c") &&
			strings.Contains(command, ".cudafe1.cpp"):
			m.Host = true
		case words[0] == mark && words[1] == "ptxas":
			ptxas = true
		case words[0] == mark && words[1] == "nvlink", words[0] == "nvlink" && words[1] == mark,
			words[0] == "nvlink" && words[1] == "-optf": // in a file, the folder's name being that long
			nvlink = true
		}
	}
	m.Takes = m.Cicc != "" && cudafe && ptxas && nvlink
	return m
}
