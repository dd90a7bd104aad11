package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/compile"
	"gnvcc/driver/record"
	"gnvcc/install/kits"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
)

// TestSharing has recipes go from one machine to another (two stores, two homes, two folders), by
// lock files and by stores of others, on real nvcc: the scripts that begin with all_ on two
// versions, the others on one.
func TestSharing(t *testing.T) {
	for _, version := range []string{"13.0", "12.4"} {
		t.Run(version, func(t *testing.T) {
			kit := kits.Need(t, version)
			files := "testdata/sharing/all_*.txtar"
			if version == "13.0" {
				files = "testdata/sharing/*.txtar"
			}
			found, _ := filepath.Glob(files)
			testscript.Run(t, testscript.Params{
				Files: found,
				Condition: func(name string) (bool, error) {
					if name == "mounts" {
						return mountable(), nil
					}
					return kits.Condition(name)
				},
				Setup: func(e *testscript.Env) error { return machines(e, kit) },
				Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
					"machine": machine, "measured": measured, "edit": edit, "device": device,
					"disown": disown, "unchanged": unchanged, "forged": forged,
					"hung": hung,
				},
			})
		})
	}
}

// machines sets up three of them: each has a home.
func machines(e *testscript.Env, kit kits.Kit) error {
	e.Setenv("GNVCC_NVCC", kit.Nvcc())
	e.Setenv("TERM", "dumb")
	e.Setenv("KIT", kit.Dir)
	e.Vars = append(e.Vars, kits.ShortIn(e.WorkDir))
	e.Setenv("GNVCC_LOG", filepath.Join(e.WorkDir, "log"))
	for _, machine := range []string{"one", "two", "three"} {
		home := filepath.Join(e.WorkDir, machine)
		if err := os.MkdirAll(home, 0o700); err != nil {
			return err
		}
		e.Setenv(strings.ToUpper(machine), home)
	}
	return nil
}

// machine NAME: go there, with its home and its store.
func machine(ts *testscript.TestScript, neg bool, args []string) {
	home := ts.Getenv(strings.ToUpper(args[0]))
	ts.Setenv("HOME", home)
	ts.Setenv("GNVCC_STORE", filepath.Join(home, "store"))
	ts.Check(ts.Chdir(home))
}

// device OBJECT CUBIN: the cubin in an object.
func device(ts *testscript.TestScript, neg bool, args []string) {
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "elf")
	ts.Check(err)
	cmd := exec.Command(filepath.Join(ts.Getenv("KIT"), "bin", "cuobjdump"), "-xelf", "all",
		ts.MkAbs(args[0]))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("cuobjdump: %v\n%s", err, out)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*.cubin"))
	if len(found) != 1 {
		ts.Fatalf("%d cubins in %s", len(found), args[0])
	}
	ts.Check(os.Rename(found[0], ts.MkAbs(args[1])))
}

// edit FILE OLD NEW: replaces every OLD; it is an error if there is none.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])),
		0o644))
}

// built are the kernels of a short name in the machine's store, one at least.
func built(ts *testscript.TestScript, short string) (*cache.Store, []record.BuiltKernel) {
	store, err := cache.Open(ts.Getenv("HOME") + "/store")
	ts.Check(err)
	_, err = tuner.OpenDecisions(context.Background(), store)
	ts.Check(err)
	all, _, err := apply.Kernels(store, "")
	ts.Check(err)
	var list []record.BuiltKernel
	for _, k := range all {
		if policy.ShortName(k.Name) == short {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		ts.Fatalf("no kernel %s was built, but %+v", short, all)
	}
	return store, list
}

// replayed are the launches of a kernel that was measured.
func replayed() []cache.Launch {
	return []cache.Launch{{Grid: [3]int{4, 1, 1}, Block: [3]int{256, 1, 1}, Count: 3, Checked: 3, Varied: 1,
		Before: cache.Time{Median: 2000, N: 9}, After: cache.Time{Median: 1600, N: 9}}}
}

// measured KERNEL RECIPE DEVICE MINUTE: keep what a tuner on that GPU would have, for the kernel of
// a short name.
func measured(ts *testscript.TestScript, neg bool, args []string) {
	minute, err := strconv.Atoi(args[3])
	ts.Check(err)
	store, list := built(ts, args[0])
	for _, k := range list {
		d, err := compile.Assume(context.Background(), store, k.Identity, args[1])
		ts.Check(err)
		d.Kernel, d.Target, d.Time = k.Name, k.Assembly.Target, time.Unix(int64(60*minute), 0).UTC()
		d.Evidence.Device, d.Evidence.Version, d.Evidence.Launches = args[2], "test", replayed()
		ts.Check(store.Spool(cache.Decisions, d.Key(), d))
	}
	_, err = tuner.OpenDecisions(context.Background(), store)
	ts.Check(err)
}

// forged DIR KERNEL EXACT NORMAL RECIPE: adds a decision to a store of others that says of itself
// that it was measured and compared. NORMAL is what it says that the compiler made: none, wrong, or
// a recipe, whose code it passes off as this one's.
func forged(ts *testscript.TestScript, neg bool, args []string) {
	dir, kernel, exact, normal, text := ts.MkAbs(args[0]), args[1], args[2], args[3], args[4]
	ts.Check(os.MkdirAll(dir, 0o700))
	store, list := built(ts, kernel)
	k := list[0]
	var all []cache.Arrived
	if sn, err := cache.OtherSnapshot(dir); err == nil {
		old, err := sn.AllDecisions()
		ts.Check(err)
		for _, d := range old {
			raw, err := json.Marshal(d)
			ts.Check(err)
			all = append(all, cache.Arrived{Decision: d, Raw: raw})
		}
		sn.Close()
	}
	d := cache.Decision{Identity: k.Identity, Kernel: k.Name, Target: k.Assembly.Target, Recipe: text,
		Exactness: exact, Time: time.Now().UTC()}
	d.Evidence.Device, d.Evidence.Launches = "NVIDIA H200", replayed()
	switch normal {
	case "none":
	case "wrong":
		d.Evidence.Normals = map[string]string{text: strings.Repeat("5", 32)}
	default:
		real, err := compile.Assume(context.Background(), store, k.Identity, normal)
		ts.Check(err)
		d.Evidence.Normals = map[string]string{}
		for _, hash := range real.Evidence.Normals {
			d.Evidence.Normals[text] = hash
		}
	}
	raw, err := json.Marshal(d)
	ts.Check(err)
	ts.Check(cache.PublishOther(dir, append(all, cache.Arrived{Decision: d, Raw: raw})))
}

// hung DIR: a file system there that never answers.
func hung(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	end, err := mountHung(dir)
	ts.Check(err)
	ts.Defer(end)
}

// mountHung mounts FUSE with nobody behind it.
func mountHung(dir string) (end func(), err error) {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	err = syscall.Mount("gnvcc-test", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", f.Fd(), os.Getuid(), os.Getgid()))
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		f.Close() // ends all waiting
		syscall.Unmount(dir, syscall.MNT_DETACH)
	}, nil
}

// mountable tells whether a test may mount a file system here.
func mountable() bool {
	dir, err := os.MkdirTemp("", "gnvcc-mount-")
	if err != nil {
		return false
	}
	defer os.Remove(dir)
	end, err := mountHung(dir)
	if err == nil {
		end()
	}
	return err == nil
}

// disown DIR: makes a store somebody else's (where we are root: another user's), readable and not
// to be written.
func disown(ts *testscript.TestScript, neg bool, args []string) {
	const nobody = 65534
	dir := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o444)
		if d.IsDir() {
			mode = 0o555
		}
		if err := os.Chmod(path, mode); err != nil || os.Geteuid() != 0 {
			return err
		}
		return os.Chown(path, nobody, nobody)
	}))
	if os.Geteuid() != 0 {
		ts.Logf("not root: %s stays ours, and is made read-only", dir)
	}
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "state"), []byte(stateOf(ts, dir)), 0o600))
	// So that the test's folder can be removed.
	ts.Defer(func() {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
	})
}

// stateOf lists a folder's files with sizes and times.
func stateOf(ts *testscript.TestScript, dir string) string {
	var b strings.Builder
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
		return err
	}))
	return b.String()
}

// unchanged DIR: nothing in another user's store was written since.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	if was, is := ts.ReadFile(filepath.Join(ts.Getenv("WORK"), "state")),
		stateOf(ts, ts.MkAbs(args[0])); was != is {
		ts.Fatalf("%s was\n%s\nand is\n%s", args[0], was, is)
	}
}
