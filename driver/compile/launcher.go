package compile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gnvcc/driver/environment"
	"gnvcc/driver/job"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/sim/cubin"
)

// GNVCC_LAUNCHER: a program before the tuner's cicc and ptxas, such as sccache, which spreads what
// is to be compiled over other machines, or knows it already. The tuner alone has it, for
// candidates that are to be measured; builds, proofs and what goes into the evidence of a decision
// are compiled here, by the tools themselves, whatever such a program has given, and what it gave
// is kept under keys of its own. A candidate of altered code is refused as any other one is: by its
// bits, or by a build that finds another normal form.
//
// It has what it needs to find a run again on another machine, or another day: the files have the
// same names in every run, relative to their folder, and they end the line (sccache 0.16 takes
// `ptxas FLAGS IN -o OUT`, and nothing behind it). Where it fails the tool is run as ever, and has
// the last word; where it fails a few times, or hangs, it is left alone from then on.

// launchedCores is how many cores a GPU should have: with more, compiling is not what a search
// waits for (bench/results/2026-11-23-hecbench: 130 of 593 s at 16 cores, the bound at 2 to 4).
const launchedCores = 8

const (
	// launchedTries is how often it may fail where the tool itself does not.
	launchedTries = 3
	// always before the program's name: however many cores there are
	always = "always:"
)

// launchLimit is how long it may take.
var launchLimit = limitTool / 2

// A launcher is that program.
type launcher struct {
	words []string
	fails atomic.Int64
}

// newLauncher reads GNVCC_LAUNCHER, nil for none.
func newLauncher(env *environment.Environment) *launcher {
	text, wanted := strings.CutPrefix(env.Launcher, always)
	words := strings.Fields(text)
	if len(words) == 0 || !wanted && !scarce(runtime.NumCPU(), gpuCount()) {
		return nil
	}
	path, err := exec.LookPath(words[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		log := env.Log()
		log.Warn().Err(err).Msg("no launcher: GNVCC_LAUNCHER")
		return nil
	}
	words[0] = path
	return &launcher{words: words}
}

// scarce tells whether searches wait for compiles.
func scarce(cores, gpus int) bool { return cores < launchedCores*max(1, gpus) }

// gpuCount is how many GPUs this machine has.
func gpuCount() int {
	found, _ := filepath.Glob("/proc/driver/nvidia/gpus/*/information")
	return len(found)
}

// launching tells whether a workbench's tools run below the launcher: for a candidate.
func (b *Workbench) launching() bool {
	return b.launcher != nil && b.mode.oneKernel() &&
		b.launcher.fails.Load() < launchedTries
}

// launch runs a tool below the launcher, in a folder where all its files are. False: it was of no
// use, and the tool is to be run as ever.
func (b *Workbench) launch(ctx context.Context, dir string, env []string, out string,
	argv ...string) (content []byte, messages string, ok bool) {
	limited, cancel := context.WithTimeout(ctx, launchLimit)
	defer cancel()
	begun := time.Now()
	messages, err := b.named(limited, filepath.Base(argv[0]), dir, env,
		append(b.launcher.words[:len(b.launcher.words):len(b.launcher.words)], argv...)...)
	if err == nil {
		content, err = os.ReadFile(filepath.Join(dir, out))
	}
	if err == nil && len(content) == 0 {
		err = errors.New("an empty file")
	}
	if ctx.Err() == nil && limited.Err() != nil {
		b.launcher.fails.Add(launchedTries) // it hangs
	}
	if err != nil {
		b.Log.Warn().Err(err).Strs("launcher", b.launcher.words).Dur("took",
			time.Since(begun)).Msg("the tool is run without the launcher")
	}
	return content, messages, err == nil
}

// launchFailed notes that the tool did what the launcher could not.
func (b *Workbench) launchFailed() { b.launcher.fails.Add(1) }

// launchFolder makes a folder for one run.
func (b *Workbench) launchFolder() (string, error) {
	dir := filepath.Join(b.Folder, "launch"+strconv.FormatInt(b.count.Add(1), 10))
	return dir, os.Mkdir(dir, 0o700)
}

// launchPtxas is assembled below the launcher.
func (b *Workbench) launchPtxas(ctx context.Context, j *job.Job, text []byte, more []string) (
	content []byte, messages string, ok bool) {
	dir, err := b.launchFolder()
	if err != nil {
		return nil, "", false
	}
	defer os.RemoveAll(dir)
	if os.WriteFile(filepath.Join(dir, "in.ptx"), text, 0o600) != nil {
		return nil, "", false
	}
	content, messages, ok = b.launch(ctx, dir, b.Env.Tool(), "out.cubin",
		append([]string{j.Tool}, j.Call.Last("in.ptx", "out.cubin", more)...)...)
	if ok {
		_, err = cubin.Read(content)
		ok = err == nil
	}
	return content, messages, ok
}

// launchCicc is cicc below the launcher. With line information cicc writes names of files, which
// depend on its folder.
func (b *Workbench) launchCicc(ctx context.Context, t *record.Translation, call *toolcmd.Cicc,
	text []byte) (content []byte, ok bool) {
	if call.Has("-lineinfo", "--generate-line-info", "-generate-line-info", "-g") {
		return nil, false
	}
	dir, err := b.launchFolder()
	if err != nil {
		return nil, false
	}
	defer os.RemoveAll(dir)
	args, in, out := call.Elsewhere("")
	err = os.WriteFile(filepath.Join(dir, in), text, 0o600)
	if err == nil && call.Module >= 0 {
		err = os.WriteFile(filepath.Join(dir, toolcmd.ModuleFile), []byte(t.Module), 0o600)
	}
	if err != nil {
		b.Log.Warn().Err(fmt.Errorf("write for the launcher: %w", err)).Msg("no launcher")
		return nil, false
	}
	content, _, ok = b.launch(ctx, dir, environment.Over(b.Env.Tool(), t.Env), out,
		append([]string{t.Cicc}, args...)...)
	return content, ok
}
