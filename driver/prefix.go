package driver

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/stage"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
)

// The words that nvcc puts in front of a step. nvcc joins prefix and command with a space and gives
// the whole to sh -c:
//
//	WORD 2>/dev/null </dev/null/x; "$GNVCC_STAGE" gnvcc-stage:ptxas ptxas -arch=sm_90 "x.ptx" -o "x.cubin"
//
// When a signal ends the shell, nvcc says `'WORD' died due to signal 2`: the first word of the
// command, as it stands. So ours begins with the word that stands there without us. As a command it
// never runs: a shell that can't redirect does not start it, and nothing can be opened below
// /dev/null. That failure goes without a word, stderr having been redirected before. What follows
// is a simple command at the end of the line, as the step's own was: shells that replace themselves
// by it do so, those that report a crash of it ("Segmentation fault", 139) do that.
//
// GNVCC_STAGE is a variable so that a path with spaces, quotes or dollars reaches the shell whole.
// The text has no comma, at which nvcc would split it.

// prefixFor is the prefix for a step. nvcc 11.8 to 13.5 put nvlink's so-called prefix behind its
// word: `nvlink PREFIX -m64 ...`. So that one is without the word, which gives the same line, and
// should an nvcc put it in front one day, it does no harm there.
func prefixFor(step, word string) string {
	if step == "nvlink" {
		word = ""
	}
	return strings.TrimLeft(word+` 2>/dev/null </dev/null/x; "$`+environment.Stage+`" `+stage.Word+
		step, " ")
}

// prefixArgs are the options that make nvcc run its steps through us.
//
// cudafe++ has a stage only in an apply, and in a command that is tried (driver/apply, Try): it
// changes nothing there, and in every build it would cost some 10 ms a file (bench/overhead: 1.025
// times nvcc's time with it). So the first apply runs cudafe++ and keeps what it writes; later ones
// take that.
//
// The host compiler has one for the same reason. Its prefix is called cpp's and stands in front of
// each of its calls; all but the compile of what cudafe++ wrote are left to it. host: it may be
// set, the user having none of his own.
func prefixArgs(env *environment.Environment, ciccWord string, host bool) []string {
	args := []string{
		"--cicc-prefix", prefixFor("cicc", ciccWord),
		"--ptxas-prefix", prefixFor("ptxas", "ptxas"),
		"--nvlink-prefix", prefixFor("nvlink", "nvlink"),
	}
	if env.Reuse || env.Verify || env.Stop {
		args = append(args, "--cudafe-prefix", prefixFor("cudafe", "cudafe++"))
		if host {
			args = append(args, "--cpp-prefix", prefixFor("host", "gcc"))
		}
	}
	return args
}

// A manner is how an nvcc takes prefixes.
type manner struct {
	Takes bool // it knows the options
	Host  bool // --cpp-prefix stands in front of the host compiler, too
	// the first word of its cicc command: 13.x writes "$CICC_PATH/cicc" with its quotes, 12.4 and
	// older cicc
	Cicc string
}

// memoManner keeps the manners of an nvcc, which is asked once.
const memoManner cache.Memos[manner] = "manner3"

// mannerOf asks an nvcc for a dry run with prefixes and looks at where they stand. An nvcc that
// does not know the options, or that shows them where we don't expect them, is left alone: that is
// the way out for versions that nobody has tried yet.
func mannerOf(nvcc string, store *cache.Store, env *environment.Environment) (manner, error) {
	var m manner
	key, err := cache.FileKey(nvcc)
	if err != nil {
		return m, err
	}
	if toolkit.IsScript(nvcc) { // which nvcc stands behind it may depend on the environment
		key = cache.HashOf(append([]string{key}, env.Compile()...)...)
	}
	if m, ok := memoManner.Get(store, key); ok {
		return m, nil
	}
	const mark = "gnvcc-was-here"
	cmd := exec.Command(nvcc, "--cicc-prefix", mark, "--cudafe-prefix", mark, "--cpp-prefix", mark,
		"--ptxas-prefix", mark, "--nvlink-prefix", mark, "--dryrun", "-o", "gnvcc-was-here",
		"gnvcc-was-here.cu")
	cmd.Env = env.Without("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil {
		if !strings.Contains(text, "-prefix") { // some other trouble, perhaps gone the next time
			return m, fmt.Errorf("ask %s how it takes prefixes: %w: %s: %w", nvcc, err,
				strings.TrimSpace(text), toolcmd.ErrAside)
		}
	} else {
		m = readManner(text, mark)
	}
	memoManner.Put(store, key, m) // asked again if it can't be kept
	return m, nil
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
		case words[0] == mark && words[1] == "nvlink", words[0] == "nvlink" && words[1] == mark:
			nvlink = true
		}
	}
	m.Takes = m.Cicc != "" && cudafe && ptxas && nvlink
	return m
}
