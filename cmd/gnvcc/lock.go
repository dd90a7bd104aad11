package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/cache/lock"
	"gnvcc/driver/environment"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/policy/report"
)

// Lock files: builds that go by one, and recipes that are taken into the store.

// take keeps a file's decisions in the store, all of them or none: a lock file's, or those of what
// gnvcc report --json printed. What was measured here stays.
func take(ctx context.Context, file string) error {
	text, err := standing.ReadLock(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	var theirs []cache.Decision
	left := 0
	if filepath.Ext(file) == ".lock" || lock.Is(text) {
		lines, err := standing.ParseLock(text)
		if err != nil {
			return fmt.Errorf("read the lock file %s: %w", file, err)
		}
		for _, l := range lines {
			d := l.Decision()
			if err := standing.Proven(d); err != nil {
				return fmt.Errorf("%s: %s, %s: %w", file, policy.ShortName(l.Kernel), l.Recipe, err)
			}
			theirs = append(theirs, d)
		}
	} else {
		all, err := report.Read(text)
		if err != nil {
			return fmt.Errorf("%s is neither a lock file nor what gnvcc report --json prints: %w", file, err)
		}
		theirs = slices.DeleteFunc(slices.Clone(all), func(d cache.Decision) bool { return !portable(d) })
		left = len(all) - len(theirs)
	}
	if len(theirs) == 0 {
		return fmt.Errorf("%s has no measured recipe that can be taken", file)
	}
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	records := map[string]any{}
	var kept []string
	for _, d := range theirs {
		d.Imported, d.For, d.From = filepath.Base(file), nil, "" // paths of another machine
		old, known := b.At(d)
		measured := known && old.Imported == "" && len(old.Evidence.Launches) > 0
		if measured && old.Recipe == d.Recipe && old.Exactness == d.Exactness {
			continue
		}
		if measured {
			kept = append(kept, fmt.Sprintf("%s on %s: measured here: %s; the file has %s",
				policy.ShortName(d.Kernel), d.Evidence.Device, cmp.Or(old.Recipe, nvccsOwn), cmp.Or(d.Recipe, nvccsOwn)))
			continue
		}
		records[d.Key()] = d
	}
	if len(records) > 0 {
		if err := b.Change(func(owner *cache.Owner) error {
			return owner.PutAll(cache.Decisions, records)
		}); err != nil {
			return err
		}
	}
	for _, text := range kept {
		fmt.Fprintln(console, "kept:", text)
	}
	fmt.Fprintf(console, "%s: %d of %d recipes taken", file, len(records), len(theirs)+left)
	if left > 0 {
		fmt.Fprintf(console, "; %d left out (pinned, approximate, not measured, or of another version)", left)
	}
	if len(kept) > 0 {
		fmt.Fprintf(console, "; %d stay as measured here (gnvcc pin KERNEL --forget makes room for the file's)", len(kept))
	}
	fmt.Fprintln(console, "; gnvcc apply builds with them")
	return nil
}

// lockVerb names the lock file that the builds of a folder go by.
func lockVerb() *cobra.Command {
	c := newVerb("lock FILE [FOLDER] | lock --off [FOLDER] | lock --take FILE | lock",
		"build a folder by a lock file alone, or take its recipes; without arguments: which are",
		`From now on builds in and below a folder (the one that FILE lies in, if no other is named) know the recipes of this lock
file and no others: no pins, no bans, nothing that was measured here. All machines that do so, with the same source and nvcc,
build the same machine code. A kernel whose code comes out otherwise than it was exported is nvcc's own (with GNVCC_STRICT=1:
an error). GNVCC_LOCK=FILE says the same for a build, and goes before this; a lock file that nobody has named is never read.
Of a kernel's lines a build takes the one for GNVCC_DEVICE, else the newest.

With --take the recipes of FILE, or of what gnvcc report --json printed on the machine that measured them, come into your store,
for all builds, next to what was measured here. A build takes one only for the very code that it was measured on; one of a lock
file only where it gives the code that was exported. Reports say where a recipe comes from.`, arguments(0, 2))
	off := c.Flags().Bool("off", false, "go by the store again")
	taken := c.Flags().Bool("take", false, "take the file's recipes into the store")
	oneOf(c, "off", "take")
	return tries(c, 1, func(args []string) error {
		switch {
		case (*off || *taken) && len(args) > 1:
			return fmt.Errorf("unexpected argument %q", args[1])
		case *taken && len(args) == 0:
			return errors.New("which lock file? gnvcc lock --take FILE")
		case *taken:
			return take(context.Background(), args[0])
		case *off:
			return unlock(args)
		case len(args) == 0:
			return showLocks()
		}
		return lockTo(args[0], strings.Join(args[1:], ""))
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
	text, err := standing.ReadLock(path)
	if err == nil {
		var lines []lock.Line
		if lines, err = standing.ParseLock(text); err == nil {
			return path, lines, nil
		}
	}
	return "", nil, fmt.Errorf("read the lock file %s: %w", file, err)
}

// realFolder is the absolute path of a folder, with symbolic links followed.
func realFolder(folder string) (string, error) {
	path, err := filepath.Abs(folder)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
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
