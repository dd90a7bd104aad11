package driver

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
)

// A manner is how an nvcc takes prefixes.
type manner struct {
	Takes bool // it knows the options, and gets them as they are
	Host  bool // --cpp-prefix stands in front of the host compiler, too
	// the first word of its cicc command: 13.x writes "$CICC_PATH/cicc" with its quotes, 12.4 and
	// older cicc
	Cicc string

	nvcc string // FileKey of the nvcc that this was asked
}

// memoManner keeps the manners of an nvcc, which is asked once.
const memoManner cache.Memos[manner] = "manner5"

// mannerOf asks an nvcc for a dry run with the prefixes of a build and looks at where they stand.
// An nvcc that does not know the options, that shows them where we don't expect them, or does not
// get them as they are (a script with $@ that has no quotes, or with eval) is left alone: that is
// the way out for versions that were not tried yet, too.
func mannerOf(nvcc string, store *cache.Store, env *environment.Environment) (manner, error) {
	var m manner
	key, err := store.FileKey(nvcc)
	if err != nil {
		return m, err
	}
	own := key
	script := toolkit.IsScript(nvcc)
	if script { // which nvcc stands behind it may depend on the environment
		key = cache.HashOf(append([]string{key}, env.Compile()...)...)
	}
	if m, ok := memoManner.Get(store, key); ok {
		m.nvcc = own
		return m, m.check(nvcc, script)
	}
	if m, err = askManner(nvcc, env); err != nil {
		return m, err
	}
	memoManner.Put(store, key, m) // asked again if it can't be kept
	m.nvcc = own
	return m, m.check(nvcc, script)
}

// CheckPrefixes says why every build with an nvcc runs it as it is, nil where none has to.
func CheckPrefixes(nvcc string, store *cache.Store, env *environment.Environment) error {
	_, err := mannerOf(nvcc, store, env)
	return err
}

func (m manner) check(nvcc string, script bool) error {
	switch {
	case m.Takes:
		return nil
	case script:
		return fmt.Errorf("the script %s does not hand its arguments to an nvcc as they are; "+
			"write \"$@\" in it, with these quotes and without eval: %w", nvcc, toolcmd.ErrAside)
	}
	return fmt.Errorf("%s handles prefixes in an unknown way: %w", nvcc, toolcmd.ErrAside)
}

// askManner asks by a dry run, which takes 22 ms.
func askManner(nvcc string, env *environment.Environment) (manner, error) {
	prefixes := slices.Concat(ciccPrefix("cicc"), ptxasPrefix, nvlinkPrefix, cudafePrefix, hostPrefix)
	dryRun := func(words []string) (string, error) {
		cmd := exec.Command(nvcc,
			append(words, "--dryrun", "-o", "gnvcc-was-here", "gnvcc-was-here.cu")...)
		cmd.Env = env.Without("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", environment.Stage)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	said, err := dryRun(prefixes)
	if err == nil {
		return readManner(said), nil
	}
	if plain, err := dryRun(nil); err != nil { // some other trouble, perhaps gone the next time
		return manner{}, fmt.Errorf("ask %s how it takes prefixes: %w: %s: %w", nvcc, err,
			strings.TrimSpace(plain), toolcmd.ErrAside)
	}
	return manner{}, nil
}

// readManner reads nvcc's list of commands.
func readManner(dryRun string) manner {
	var m manner
	cudafe, ptxas, nvlink := false, false, false
	for line := range strings.SplitSeq(dryRun, "\n") {
		command, ok := strings.CutPrefix(line, "#$ ")
		if !ok {
			continue
		}
		// step gives what stands behind a prefix.
		step := func(prefix []string) (string, bool) { return strings.CutPrefix(command, prefix[1]+" ") }
		tool, ofCicc := step(ciccPrefix("cicc"))
		cicc, _, _ := strings.Cut(tool, " ")
		host, ofHost := step(hostPrefix)
		if word, ok := step(cudafePrefix); ok && strings.HasPrefix(word, "cudafe++ ") {
			cudafe = true
		}
		if word, ok := step(ptxasPrefix); ok && strings.HasPrefix(word, "ptxas ") {
			ptxas = true
		}
		if ofCicc && strings.Trim(filepath.Base(cicc), `"`) == "cicc" {
			m.Cicc = cicc
		}
		if ofHost && strings.Contains(host, " -c ") && strings.Contains(host, ".cudafe1.cpp") {
			m.Host = true
		}
		for _, begin := range []string{nvlinkPrefix[1] + " nvlink ", "nvlink " + nvlinkPrefix[1] + " ",
			"nvlink -optf "} { // in a file, the folder's name being that long
			nvlink = nvlink || strings.HasPrefix(command, begin)
		}
	}
	m.Takes = m.Cicc != "" && cudafe && ptxas && nvlink
	return m
}
