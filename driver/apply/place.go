package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
)

// Placing: a new output takes the old one's name, completely or not at all. What is about to be done
// is written down before (STORE/apply), so that an apply that is killed at any moment is finished
// or taken back by the next one, and no file of ours stays in the user's folders. A build that
// writes the same file meanwhile wins: the names are exchanged, and exchanged back where what came
// out is not what was looked at.

// applyDir is the folder in the store for what is being placed.
const applyDir = "apply"

// A placing is the record of one command's output on its way.
type placing struct {
	Command string
	placedFile
	Notes []record.Note
}

// A placedFile is an output: what a run wrote, and where it belongs.
type placedFile struct {
	Path, Temp string
	Was, New   string // hashes
	from       string // where the run has written it
}

// lockApply makes this process the only one that places outputs of this store's commands.
func lockApply(ctx context.Context, store *cache.Store, out io.Writer) (func(), error) {
	dir := filepath.Join(store.Path(), applyDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for what is pending: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the store, to write outputs: %w (gnvcc doctor: can it be written?)", err)
	}
	for said := false; ; time.Sleep(50 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if !said {
			said = true
			fmt.Fprintln(out, "gnvcc: another gnvcc builds again just now; waiting for it")
		}
		if ctx.Err() != nil {
			f.Close()
			return nil, ctx.Err()
		}
	}
}

// place puts the file of a run where it belongs.
func (b *beside) place(now *result, unedited func() bool) error {
	p := placing{Command: b.rerun.hash, placedFile: now.file, Notes: now.left.Notes}
	present, err := readOutput(p.Path)
	if err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	info, err := os.Lstat(p.Path)
	if err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	if why := unfit(info); why != "" {
		return fmt.Errorf("%w: %s: %s", errLeft, p.Path, why)
	}
	content, err := os.ReadFile(p.from)
	if err != nil {
		return fmt.Errorf("read what the command wrote: %w", err)
	}
	p.Was, p.New, p.Temp = cache.Hash(present), cache.Hash(content), tempFor(p.Path)
	if b.looked != p.Was {
		return fmt.Errorf("%w: %s was written meanwhile", errLeft, p.Path)
	}
	hash := p.New
	if equalOutputs(present, content) { // a recipe that could not be carried out, say
		hash, err = p.Was, p.finish(b.store)
	} else {
		err = p.replace(b.store, unedited)
	}
	if err == nil {
		// Without it, the next apply proves it again.
		memoApplied.Put(b.store, b.rerun.hash, applied{Path: p.Path, Hash: hash, Inputs: now.left.Inputs,
			Sources: now.left.Sources})
	}
	return err
}

// tempFor names the file next to an output under which the new one is written.
func tempFor(path string) string {
	mark := cache.Hash(fmt.Appendf(nil, "%s %d %d", path, os.Getpid(), time.Now().UnixNano()))[:8]
	return filepath.Join(filepath.Dir(path), environment.FileName("."+filepath.Base(path)+".gnvcc-"+
		mark))
}

// replace carries a placing out.
func (p *placing) replace(store *cache.Store, unedited func() bool) error {
	if err := p.write(store); err != nil {
		return err
	}
	err := copyLike(p.Temp, p.from, p.Path)
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errLeft, err)
	case !unedited():
		err = fmt.Errorf("%w: a source was edited meanwhile; the next build makes it", errLeft)
	default:
		if err = p.exchange(); err == nil {
			if err = p.finish(store); err != nil {
				return err // the record stays, and says what is new
			}
		}
	}
	os.Remove(p.Temp)
	p.remove(store)
	return err
}

// copyLike makes a new file with the mode and owner of another one.
func copyLike(to, from, like string) error {
	info, err := os.Lstat(like)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	// Never through a link, or into a file, that somebody else has put there.
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && (int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid()) {
		if err := os.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
			return fmt.Errorf("it belongs to another user or group: %w", err)
		}
	}
	return os.Chmod(to, info.Mode().Perm())
}

// exchange gives the new file the old one's name, and the old one the temporary name. Where what
// lay there is not what was looked at, all is as it was, and the error says so.
func (f *placedFile) exchange() error {
	changed := fmt.Errorf("%w: %s was written meanwhile", errLeft, f.Path)
	if hashFile(f.Path) != f.Was {
		return changed
	}
	if err := swap(f.Temp, f.Path); err != nil {
		return fmt.Errorf("replace %s: %w", f.Path, err)
	}
	if hashFile(f.Temp) != f.Was {
		if err := swap(f.Temp, f.Path); err != nil {
			return fmt.Errorf("put %s back: %w", f.Path, err)
		}
		return changed
	}
	return nil
}

// swap exchanges two names, in one step where the file system can (most local ones; NFS can't).
func swap(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return swapSlowly(a, b)
	}
	return err
}

// swapSlowly exchanges two names so that there is a whole file under b at every moment; where links can't be
// made (exFAT, SMB, sshfs) at all but one: who is killed then has b under the name aside.
func swapSlowly(a, b string) error {
	aside := a + "~"
	move := link(b, aside) != nil
	if move {
		if err := os.Rename(b, aside); err != nil {
			return err
		}
	}
	err := os.Rename(a, b)
	if err == nil {
		return os.Rename(aside, a)
	}
	if move {
		os.Rename(aside, b)
	}
	os.Remove(aside)
	return err
}

// link is a variable for the tests.
var link = os.Link

// hashFile is the hash of a regular file's content, "" where there is none.
func hashFile(path string) string {
	content, err := readOutput(path)
	if err != nil {
		return ""
	}
	return cache.Hash(content)
}

func (p *placing) path(store *cache.Store) string {
	return filepath.Join(store.Path(), applyDir, p.Command+".json")
}

func (p *placing) write(store *cache.Store) error {
	text, err := json.Marshal(p)
	if err == nil {
		path := p.path(store)
		err = cache.WriteFile(filepath.Dir(path), filepath.Base(path), text)
	}
	if err != nil {
		return fmt.Errorf("note what is about to be replaced: %w", err)
	}
	return nil
}

func (p *placing) remove(store *cache.Store) { os.Remove(p.path(store)) }

// finish makes records of the notes: from now on the store says what is in the new files.
func (p *placing) finish(store *cache.Store) error {
	for _, n := range p.Notes {
		n.Assembly.Time = time.Now().UTC()
		if err := n.Keep(store); err != nil {
			return err
		}
	}
	return nil
}

// recoverApply finishes or takes back what a killed apply has left. The caller has the lock.
func recoverApply(store *cache.Store) (notes []string) {
	for _, p := range unfinished(store) {
		if aside := p.Temp + "~"; hashFile(aside) == p.Was {
			if _, err := os.Lstat(p.Path); os.IsNotExist(err) { // killed where names can't be exchanged
				os.Rename(aside, p.Path)
			}
		}
		now, temp := hashFile(p.Path), hashFile(p.Temp)
		if now == p.New && temp != "" && temp != p.New && temp != p.Was {
			// Killed between the exchange and the look at what came out: a build's own file.
			if swap(p.Temp, p.Path) == nil {
				now = hashFile(p.Path)
			}
		}
		os.Remove(p.Temp)
		os.Remove(p.Temp + "~")
		if now == p.New {
			if err := p.finish(store); err != nil {
				notes = append(notes, err.Error())
				continue
			}
			notes = append(notes, "finished an apply that was killed: "+p.Path)
		}
		p.remove(store)
	}
	return notes
}

// unfinished lists what killed applies have left. What can't be read is removed.
func unfinished(store *cache.Store) []placing {
	var out []placing
	files, _ := filepath.Glob(filepath.Join(store.Path(), applyDir, "*.json"))
	for _, path := range files {
		var p placing
		text, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(text, &p) != nil || p.Path == "" ||
			p.Command != strings.TrimSuffix(filepath.Base(path), ".json") {
			os.Remove(path)
			continue
		}
		out = append(out, p)
	}
	return out
}
