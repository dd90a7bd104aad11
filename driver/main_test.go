package driver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/compile"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/record"
	"gnvcc/driver/stage"
	"gnvcc/install/kits"
	"gnvcc/sim/cubin"
)

// The command line as a user types it, on real nvcc: testdata/script. The test binary is gnvcc
// there: called by that name it is the face (or apply), and with a stage's word in front it is a
// stage.

func TestMain(m *testing.M) {
	mayRefuse(os.Args[1:])
	if step, words, ok := stage.Of(os.Args[1:]); ok {
		os.Exit(stage.Run(step, words))
	}
	testscript.Main(m, map[string]func(){
		"gnvcc": func() { os.Exit(mainOf(os.Args[1:])) },
		"nvcc":  func() { os.Exit(Face(os.Args[1:])) }, // gnvcc under another name
	})
}

func mainOf(args []string) int {
	if len(args) == 1 && args[0] == "apply" {
		dir, err := cache.Dir()
		if err != nil {
			return complain("%v", err)
		}
		store, err := cache.Open(dir)
		if err != nil {
			return complain("%v", err)
		}
		if _, err := apply.Build(context.Background(), store, apply.Aim{}, os.Stdout); err != nil {
			return complain("%v", err)
		}
		return 0
	}
	return Face(args)
}

// TestScripts runs the scripts on the toolkit that the demo uses; those that begin with all_ on
// every one that is installed, because what they see differs by toolkit. GNVCC_TESTS=longer: all on
// all.
func TestScripts(t *testing.T) {
	for _, version := range drivertest.Toolkits {
		t.Run(version, func(t *testing.T) {
			kit := drivertest.Toolkit(t, version)
			params := testscript.Params{
				Dir:       "testdata/script",
				Condition: kits.Condition,
				Setup:     func(env *testscript.Env) error { return setup(env, kit, version) },
				Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
					"plant":   plant,
					"unplant": unplant,

					"approximate": approximate,
					"unresolved":  unresolved,

					"regs":    regs,
					"shared":  shared,
					"counted": counted,
					"nostray": nostray,
					"noted":   noted,
					"same":    same,
					"agree":   agree,
					"touched": touched,

					"alikeobjects": alikeObjects,
				},
			}
			if version != "13.0" && !kits.Longer() {
				params.Dir = ""
				params.Files, _ = filepath.Glob("testdata/script/all_*.txtar")
			}
			testscript.Run(t, params)
		})
	}
}

// setup gives a script a store of its own, the toolkit (in $KIT) and a shadow of it
// ($SHADOW/bin/nvcc) whose cicc and ptxas write down that they were called.
func setup(env *testscript.Env, kit, version string) error {
	shadow := filepath.Join(env.WorkDir, "shadow")
	calls := filepath.Join(env.WorkDir, "calls")
	tmp := filepath.Join(env.WorkDir, "tmp")
	if err := drivertest.ShadowOf(kit, shadow, calls); err != nil {
		return err
	}
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return err
	}
	env.Setenv("KIT", kit)
	env.Vars = append(env.Vars, kits.ShortIn(env.WorkDir))
	env.Setenv("VERSION", version)
	env.Setenv("SHADOW", shadow)
	env.Setenv("TMPDIR", tmp)
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("GNVCC_NVCC", filepath.Join(kit, "bin", "nvcc"))
	env.Setenv("GNVCC_STORE", filepath.Join(env.WorkDir, "store"))
	env.Setenv("GNVCC_STRICT", "1")
	env.Setenv("GNVCC_LOG", filepath.Join(env.WorkDir, "log"))
	env.Setenv("REAL", filepath.Join(kit, "bin", "nvcc"))
	return nil
}

func storeOf(ts *testscript.TestScript) *cache.Store {
	store, err := cache.Open(ts.Getenv("GNVCC_STORE"))
	ts.Check(err)
	return store
}

// plant KERNEL RECIPE [DEVICE]: decide on a recipe for every identity of a kernel that was built.
func plant(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: plant KERNEL RECIPE [DEVICE]")
	}
	d := cache.Decision{Recipe: args[1], Exactness: "construction"}
	if len(args) == 3 {
		d.Evidence.Device = args[2]
	}
	decide(ts, args[0], d)
}

// approximate KERNEL RECIPE FILE: decide on a recipe for every identity of a kernel that was built,
// for who writes FILE.
func approximate(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: approximate KERNEL RECIPE FILE")
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(ts.MkAbs(args[2])))
	ts.Check(err)
	file := filepath.Join(dir, filepath.Base(args[2]))
	decide(ts, args[0], cache.Decision{Recipe: args[1], Exactness: "approximate", For: []string{file}})
}

// decide keeps a decision for every identity of a kernel that was built.
func decide(ts *testscript.TestScript, kernel string, d cache.Decision) {
	store := storeOf(ts)
	calls, err := os.ReadFile(ts.MkAbs("calls")) // what this takes is no build's
	if err == nil {
		defer os.WriteFile(ts.MkAbs("calls"), calls, 0o600)
	} else {
		defer os.Remove(ts.MkAbs("calls"))
	}
	n := 0
	seen := map[string]bool{}
	for _, list := range record.Read(store).Assemblies {
		for _, a := range list {
			for _, k := range a.Kernels {
				if k.Name == kernel && !seen[k.Identity] {
					seen[k.Identity] = true
					assumed, err := compile.Assume(context.Background(), store, k.Identity, d.Recipe)
					ts.Check(err)
					assumed.Exactness, assumed.For, assumed.Evidence.Device = d.Exactness, d.For, d.Evidence.Device
					ts.Check(store.Spool(cache.Decisions, assumed.Key(), assumed))
					n++
				}
			}
		}
	}
	if n == 0 {
		ts.Fatalf("no build recorded a kernel %s", kernel)
	}
	ts.Check(store.PublishSpooled(context.Background()))
}

// unresolved KERNEL RECIPE: decide on it as it is written, with the normal forms of the recipe as it
// is kept.
func unresolved(ts *testscript.TestScript, neg bool, args []string) {
	plant(ts, neg, args)
	store := storeOf(ts)
	sn, err := store.Snapshot()
	ts.Check(err)
	defer sn.Close()
	ts.Check(sn.Each(cache.Decisions, "", func(key string, raw []byte) error {
		var d cache.Decision
		if err := json.Unmarshal(raw, &d); err != nil || d.Kernel != args[0] {
			return err
		}
		old := map[string]string{}
		for text, normal := range d.Evidence.Normals {
			old[strings.ReplaceAll(text, d.Recipe, args[1])] = normal
		}
		d.Recipe, d.Evidence.Normals = args[1], old
		return store.Spool(cache.Decisions, key, d)
	}))
	ts.Check(store.PublishSpooled(context.Background()))
}

func unplant(ts *testscript.TestScript, neg bool, args []string) {
	plant(ts, neg, []string{args[0], ""})
}

// regs FILE KERNEL N: the cubin's kernel has N registers.
func regs(ts *testscript.TestScript, neg bool, args []string) {
	content := ts.ReadFile(args[0])
	f, err := cubin.Read([]byte(content))
	ts.Check(err)
	k, ok := f.Kernel(args[1])
	if !ok {
		ts.Fatalf("%s has no kernel %s", args[0], args[1])
	}
	if got := strconv.Itoa(k.Registers); (got == args[2]) == neg {
		ts.Fatalf("%s in %s has %s registers", args[1], args[0], got)
	}
}

// shared FILE KERNEL N: the cubin's kernel has N bytes of static shared memory.
func shared(ts *testscript.TestScript, neg bool, args []string) {
	f, err := cubin.Read([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	if k, ok := f.Kernel(args[1]); !ok || (strconv.Itoa(k.Shared) == args[2]) == neg {
		ts.Fatalf("%s has %d bytes of shared memory", args[1], k.Shared)
	}
}

// agree FILE: the names of internal linkage in an object, of host and device alike, hold one and
// the same id of the module.
func agree(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	ids := map[string]int{}
	for _, m := range regexp.MustCompile(
		`_INTERNAL(_[0-9a-f]{8}_[0-9]+_[a-z]+_cu_[0-9a-f]{8}_[0-9]+?)3lib`).FindAllStringSubmatch(text,
		-1) {
		ids[m[1]]++
	}
	device := strings.Count(text, ".nv.global")
	if len(ids) != 1 || device == 0 {
		ts.Fatalf("%s: ids of the module %v; %d sections of variables of the device", args[0], ids,
			device)
	}
}

// touched FILE: it is as new as can be.
func touched(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), time.Time{}, time.Now()))
}

// counted TOOL N: the shadow toolkit's tool was called N times since the last look.
func counted(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs("calls")
	text, _ := os.ReadFile(path)
	n := strings.Count(string(text), args[0]+"\n")
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%s was called %d times, not %s", args[0], n, args[1])
	}
	rest := strings.ReplaceAll(string(text), args[0]+"\n", "")
	ts.Check(os.WriteFile(path, []byte(rest), 0o600))
}

// nostray: nothing of ours lies in TMPDIR.
func nostray(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.Getenv("TMPDIR"))
	ts.Check(err)
	for _, e := range entries {
		if strings.Contains(e.Name(), "gnvcc") || len(args) > 0 {
			ts.Fatalf("left in TMPDIR: %s", e.Name())
		}
	}
}

// noted KERNEL RECIPE: the newest record of a kernel says that it was built with the recipe ("-"
// for none).
func noted(ts *testscript.TestScript, neg bool, args []string) {
	var newest cache.Assembly
	var kernel cache.Kernel
	for _, list := range record.Read(storeOf(ts)).Assemblies {
		for _, a := range list {
			for _, k := range a.Kernels {
				if k.Name == args[0] && a.Time.After(newest.Time) {
					newest, kernel = a, k
				}
			}
		}
	}
	want := strings.TrimPrefix(args[1], "-")
	if kernel.Name == "" || (kernel.Recipe == want) == neg {
		text, _ := json.Marshal(kernel)
		ts.Fatalf("recorded: %s", text)
	}
}

// same A B: equal bytes. (cmp shows a diff, which is no use for cubins.)
func same(ts *testscript.TestScript, neg bool, args []string) {
	if (ts.ReadFile(args[0]) == ts.ReadFile(args[1])) == neg {
		ts.Fatalf("%s and %s: not as wanted", args[0], args[1])
	}
}

// alikeobjects A B: equal bytes, the number of nvcc's process aside.
func alikeObjects(ts *testscript.TestScript, neg bool, args []string) {
	a, b := steady([]byte(ts.ReadFile(args[0]))), steady([]byte(ts.ReadFile(args[1])))
	if (a == b) == neg {
		ts.Fatalf("%s and %s: not as wanted", args[0], args[1])
	}
}
