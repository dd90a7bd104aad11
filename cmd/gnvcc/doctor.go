package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/driver"
	"gnvcc/driver/config"
	"gnvcc/driver/environment"
	"gnvcc/driver/scratch"
	"gnvcc/driver/standing"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/profile/agent"
)

const doctorAbout = `Checks nvcc, ptxas, CUPTI, driver, GPU and store, and says what is missing and what to do about it. Exit code 1: builds would
not work.

--config shows each setting, its value, and where that is from: a variable of the environment, the nearest gnvcc.toml in this
folder or above it (below your home, where you are there), your own ~/.config/gnvcc/gnvcc.toml, or nowhere; the first of these
counts. A file has lines such as
  lock = "gnvcc.lock"
  predict = true
Paths are relative to the file's folder. A project's file may set only what its builds depend on: `

// doctorVerb says what was found on this machine, what is missing, and what to do about it. Its
// exit code is 1 when builds would not work, else 0: a machine without a GPU is a fine build
// machine.
func doctorVerb() *cobra.Command {
	c := newVerb("doctor", "check this machine, and look after the store: what is there, what is missing",
		doctorAbout+strings.Join(config.OfProjects, ", ")+`. Your own may set everything. A build ignores a file with a mistake in it
(GNVCC_LOG says so, GNVCC_STRICT=1 makes it an error).`, none)
	fs := c.Flags()
	inStore := fs.Bool("store", false, "what builds took from the store, which calls were left to nvcc and why, how large it is; reads every file in it and checks its hash")
	captures := fs.Bool("captures", false, "list the launches that gnvcc tune has captured")
	cleans := fs.String("clean", "", "remove what killed processes left behind, and records of builds that are gone; captures: captured launches; all: every build, and what can be made again. Recipes stay; files already built stay, too, but gnvcc revert no longer knows them")
	fs.Lookup("clean").NoOptDefVal = "left"
	settings := fs.Bool("config", false, "which settings hold, and where they are from; exit code 1: there is a mistake in a file")
	key := fs.Bool("key", false, "a hash of what builds here depend on besides command and sources: toolkit, recipes, lock file, GPU; for ccache (CCACHE_COMPILERCHECK='gnvcc doctor --key')")
	links := fs.String("links", "", "make `FOLDER` a CUDA_HOME of links to the toolkit in which nvcc is gnvcc: for builds that take CUDA_HOME/bin/nvcc, such as PyTorch's extensions without ninja")
	oneOf(c, "store", "captures", "clean", "config", "key", "links")
	return tries(c, 1, func([]string) error {
		switch {
		case *settings:
			return showConfig()
		case *key:
			return showKey()
		case *links != "":
			return makeLinks(*links)
		}
		settle(false)
		switch {
		case *cleans != "" && !slices.Contains([]string{"left", "all", "captures"}, *cleans):
			return fmt.Errorf("invalid argument %q: --clean, --clean=captures or --clean=all", *cleans)
		case *inStore || *captures || *cleans != "":
			store, err := openStore()
			switch {
			case err != nil:
				return err
			case *captures:
				return showCaptures(store)
			case *cleans == "captures":
				return dropCaptures(store)
			case *cleans != "":
				ctx, stop := ended(context.Background())
				defer stop()
				return clean(ctx, store, *cleans == "all")
			}
			return checkStore(store)
		case doctor():
			return nil
		}
		return exit(1)
	})
}

// makeLinks makes a toolkit of links.
func makeLinks(folder string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	kit, err := toolkit.Find(self, environment.Read())
	if err != nil {
		return err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	if err := toolkit.Links(folder, self, kit); err != nil {
		return fmt.Errorf("make a toolkit of links: %w", err)
	}
	fmt.Fprintf(console, "export CUDA_HOME=%s   # %s, and gnvcc as its nvcc (a copy: make it again after an update)\n", folder, kit.Dir())
	return nil
}

// checkStore shows what is in the store, and reads all of it.
func checkStore(store *cache.Store) error {
	if err := showStore(store); err != nil {
		return err
	}
	fine := true
	say := newSayer(&fine)
	for _, f := range cache.CheckContents(store.Path()) {
		say(f.Level, f.Advice, "%s", f.What)
	}
	if !fine {
		return exit(1)
	}
	return nil
}

// A sayer prints a line of doctor, and below it what to do.
type sayer func(level cache.Level, advice, format string, a ...any)

// newSayer prints to standard output; a problem makes fine false.
func newSayer(fine *bool) sayer {
	out := stdout()
	return func(level cache.Level, advice, format string, a ...any) {
		fmt.Fprintf(out, "%-8s %s\n", level, fmt.Sprintf(format, a...))
		if advice != "" {
			fmt.Fprintf(out, "%-8s   %s\n", "", advice)
		}
		if level == cache.Problem {
			*fine = false
		}
	}
}

// doctor tells whether builds work.
func doctor() (fine bool) {
	fine = true
	say := newSayer(&fine)
	say(cache.Fine, "", "gnvcc %s", ownVersion())
	for _, name := range environment.Unknown() {
		say(cache.Note, "", "variable %s: this gnvcc has none of that name, and pays no attention to it", name)
	}
	sayToolkit(say)
	for _, dir := range []string{os.TempDir(), "/dev/shm"} { // captures go there, too
		if n, err := scratch.Sweep(dir); n > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
			say(cache.Note, "", "temporary files: removed %s of killed processes from %s%s",
				policy.Count(n, "folder"), dir, map[bool]string{true: fmt.Sprintf(" (%v)", err)}[err != nil])
		}
	}
	sayDriver(say)
	dir, err := cache.Dir()
	if err != nil {
		say(cache.Problem, "", "store: %v", err)
		return fine
	}
	if store, err := cache.Open(dir); err == nil {
		if warning := driver.CcacheWarning(store); warning != "" {
			say(cache.Note, "", "ccache: %s", warning)
		}
	}
	sayShared(say)
	for _, f := range cache.Check(dir) {
		say(f.Level, f.Advice, "store: %s", f.What)
	}
	return fine
}

// sayToolkit tells of nvcc, of its tools and of the agent.
func sayToolkit(say sayer) {
	self, _ := os.Executable()
	env := environment.Read()
	for _, why := range toolkit.Ignored(env) {
		say(cache.Note, "builds ignore it, as nvcc does", "%s", why)
	}
	toolkit, err := toolkit.Find(self, env)
	if err != nil {
		say(cache.Problem, "install/toolkit 13.0 installs one without root", "nvcc: %v", err)
		return
	}
	say(cache.Fine, "", "nvcc: %s (from %s), %s", toolkit.Nvcc, toolkit.From, release(toolkit.Nvcc))
	for _, tool := range []string{"ptxas", "cicc", "cuobjdump"} {
		path, err := toolkit.Tool(tool)
		switch {
		case err == nil:
			say(cache.Fine, "", "%s: %s", tool, path)
		case tool == "cuobjdump":
			say(cache.Note, "kernels of -rdc=true programs can't be tuned without it", "cuobjdump: %v", err)
		default:
			say(cache.Problem, "", "%s: %v", tool, err)
		}
	}
	store, storeErr := openStore()
	if storeErr == nil {
		if err := driver.CheckPrefixes(toolkit.Nvcc, store, env); err != nil {
			say(cache.Note, "builds work, but are nvcc's own, without recipes", "nvcc: %v", err)
		}
	}
	if cupti, err := agent.Find(toolkit.Dir()); err != nil {
		say(cache.Note, "gnvcc tune needs it; builds work without", "CUPTI: %v", err)
	} else if storeErr == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		over := during("building the agent")
		path, err := agent.Build(ctx, toolkit.Dir(), tuner.AgentFolder(store))
		over()
		cancel()
		if err != nil {
			say(cache.Note, "gnvcc tune needs it; builds work without", "agent: %v", err)
		} else {
			say(cache.Fine, "", "CUPTI: %s; the agent is built: %s", cupti.Library, path)
		}
	}
}

// sayDriver tells of the driver and of the GPUs.
func sayDriver(say sayer) {
	if v := tuner.DriverVersion(); v == "" {
		say(cache.Note, "tuning needs it; builds work without, with recipes that were found elsewhere",
			"driver: no NVIDIA driver is loaded")
	} else {
		say(cache.Fine, "", "driver: %s", v)
		out, err := exec.Command("nvidia-smi", "--query-gpu=name,compute_cap,memory.total",
			"--format=csv,noheader").Output()
		if err != nil {
			say(cache.Note, "", "GPU: nvidia-smi does not answer: %v", err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if line != "" {
				say(cache.Fine, "", "GPU: %s", line)
			}
		}
	}
}

// sayShared tells which lock file builds here go by, and which stores of others stand behind one's
// own.
func sayShared(say sayer) {
	store, err := openStore()
	if err != nil {
		return
	}
	dir, _ := os.Getwd()
	kn, _ := standing.KnownAt(store, dir, environment.Read())
	defer kn.Close()
	switch {
	case kn.Problem != nil:
		say(cache.Problem,
			"until it can be read every kernel of builds here is nvcc's own (gnvcc lock --off, or GNVCC_LOCK=0, uses the store)", "lock file: %v", kn.Problem)
	case kn.Lock != "":
		lines := 0
		if _, all, err := readLock(kn.Lock); err == nil {
			lines = len(all)
		}
		say(cache.Fine, "", "lock file: %s, %s; builds here use it alone", kn.Lock, policy.Count(lines, "line"))
	}
	sayRemotes(say, store)
	sn, _ := store.Snapshot()
	behind := standing.KnownOf(store, sn)
	defer behind.Close()
	for _, reason := range behind.Missing {
		say(cache.Note, "builds go on without it", "%v", reason)
	}
	others, err := behind.All()
	if err != nil {
		say(cache.Note, "damaged records are skipped", "shared stores: %v", err)
	}
	for _, dir := range behind.Dirs() {
		n := 0
		for _, d := range others {
			if d.From == dir {
				n++
			}
		}
		say(cache.Fine, "", "shared store: %s, %d decisions that count here", dir, n)
	}
}

// release is nvcc's own word for its version.
func release(nvcc string) string {
	out, err := exec.Command(nvcc, "--version").Output()
	if err != nil {
		return fmt.Sprintf("which does not run: %v", err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		if i := strings.Index(line, "release "); i >= 0 {
			return line[i:]
		}
	}
	return "of an unknown version"
}
