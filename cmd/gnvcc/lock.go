package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/cache/lock"
	"gnvcc/driver/environment"
	"gnvcc/driver/standing"
	"gnvcc/policy"
)

// Lock files: builds that go by one, and what they are brought in from.

// lock keeps the decisions of a lock file, all of them or none.
func (i importing) lock(ctx context.Context, text []byte) error {
	lines, err := standing.ParseLock(text)
	if err != nil {
		return fmt.Errorf("read the lock file %s: %w", i.file, err)
	}
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	records := map[string]any{}
	var kept []string
	same := 0
	for _, l := range lines {
		d := l.Decision()
		d.Imported = filepath.Base(i.file)
		old, ok := b.At(d)
		measured := ok && len(old.Evidence.Launches) > 0
		switch {
		case measured && old.Recipe == d.Recipe && old.Exactness == d.Exactness:
			same++ // with more evidence than a line has
		case measured && old.Imported == "" && !i.over:
			kept = append(kept, fmt.Sprintf("%s on %s: measured here: %s; the file has %s",
				policy.ShortName(l.Kernel), l.Device, orOwn(old.Recipe), orOwn(l.Recipe)))
		default:
			records[d.Key()] = d
		}
	}
	if !i.dry && len(records) > 0 {
		if err := b.Change(func(owner *cache.Owner) error {
			return owner.PutAll(cache.Decisions, records)
		}); err != nil {
			return err
		}
	}
	for _, text := range kept {
		fmt.Fprintln(console, "kept:", text)
	}
	verb := "taken"
	if i.dry {
		verb = "would be taken"
	}
	fmt.Fprintf(console, "%s: %d of %d lines %s", i.file, len(records), len(lines), verb)
	if same > 0 {
		fmt.Fprintf(console, ", %d were known", same)
	}
	if len(kept) > 0 {
		fmt.Fprintf(console, "; %d stay as measured here (--over takes the file's)", len(kept))
	}
	fmt.Fprintln(console)
	return nil
}

// lockVerb names the lock file that the builds of a folder go by.
func lockVerb() *cobra.Command {
	c := newVerb("lock [--for FOLDER] FILE | lock --off [FOLDER] | lock",
		"build a folder by a lock file alone; without arguments: which are",
		`From now on builds in and below a folder (the one that FILE lies in, if no other is named) know the recipes of this lock
file and no others: no pins, no bans, nothing that was measured here. All machines that do so, with the same source and nvcc,
build the same machine code. A kernel whose code comes out otherwise than it was exported is nvcc's own (with GNVCC_STRICT=1:
an error). GNVCC_LOCK=FILE says the same for a build, and goes before this; a lock file that nobody has named is never read.
Of a kernel's lines a build takes the one for GNVCC_DEVICE, else the newest.`, arguments(0, 1))
	off := c.Flags().Bool("off", false, "go by the store again")
	folder := c.Flags().String("for", "", "for builds in and below this `folder`")
	return tries(c, 1, func(args []string) error {
		switch {
		case *off && *folder != "":
			return errors.New("--off takes the folder as its argument: gnvcc lock --off FOLDER")
		case *off:
			return unlock(args)
		case len(args) == 0 && *folder == "":
			return showLocks()
		case len(args) == 0:
			return errors.New("which lock file? gnvcc lock --for FOLDER FILE")
		}
		return lockTo(args[0], *folder)
	})
}

// lockTo names a lock file for a folder.
func lockTo(file, folder string) error {
	path, lines, err := readLock(file)
	if err != nil {
		return err
	}
	if folder == "" {
		folder = filepath.Dir(path)
	}
	if folder, err = realFolder(folder); err != nil {
		return err
	}
	b, err := openDecisions(context.Background())
	if err != nil {
		return err
	}
	l := cache.LockFile{Folder: folder, File: path, Time: time.Now().UTC()}
	err = b.Change(func(owner *cache.Owner) error {
		return owner.Put(cache.Locks, standing.LockKey(folder), l)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(console,
		"builds in and below %s go by %s alone: %s (gnvcc apply builds again what is there; gnvcc lock --off %s ends it)\n",
		folder, path, policy.Count(len(lines), "line"), folder)
	return nil
}

// unlock ends that for a folder, the present one if none is named.
func unlock(args []string) error {
	folder, err := realFolder(append(args, ".")[0])
	if err != nil {
		return err
	}
	b, err := openDecisions(context.Background())
	if err != nil {
		return err
	}
	sn, err := b.Store().Snapshot()
	if err != nil && !errors.Is(err, cache.ErrNone) {
		return err
	}
	defer sn.Close()
	l, ok := standing.LockOf(sn, folder)
	if !ok {
		return fmt.Errorf("builds in %s go by no lock file", folder)
	}
	err = b.Change(func(owner *cache.Owner) error {
		return owner.Delete(cache.Locks, standing.LockKey(l.Folder))
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(console, "builds in and below %s go by the store again\n", l.Folder)
	return nil
}

// showLocks lists them.
func showLocks() error {
	store, err := openStore()
	if err != nil {
		return err
	}
	var all []cache.LockFile
	err = records(store, cache.Locks, func(l cache.LockFile) { all = append(all, l) })
	if err != nil {
		return err
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Folder < all[j].Folder })
	for _, l := range all {
		state := ""
		if _, lines, err := readLock(l.File); err != nil {
			state = err.Error() + ": every kernel there is nvcc's own"
		} else {
			state = policy.Count(len(lines), "line")
		}
		fmt.Fprintf(console, "%s: %s (%s)\n", l.Folder, l.File, state)
	}
	if file := environment.Read().Lock; file != "" {
		fmt.Fprintf(console, "GNVCC_LOCK=%s goes before these\n", file)
	} else if len(all) == 0 {
		fmt.Fprintln(console, "no build goes by a lock file")
	}
	return nil
}

// readLock reads a lock file, and gives its absolute path.
func readLock(file string) (string, []lock.Line, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", nil, err
	}
	text, _, err := standing.ReadLock(path)
	if err == nil {
		var lines []lock.Line
		if lines, err = standing.ParseLock(text); err == nil {
			return path, lines, nil
		}
	}
	return "", nil, fmt.Errorf("read the lock file %s: %w", file, err)
}

// realPath is an absolute path, with symbolic links followed.
func realPath(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	return path, err
}

// realFolder is that of a folder.
func realFolder(folder string) (string, error) {
	path, err := realPath(folder)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is no folder", folder)
	}
	return path, nil
}

// lockHere is the lock file that builds in a folder ("": the present one) go by, "" for none.
func lockHere(store *cache.Store, folder string) string {
	if folder == "" {
		folder, _ = os.Getwd()
	}
	kn, _ := standing.KnownAt(store, folder, environment.Read())
	defer kn.Close()
	return kn.Lock
}
