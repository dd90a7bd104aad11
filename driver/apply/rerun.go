package apply

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/again"
	"gnvcc/driver/config"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/scratch"
	"gnvcc/driver/toolcmd"
)

// One command, built in a scratch folder: as it was built, for the proof that this gives the files that are
// there, and as it is wanted. Both runs must have seen the same inputs.
//
// The proof costs a run. It is saved where the files are byte for byte what an earlier apply wrote
// by the same command: then it is enough that the inputs are what they were then, and that the new
// host objects are the present ones but for their device code.

// beside is one command at work.
type beside struct {
	rerun  *fileState
	store  *cache.Store
	env    *environment.Environment
	self   string
	dir    string        // scratch
	said   string        // what the last run printed
	notes  []record.Note // of the run as it is wanted
	n      int           // runs so far
	stop   bool          // before the host compiler (try.go)
	nvcc   string        // with stop: in the place of the recorded one
	looked string        // hash of the file as it was looked at: that alone is replaced
}

// A result is what one run gave.
type result struct {
	file placedFile // that it wrote, and where it belongs
	left *again.Left
}

// build does all of it.
func (b *beside) build(ctx context.Context) error {
	scratch, err := scratch.New()
	if err != nil {
		return fmt.Errorf("scratch folder: %w", err)
	}
	defer scratch.Remove()
	b.dir = scratch.Path
	known := b.known()
	var was *result
	var stamps string
	if known == nil {
		if left, ok := memoApplied.Get(b.store, b.rerun.hash); ok && left.Why != "" &&
			left.Stamps == b.stamps(left.Sources) {
			return fmt.Errorf("%w: %s", errLeft, left.Why)
		}
		if was, err = b.proof(ctx); err != nil {
			return err
		}
		stamps = b.stamps(was.left.Sources)
	} else {
		stamps = b.stamps(known.Sources)
	}
	now, err := b.run(ctx, b.rerun.wanted)
	if err != nil {
		return err
	}
	b.notes = now.left.Notes
	if known != nil && !b.follows(known, now) {
		if was, err = b.proof(ctx); err != nil {
			return err
		}
	}
	if was != nil && !slices.Equal(was.left.Inputs, now.left.Inputs) {
		return fmt.Errorf("%w: a source was edited meanwhile", errLeft)
	}
	sources := now.left.Sources
	if known != nil {
		sources = known.Sources
	}
	unedited := func() bool { return stamps == b.stamps(sources) }
	return b.place(now, unedited)
}

// proof runs the command as it was built, and says why what is there is not what that gives.
func (b *beside) proof(ctx context.Context) (*result, error) {
	was, err := b.run(ctx, b.rerun.built())
	if err != nil {
		return nil, err
	}
	f := was.file
	present, err := readOutput(f.Path)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("%w: %s does not exist; the next build makes it", errLeft, f.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLeft, err)
	}
	again, err := os.ReadFile(f.from)
	if err != nil {
		return nil, fmt.Errorf("read what the command wrote: %w", err)
	}
	if !equalOutputs(present, again) {
		return nil, fmt.Errorf("%w: %s", errLeft, b.differs(ctx, was))
	}
	b.looked = cache.Hash(present)
	return was, nil
}

// memoApplied keeps what the last apply of a command came to.
const memoApplied cache.Memos[applied] = "applied"

// An applied is what an apply wrote, and from what; or why it left the command's output alone, which
// holds for as long as none of some files is written: the next one compiles nothing to find it out.
type applied struct {
	Path    string // of what it wrote
	Hash    string // and of its content
	Inputs  []string
	Sources []string

	Why, Stamps string // Stamps: of the sources
}

// differs says why a file is not what its command gives: the command may give something else each
// time.
func (b *beside) differs(ctx context.Context, was *result) (why string) {
	f := was.file
	files := append(was.left.Sources, f.Path, b.rerun.command.Nvcc, b.self)
	stamps := b.stamps(files)
	defer func() { memoApplied.Put(b.store, b.rerun.hash, applied{Sources: files, Stamps: stamps, Why: why}) }()
	var seen []string
	for _, n := range was.left.Notes {
		seen = append(seen, n.Assembly.PTX)
	}
	if nvcc := b.rerun.command.Nvcc; record.ChangedNvcc(b.store, b.rerun.hash, nvcc) {
		return nvcc + " was changed since " + f.Path + " was built; build it again with gnvcc"
	}
	for _, a := range b.rerun.assemblies() {
		if why := b.another(a, was.left.Notes); why != "" {
			return f.Path + why
		}
		if !slices.Contains(seen, a.PTX) {
			return "a source of " + f.Path + " has changed since it was built; the next build makes it"
		}
	}
	time.Sleep(time.Second) // __TIME__ and the stamps of --coverage change once a second
	if again, err := b.run(ctx, b.rerun.built()); err == nil {
		one, err1 := os.ReadFile(f.from)
		two, err2 := os.ReadFile(again.file.from)
		if err1 == nil && err2 == nil && !equalOutputs(one, two) {
			return "two runs of the command that makes " + f.Path + " differ (__TIME__, for one), so that " +
				"it can't be known whether the file is its own; build it again with gnvcc"
		}
	}
	return f.Path + " is not what its recorded command gives (another command or another tool has " +
		"written it since, a source was edited, it holds a date, or gnvcc was changed); build it again " +
		"with gnvcc"
}

// another says that a file was built by other tools than those that run now, "" where that is not on record.
func (b *beside) another(a cache.Assembly, notes []record.Note) string {
	for _, n := range notes {
		now := n.Assembly
		if now.Target != a.Target || now.Reloc != a.Reloc {
			continue
		}
		if now.Version != a.Version {
			return fmt.Sprintf(" was built by ptxas %s (%s), and %s is %s now; build it again with gnvcc",
				a.Version, a.Ptxas, now.Ptxas, now.Version)
		}
		was, ok1 := record.LoadTranslation(b.store, a.PTX)
		is, ok2 := record.LoadTranslation(b.store, now.PTX)
		if ok1 && ok2 && was.Input == is.Input && now.PTX != a.PTX {
			return fmt.Sprintf(" was built from the same source, and %s gives other code now; build it again "+
				"with gnvcc", is.Cicc)
		}
	}
	return ""
}

// run runs the command once, as its user did but for its outputs and its recipes.
func (b *beside) run(ctx context.Context, recipes map[string]string) (*result, error) {
	b.n++
	dir := filepath.Join(b.dir, fmt.Sprint(b.n))
	out, side := filepath.Join(dir, "out"), filepath.Join(dir, "side")
	hold := filepath.Join(dir, "hold")
	for _, d := range []string{out, side, hold} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("scratch folder: %w", err)
		}
	}
	if err := again.Begin(hold, again.Wanted{Recipes: recipes}); err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	command := b.rerun.command
	line := b.rerun.line()
	args, err := line.Redirect(command.Args, out, side)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLeft, err)
	}
	nvcc := b.nvcc
	if info, err := os.Stat(command.Nvcc); nvcc == "" && err == nil && info.Mode()&0o111 != 0 {
		nvcc = command.Nvcc // whatever would be found now
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.self, args...)
	cmd.Args[0] = "gnvcc"
	cmd.Dir = command.Dir
	cmd.Env = b.env.Again(environment.Run{Recorded: config.Over(command.Env, command.Dir),
		Dir: command.Dir, Hash: b.rerun.hash, Store: cache.Folders(b.store.Path()), Folder: hold,
		Stop: b.stop, Nvcc: nvcc})
	cmd.Stdout, cmd.Stderr = &said, &said
	// SIGINT: nvcc removes its temporary files then. What dies with apply writes into the scratch
	// folder only.
	runtime.LockOSThread() // the child's life hangs on this thread
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	b.said = said.String()
	if b.stop && (err == nil || ctx.Err() == nil && again.Stopped(hold)) {
		left, err := again.Read(hold)
		return &result{left: left}, err
	}
	if err != nil {
		return nil, err
	}
	return collect(line, out, hold)
}

// collect gathers what a run left.
func collect(line *toolcmd.Line, out, hold string) (*result, error) {
	var files []placedFile
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		if filepath.Ext(path) != ".d" { // dependencies: they name the output, and are as they were
			files = append(files, placedFile{Path: filepath.Join(line.Place(), rel), from: path})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at what the command wrote: %w", err)
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%w: it writes %d files; a command of its own for each can be run again", errLeft,
			len(files))
	}
	r := &result{file: files[0]}
	if r.left, err = again.Read(hold); err != nil {
		return nil, err
	}
	r.left.Sources = append(r.left.Sources, line.Inputs...)
	slices.Sort(r.left.Sources)
	r.left.Sources = slices.Compact(r.left.Sources)
	return r, nil
}

// stamps reports whether files were written: their times, sizes and numbers.
func (b *beside) stamps(files []string) string {
	var out strings.Builder
	for _, f := range files {
		info, err := os.Stat(toolcmd.Inside(b.rerun.command.Dir, f))
		if err != nil {
			fmt.Fprintf(&out, "%s -\n", f)
			continue
		}
		if info.IsDir() {
			continue // with -g preprocessed code names the working directory
		}
		number := uint64(0)
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			number = st.Ino
		}
		fmt.Fprintf(&out, "%s %d %d %d\n", f, info.ModTime().UnixNano(), info.Size(), number)
	}
	return out.String()
}

// known gives what an earlier apply wrote by this command, if that file is there unchanged and
// nothing but preprocessed code and PTX has gone into it.
func (b *beside) known() *applied {
	switch b.rerun.line().Phase {
	case "compile", "cubin", "ptx", "fatbin":
	default:
		return nil
	}
	k, ok := memoApplied.Get(b.store, b.rerun.hash)
	if !ok || k.Path == "" || hashFile(k.Path) != k.Hash {
		return nil
	}
	b.looked = k.Hash
	return &k
}

// follows reports whether a run is the known one but for its device code.
func (b *beside) follows(known *applied, now *result) bool {
	f := now.file
	if !slices.Equal(known.Inputs, now.left.Inputs) || known.Path != f.Path {
		return false
	}
	if b.rerun.line().Phase != "compile" {
		return true
	}
	present, err1 := readOutput(f.Path)
	again, err2 := os.ReadFile(f.from)
	return err1 == nil && err2 == nil && exceptDevice(present, again)
}
