package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/install/kits"
	"gnvcc/sim/cubin"
	"gnvcc/sim/fatbin"
)

// TestWalk goes at random through what people do between two builds, and after each step compares
// the machine code in all files, and what status, apply -n, revert -n and export say, with a model
// (walkmodel_test.go). Two sources are PTX, so that a build takes some 50 ms; the third one is
// CUDA, with a main, and is built now and then, to an object and to a program. What the code of
// each recipe is was found out before, in a store of its own (nvcc's own by nvcc).
//
// GNVCC_TESTS=longer goes on for longer (GNVCC_STEPS, by default 10,000), with another seed each
// time (GNVCC_SEED repeats one).
func TestWalk(t *testing.T) {
	kits.Long(t, "TestVerbs has the verbs one by one")
	kit := kits.Any(t)
	steps, seed := 100, uint64(1)
	if kits.Longer() {
		steps, seed = 10000, uint64(time.Now().UnixNano())
	}
	fmt.Sscan(os.Getenv("GNVCC_STEPS"), &steps)
	fmt.Sscan(os.Getenv("GNVCC_SEED"), &seed)
	w := newWalk(t, kit, seed)
	count := map[string]int{}
	for step := range steps {
		name := w.step()
		count[name]++
		w.note("%d %s.", step, name)
		w.check()
		if t.Failed() {
			t.Fatalf("seed %d; the last steps: %s", seed,
				strings.Join(w.said[max(0, len(w.said)-40):], " ")+"\n"+w.text+"\n"+w.String())
		}
	}
	t.Logf("seed %d: %d steps, 0 wrong: %v", seed, steps, count)
}

// String is what the model knows, for when something is wrong.
func (w *walk) String() string {
	var b strings.Builder
	for _, path := range w.paths() {
		fmt.Fprintf(&b, "%s: %+v\n", path, w.files[path])
	}
	for r, n := range w.records {
		fmt.Fprintf(&b, "built: %+v %+v\n", r, n)
	}
	return b.String()
}

// variants of a source: 2 is 0 with an instruction that ptxas throws away.
const variants, sourceCount = 3, 3

var recipes = []string{"hint@ld=cs", "hint@st=cs"}

// inCUDA is the source that is CUDA.
const inCUDA = sourceCount - 1

// nameOf is a source's file.
func nameOf(source int) string {
	if source == inCUDA {
		return fmt.Sprintf("k%d.cu", source)
	}
	return fmt.Sprintf("k%d.ptx", source)
}

// textOf is what stands in a source.
func textOf(source, variant int) []byte {
	if source == inCUDA {
		return cudaOf(source, variant)
	}
	return ptxOf(source, variant)
}

func cudaOf(source, variant int) []byte {
	more := ""
	if variant == 2 {
		more = `asm volatile("{ .reg .f32 t; mov.f32 t, 0f41000000; }");`
	}
	return fmt.Appendf(nil, `extern "C" __global__ void k%d(float *p, unsigned n)
{
	%s
	for (unsigned i = 0; i < n; i++)
		p[i] = fmaf(p[i], p[i], %d.0f);
}
int main() { return 0; }
`, source, more, 3+variant%2)
}

func ptxOf(source, variant int) []byte {
	more := ""
	if variant == 2 {
		more = "mov.f32 %f5, 0f41000000;\n"
	}
	return fmt.Appendf(nil, `.version 8.0
.target sm_80
.address_size 64
.visible .entry k%[1]d(.param .u64 p, .param .u32 n)
{
.reg .b64 %%rd<5>;
.reg .b32 %%r<5>;
.reg .f32 %%f<7>;
.reg .pred %%p;
ld.param.u64 %%rd1, [p];
ld.param.u32 %%r1, [n];
cvta.to.global.u64 %%rd2, %%rd1;
%[3]sL: ld.global.f32 %%f1, [%%rd2];
fma.rn.f32 %%f2, %%f1, %%f1, 0f%08[2]x;
st.global.f32 [%%rd2], %%f2;
add.u64 %%rd2, %%rd2, 4;
sub.u32 %%r1, %%r1, 1;
setp.ne.u32 %%p, %%r1, 0;
@%%p bra L;
ret;
}
`, source, 0x40000000+source*0x1000000+(variant%2)*0x100000, more)
}

// A walk is the world that the steps go through.
type walk struct {
	*model
	t          *testing.T
	rng        *rand.Rand
	root, nvcc string
	env        []string
	machine    map[code]string // hashes (cubin.CodeHash)
	identities map[task]string
	folders    []string // relative to root
	moved      int
	said       []string // the steps
	text       string   // what the last verb of a step has said
}

func newWalk(t *testing.T, kit kits.Kit, seed uint64) *walk {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, rng: rand.New(rand.NewPCG(seed, 1)), root: filepath.Join(root, "w"),
		nvcc: kit.Nvcc(), machine: map[code]string{}, identities: map[task]string{},
		folders: []string{"p0", "p1"}}
	w.model = &model{sources: map[string]int{}, files: map[string]heldFile{},
		records: map[recording]noted{}, last: map[string]cmdline{}, unsure: map[string]bool{},
		pins: map[task]string{}, banned: map[int]string{}, locks: map[string]map[task]string{},
		same: func(a, b code) bool { return w.machine[a] == w.machine[b] }}
	w.env = append(slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "GNVCC_") || strings.HasPrefix(s, "TMPDIR=")
	}), "GNVCC_NVCC="+w.nvcc, kits.Short(), "TERM=dumb", "HOME="+root, "TMPDIR="+w.mkdir(root, "tmp"))
	w.learn(w.mkdir(root, "learn"))
	w.env = append(w.env, "GNVCC_STORE="+filepath.Join(root, "store"))
	for _, f := range w.folders {
		w.mkdir(w.root, f)
		for s := range sourceCount {
			w.edit(f, s, 0)
		}
	}
	return w
}

// note says what a step does, for when something is wrong.
func (w *walk) note(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *walk) mkdir(parts ...string) string {
	dir := filepath.Join(parts...)
	w.must(os.MkdirAll(dir, 0o755))
	return dir
}

func (w *walk) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// learn finds out the machine code of everything, and the identities.
func (w *walk) learn(dir string) {
	env := w.env
	defer func() { w.env = env }()
	w.env = append(slices.Clone(env), "GNVCC_STORE="+filepath.Join(dir, "store"))
	for s := range sourceCount {
		for v := range variants {
			name := nameOf(s)
			w.must(os.WriteFile(filepath.Join(dir, name), textOf(s, v), 0o644))
			for _, at := range tasksOf(s, v) {
				args := []string{fmt.Sprintf("-arch=sm_%d", at.target), "-cubin", name, "-o", "k.cubin"}
				if at.level == 1 {
					args = append(args, "-Xptxas", "-O1")
				}
				w.run(dir, w.nvcc, args...)
				w.machine[code{at, ""}] = w.codesIn(filepath.Join(dir, "k.cubin"))[0]
				w.run(dir, "gnvcc", args...)
				w.identities[at] = w.identityIn(filepath.Join(dir, "store"), at)
				for _, r := range recipes {
					w.run(dir, "gnvcc", "pin", w.identities[at], r)
					w.run(dir, "gnvcc", args...)
					w.machine[code{at, r}] = w.codesIn(filepath.Join(dir, "k.cubin"))[0]
				}
				w.run(dir, "gnvcc", "pin", w.identities[at], "--none")
			}
		}
	}
	// What the walk is about: all of these differ, but for variants 2 and 0.
	first := map[string]code{}
	for k, hash := range w.machine {
		k.variant %= 2
		if old, ok := first[hash]; ok && old != k || w.machine[k] != hash {
			w.t.Fatalf("%+v and %+v are the same code, or variants 0 and 2 are not", old, k)
		}
		first[hash] = k
	}
}

// identityIn is the identity of what was built last into learn's store.
func (w *walk) identityIn(store string, at task) string {
	for id, b := range record.BuiltBy(w.store(store)) {
		known := slices.Contains(slices.Collect(maps.Values(w.identities)), id)
		if !known && b.Name == fmt.Sprintf("k%d", at.source) {
			return id
		}
	}
	w.t.Fatalf("no identity of %+v", at)
	return ""
}

func (w *walk) store(dir string) *cache.Store {
	s, err := cache.Open(dir)
	w.must(err)
	return s
}

// codesIn are the hashes of the machine code in a file; none where it can't be read.
func (w *walk) codesIn(path string) (out []string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	w.must(err)
	err = fatbin.Each(f, info.Size(), func(b []byte) error {
		hash, err := cubin.CodeHash(b)
		out = append(out, hash)
		return err
	})
	if err != nil {
		return nil
	}
	return out
}

// heldIn are those in a file of the walk. To a program the device link adds one without a kernel.
func (w *walk) heldIn(rel string) []string {
	list := w.codesIn(filepath.Join(w.root, rel))
	if w.files[rel].program {
		known := slices.Collect(maps.Values(w.machine))
		list = slices.DeleteFunc(list, func(hash string) bool { return !slices.Contains(known, hash) })
	}
	return list
}

func (w *walk) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, w.env
	return cmd
}

// run runs a command that has to succeed.
func (w *walk) run(dir, name string, args ...string) string {
	w.t.Helper()
	var out bytes.Buffer
	cmd := w.command(dir, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%s %q: %v\n%s", name, args, err, out.String())
	}
	return out.String()
}

// edit writes a source, with an old time now and then, as git does.
func (w *walk) edit(folder string, source, variant int) {
	base := fmt.Sprintf("%s/k%d", folder, source)
	path := filepath.Join(w.root, folder, nameOf(source))
	w.must(os.WriteFile(path, textOf(source, variant), 0o644))
	if w.rng.IntN(2) == 0 {
		then := time.Unix(1.5e9+int64(variant), 0)
		w.must(os.Chtimes(path, then, then))
	}
	w.sources[base] = variant
	w.note("%s=%d", base, variant)
}

// args are a command's.
func (c cmdline) args() []string {
	in, out := nameOf(c.source), filepath.Base(c.output())
	switch c.kind {
	case 1:
		return []string{"-arch=sm_80", "-cubin", "-Xptxas", "-O1", in, "-o", out}
	case 2:
		return []string{"-gencode=arch=compute_80,code=[sm_80,sm_86]", "-fatbin", "-Xfatbin",
			"-compress-all", in, "-o", out}
	case 3:
		return []string{"-arch=sm_90", "-c", in, "-o", out}
	}
	return []string{"-arch=sm_80", "-cubin", in, "-o", out}
}

// A spoken is what a verb has said.
type spoken struct {
	Code int
	Text string
}

// verbs runs several verbs in one process (TestMain), in the walk's folder.
func (w *walk) verbs(list ...[]string) []spoken {
	var out []spoken
	var errors bytes.Buffer
	text, err := json.Marshal(list)
	w.must(err)
	cmd := w.command(w.root, "gnvccverbs", string(text))
	cmd.Stderr = &errors
	all, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", list, err, errors.String())
	}
	for _, part := range strings.SplitAfter(string(all), verbsEnd) {
		before, ok := strings.CutSuffix(part, verbsEnd)
		if !ok {
			continue
		}
		at := strings.LastIndex(before, "\n")
		s := spoken{Text: before[:at+1]}
		fmt.Sscan(before[at+1:], &s.Code)
		out = append(out, s)
		if len(list) == 1 {
			w.text = s.Text + errors.String()
		}
	}
	if len(out) != len(list) {
		w.t.Fatalf("%v: %q", list, all)
	}
	return out
}

// verbsEnd ends what one of several verbs has said, behind a line with its exit code.
const verbsEnd = "%the end of a verb%\n" // no control character: output shows these as ?

// runVerbs is the command gnvccverbs.
func runVerbs(args []string) {
	var list [][]string
	if json.Unmarshal([]byte(args[0]), &list) != nil {
		os.Exit(run(os.Args)) // what apply runs is this file, under this name
	}
	for _, verb := range list {
		status := run(append([]string{"gnvcc"}, verb...))
		fmt.Fprintf(console, "\n%d%s", status, verbsEnd)
	}
	os.Exit(0)
}

func (w *walk) alive(folder string) bool {
	_, err := os.Stat(filepath.Join(w.root, folder))
	return err == nil
}

// check compares everything.
func (w *walk) check() {
	w.checkCode()
	lockPath := filepath.Join(w.root, "..", "exported")
	os.Remove(lockPath)
	said := w.verbs([]string{"status", "--json"}, []string{"apply", "-n"}, []string{"revert", "-n"},
		[]string{"export", "-o", lockPath})
	e := w.expect(w.alive)
	w.checkStatus(said[0], e)
	w.checkDry("apply -n", said[1], e, false)
	w.checkDry("revert -n", said[2], e, true)
	w.checkExport(said[3], lockPath, e)
}

// checkCode compares the machine code in all files with the model's.
func (w *walk) checkCode() {
	n := 0
	w.must(filepath.WalkDir(w.root, func(path string, d os.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext == ".ptx" || ext == ".cu" {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && strings.Contains(d.Name(), ".gnvcc-") {
			return nil // what an apply had begun to write when it was killed
		}
		n++
		rel, _ := filepath.Rel(w.root, path)
		f, ok := w.files[rel]
		var want []string
		for _, k := range f.codes {
			want = append(want, w.machine[k])
		}
		if got := w.heldIn(rel); !ok || !f.damaged && !slices.Equal(got, want) {
			w.t.Errorf("%s: %d cubins, %.8q; want %+v, %.8q", rel, len(got), got, f.codes, want)
		}
		return nil
	}))
	if n != len(w.files) {
		w.t.Errorf("%d files, not %d: %+v", n, len(w.files), w.files)
	}
}
