// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/policy"
	"gnvcc/profile/capture"
	"gnvcc/profile/capture/capturetest"
)

// upgraded is a project that is built with one toolkit, with a store of its own.
type upgraded struct {
	*site // in the folder src of the project's
	kit   kits.Kit
	top   string
}

const upgradedSource = `__global__ void sums(float *p, int n) {
	float s = 0;
	for (int i = threadIdx.x; i < n; i += 32) s = s * p[i] + p[i + n] / (1.5f + p[i]);
	p[threadIdx.x] = s;
}
__global__ void plain(float *p, int n) { if (threadIdx.x < n) p[threadIdx.x] += 1; }
`

func newUpgraded(t *testing.T) *upgraded {
	t.Helper()
	u := &upgraded{kit: kits.Need(t, "13.0")}
	u.site = newSite(t, u.kit.Nvcc(), kits.Short(upgradedSource), "TEST_LEVERS=hint", "TEST_NO_GPU=yes")
	u.top, u.dir = u.dir, filepath.Join(u.dir, "src")
	u.env = append(u.env, asIfGPU+"="+filepath.Join(u.top, "measured"))
	u.write("k.cu", upgradedSource)
	u.good("-arch=sm_90", "-cubin", "-o", "k.cubin", "k.cu")
	return u
}

// captured keeps a launch of each kernel of the cubin that was built.
func (u *upgraded) captured(block int) map[string]*capture.Manifest {
	u.t.Helper()
	u.t.Log("the GPU is simulated")
	out, err := keepLaunch(u.store, filepath.Join(u.dir, "k.cubin"), capturetest.Launch{Program: "app", Grid: 1024,
		Block: block, Seconds: 1})
	u.must(err)
	return out
}

// takes makes the simulated GPU take so long for a kernel as nvcc builds it with some options.
func (u *upgraded) takes(kernel string, times float64, other bool, options ...string) {
	u.t.Helper()
	out := filepath.Join(u.t.TempDir(), "k.cubin")
	cmd := u.command(u.kit.Nvcc(), append(options, "-arch=sm_90", "-cubin", "-o", out, "k.cu")...)
	if said, err := cmd.CombinedOutput(); err != nil {
		u.t.Fatalf("%v\n%s", err, said)
	}
	content, err := os.ReadFile(out)
	u.must(err)
	code, err := policy.CodeHash(content, kernel)
	u.must(err)
	f, err := os.OpenFile(filepath.Join(u.top, "measured.takes"), os.O_APPEND|os.O_CREATE|os.O_WRONLY,
		0o600)
	u.must(err)
	fmt.Fprintln(f, code, times)
	f.Close()
	if other {
		u.write("../measured.other."+code, "")
	}
}

const sumsName = "_Z4sumsPfi"

// TestCompareStatic: without a GPU machine code is compared: of other options, other toolkits and
// another architecture; a launch that was seen and is possible no longer is a loss.
func TestCompareStatic(t *testing.T) {
	u := newUpgraded(t)
	before, _ := os.ReadFile(filepath.Join(u.dir, "k.cubin"))
	u.ends(0, []string{"compare", "--flags", "-maxrregcount=200"},
		"CUDA 13.0", "-maxrregcount=200", "2 kernels in both: 2 the same code")
	out := u.ends(0, []string{"compare", "--flags", "-use_fast_math", "--json"})
	var report compared
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(report.Kernels) != 2 || report.Kernels[0].Kernel != "plain" && report.Kernels[0].Kernel != "sums" {
		t.Fatalf("%s", out)
	}
	for _, k := range report.Kernels {
		if k.Verdict != "other" || k.Before.Registers == 0 || k.Before.Instructions == 0 {
			t.Errorf("%s: %s, %+v, %+v", k.Kernel, k.Verdict, k.Before, k.After)
		}
	}
	for _, kit := range kits.All(t) {
		if kit.Version == "13.0" {
			continue
		}
		u.ends(0, []string{"compare", "--toolkit", kit.Version, "sums"},
			"CUDA 13.0", "-> CUDA "+kit.Version+".", "1 kernel in both")
	}
	u.ends(0, []string{"compare", "--flags", "-arch=sm_80"}, "CUDA 13.0", "-arch=sm_80", "2 of other code, not run")
	// The blocks of captured launches count, with or without a GPU.
	u.captured(1024)
	u.ends(1, []string{"compare", "--flags", "-D__launch_bounds=1 -Xptxas -maxntid=512"},
		"2 can't be built or launched as before",
		"1024 x 1024: blocks of 1024 threads, and its directives allow 512 now", "no NVIDIA driver here")
	// It does not compile: a loss, with the compiler's words.
	u.ends(1, []string{"compare", "--flags", "-DplainX -include nothing.h"},
		"no longer compiles", "nothing.h", "its kernels: plain, sums")
	if after, _ := os.ReadFile(filepath.Join(u.dir, "k.cubin")); string(after) != string(before) {
		t.Error("the user's cubin is another")
	}
	u.good("status")
}

// TestCompareBad: bad input is refused with clear words, and exit code 2.
func TestCompareBad(t *testing.T) {
	kits.Long(t, "TestCompareStatic compares two builds")
	u := newUpgraded(t)
	for _, c := range []struct {
		args  string
		words string
	}{
		{"", "with what? --toolkit"},
		{"--toolkit 9.9", "CUDA 9.9 is not on this machine (there is"},
		{"--toolkit ./nowhere", "there is no nvcc at ./nowhere"},
		{"--commit HEAD", "is in no git repository"},
		{"--flags -O1 nokernel", "nokernel"},
		{"--flags -O1 --lock f", "can't be combined"},
		{"--toolkit=", "empty"},
		{"--flags --nosuch", `nvcc does not take "--nosuch": `},
		{"--flags -Xptxas=-nosuch", "-nosuch may write another file"},
		{"--flags -arch=sm_1", `nvcc does not take "-arch=sm_1": `},
	} {
		u.ends(2, append([]string{"compare"}, strings.Fields(c.args)...), c.words)
	}
	for _, part := range []string{"bin/ptxas", "nvvm/bin/cicc"} {
		half := filepath.Join(u.t.TempDir(), "half")
		if err := exec.Command("cp", "-rs", u.kit.Dir, half).Run(); err != nil {
			t.Fatal(err)
		}
		gone := filepath.Join(half, part)
		if at, err := filepath.EvalSymlinks(filepath.Dir(gone)); err != nil || at != filepath.Dir(gone) {
			t.Skipf("SKIPPED: %s lies elsewhere, and is not ours to remove", gone)
		}
		os.Remove(gone)
		u.ends(2, []string{"compare", "--static", "--toolkit", half},
			"is incomplete", filepath.Base(part)+": not found")
	}
	u.write("k.cu", "__global__ void sums(float *p { }\n")
	u.ends(2, []string{"compare", "--flags", "-O1"}, "does not build as it was", "k.cu(1)")
	os.RemoveAll(u.store)
	u.ends(2, []string{"compare", "--flags", "-O1"}, "no builds by gnvcc are on record here")
}

// TestCompareCommit: the recorded command on another commit's tree, which needs a header that git
// does not know.
func TestCompareCommit(t *testing.T) {
	kits.Long(t, "TestCompareStatic compares other options and toolkits")
	u := newUpgraded(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: no git here")
	}
	inside := u.dir
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b",
			"-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir = inside
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	u.write("made.h", "#define TURN 32\n")
	edited := strings.Replace("#include \"made.h\"\n"+upgradedSource, "i += 32", "i += TURN", 1)
	u.write("k.cu", strings.Replace(edited, "p[threadIdx.x] += 1", "p[threadIdx.x] += 2", 1))
	git("init", "-q")
	u.write(".gitattributes", "k.cu export-ignore\n") // of archives alone
	git("add", "k.cu", ".gitattributes")
	git("commit", "-qm", "one")
	u.write("k.cu", strings.Replace(edited, "__global__ void plain(float *p, int n)",
		"__global__ void plain(float *p, int n, int m)", 1))
	u.good("-arch=sm_90", "-cubin", "-o", "k.cubin", "k.cu")
	before, _ := exec.Command("find", u.dir, "-newer", u.dir+"/k.cubin").Output()
	u.ends(1, []string{"compare", "--commit", "HEAD"},
		" at HEAD", "the later build has no kernel of that name", "1 the same code")
	u.ends(0, []string{"compare", "--commit", "HEAD", "sums"}, "1 kernel in both: 1 the same code")
	u.env = append(u.env, "GIT_DIR="+u.top+"/nowhere") // as in a hook of another repository
	u.ends(0, []string{"compare", "--commit", "HEAD", "sums"}, "1 kernel in both: 1 the same code")
	u.ends(2, []string{"compare", "--commit", "nowhere"}, "nowhere")
	if after, _ := exec.Command("find", u.dir, "-newer", u.dir+"/k.cubin").Output(); string(after) != string(before) {
		t.Errorf("the user's tree has changed: %s", after)
	}
	u.env = u.env[:len(u.env)-1]
	// A submodule, of which the commit takes an earlier state than the present tree has.
	inside = filepath.Join(u.top, "sub")
	os.Mkdir(inside, 0o700)
	u.write("../sub/turn.h", "#define TURN 32\n")
	git("init", "-q")
	git("add", "turn.h")
	git("commit", "-qm", "sub")
	inside = u.dir
	u.write("k.cu", strings.Replace(edited, "made.h", "sub/turn.h", 1))
	git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", u.top+"/sub", "sub")
	git("add", "k.cu")
	git("commit", "-qm", "with a submodule")
	inside = filepath.Join(u.dir, "sub")
	u.write("sub/turn.h", "#define TURN 64\n")
	git("commit", "-qam", "another turn")
	u.good("-arch=sm_90", "-cubin", "-o", "k.cubin", "k.cu")
	u.ends(0, []string{"compare", "--commit", "HEAD"}, "2 kernels in both: 1 of other code, not run, 1 the same code")
	git("update-ref", "-d", "HEAD")
	os.RemoveAll(filepath.Join(u.dir, ".git", "modules", "sub", "objects"))
	os.MkdirAll(filepath.Join(u.dir, ".git", "modules", "sub", "objects"), 0o700)
	u.ends(2, []string{"compare", "--commit", "HEAD"}, "the submodule sub at ")
}

// TestCompareReplay: captured launches are replayed by both builds in turn; nothing is decided.
func TestCompareReplay(t *testing.T) {
	kits.Long(t, "TestCompareStatic compares two builds")
	u := newUpgraded(t)
	u.env = append(u.env, "TEST_NO_GPU=")
	u.captured(256)
	u.takes(sumsName, 1, false)
	u.takes(sumsName, 1.3, true, "-fmad=false")
	u.ends(1, []string{"compare", "--flags", "-fmad=false"},
		"1 slower", "1 the same code", "1024 x 256: 1.3", ", slower", "different bits: 2 words differ",
		"relative error up to 1e-07")
	if list := u.decisions(); len(list) > 0 {
		t.Errorf("decided: %+v", list)
	}
	// Faster, and as fast.
	u.takes(sumsName, 0.8, false, "-Xptxas", "-O1")
	u.ends(0, []string{"compare", "--flags", "-Xptxas=-O1", "sums"}, "1 faster", "1024 x 256: 0.8")
	// A kernel whose parameters are others now is compared as code, and is not launched.
	u.write("k.cu", strings.Replace(upgradedSource, "sums(float *p, int n)", "sums(float *p, long n)", 1))
	u.good("-arch=sm_90", "-cubin", "-o", "k.cubin", "k.cu")
	u.ends(0, []string{"compare", "--flags", "-fmad=false", "--static"}, "not run")
}

// TestClaims: what a lock file says that recipes gain is measured, and that they leave the same bits.
func TestClaims(t *testing.T) {
	kits.Long(t, "TestCompareReplay compares in the same way")
	u := newUpgraded(t)
	u.env = append(u.env, "TEST_NO_GPU=")
	made := u.captured(256)
	u.takes(sumsName, 1, false)
	u.takes("_Z5plainPfi", 1, false)
	u.good("tune", "--levers", "hint", "--kernels", "sums")
	u.good("export", "-o", "gnvcc.lock")
	u.ends(0, []string{"compare", "--lock", "gnvcc.lock"}, "Simulated H200", "2 launches", "1 alike", "sums")
	text := u.read("gnvcc.lock")
	claims := regexp.MustCompile(`gain=[0-9.]+`)
	u.write("more.lock", claims.ReplaceAllString(text, "gain=3.000"))
	u.ends(1, []string{"compare", "--lock", "more.lock"}, "slower", "gains less than the lock file says")
	u.write("other.lock", strings.ReplaceAll(text, "Simulated H200", "NVIDIA L4"))
	u.ends(2, []string{"compare", "--lock", "other.lock"}, "no recipe of the lock file is for a captured kernel")
	// Other bits by the recipe that builds take.
	for _, d := range u.decisions() {
		if d.Kernel == sumsName && d.Recipe != "" {
			u.otherwise(made[sumsName], d.Recipe)
		}
	}
	u.ends(1, []string{"compare", "--lock", "gnvcc.lock"}, "broken", "the recipe leaves different bits")
	u.good("doctor", "--clean=captures")
	u.ends(2, []string{"compare", "--lock", "gnvcc.lock"}, "no launches are captured of what was built here")
}

// otherwise makes the simulated GPU leave other bits by a recipe.
func (u *upgraded) otherwise(m *capture.Manifest, recipe string) {
	u.t.Helper()
	u.good("-arch=sm_90", "-cubin", "-o", "recipe.cubin", "k.cu")
	code, err := policy.CodeHash([]byte(u.read("recipe.cubin")), m.Kernel)
	u.must(err)
	u.write("../measured.other."+code, "")
}

// TestAction: the steps of the GitHub Action, as its file names them, run here in their order, with
// inputs filled in as GitHub does. What would speak with GitHub is a gh that writes down what it is
// told.
func TestAction(t *testing.T) {
	kits.Long(t, "TestCompareReplay compares in the same way")
	u := newUpgraded(t)
	u.env = append(u.env, "TEST_NO_GPU=")
	u.captured(256)
	u.takes(sumsName, 1, false)
	u.takes("_Z5plainPfi", 1, false)
	u.takes(sumsName, 1.4, false, "-fmad=false")
	u.good("tune", "--levers", "hint", "--kernels", "sums")
	u.good("export", "-o", "gnvcc.lock", "--all")
	bin := filepath.Join(u.top, "bin")
	os.Mkdir(bin, 0o700)
	os.Symlink(u.exe, filepath.Join(bin, "gnvcc"))
	gh := "#!/bin/sh\necho \"$@\" >" + u.top + "/gh.said\ncat \"$5\" >>" + u.top + "/gh.said\n"
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(gh), 0o700); err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("../../install/action")
	if err != nil {
		t.Fatal(err)
	}
	steps := actionSteps(t, filepath.Join(folder, "action.yml"))
	if len(steps) != 5 {
		t.Fatalf("%d steps", len(steps))
	}
	codes := func(inputs map[string]string) (out []int, said string) {
		t.Helper()
		os.Remove(filepath.Join(u.top, "summary"))
		for _, s := range steps {
			cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.run)
			cmd.Dir = u.dir
			cmd.Env = append(append([]string(nil), u.env...), "PATH="+bin+":"+os.Getenv("PATH"),
				"GITHUB_ACTION_PATH="+folder, "RUNNER_TEMP="+u.top, "GITHUB_STEP_SUMMARY="+u.top+"/summary")
			for name, value := range s.env {
				for input, is := range inputs {
					value = strings.ReplaceAll(value, "${{ "+input+" }}", is)
				}
				if strings.Contains(value, "${{") {
					t.Fatalf("%s: %s is not filled in", name, value)
				}
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			text, _ := cmd.CombinedOutput()
			out, said = append(out, cmd.ProcessState.ExitCode()), said+string(text)
		}
		return out, said
	}
	inputs := map[string]string{"inputs.build": "gnvcc -arch=sm_90 -cubin -o k.cubin k.cu",
		"inputs.lock": "gnvcc.lock", "inputs.toolkit": "", "inputs.flags": "-Xptxas=-O3",
		"inputs.baseline": "", "inputs.gpu": "yes", "inputs.comment": "no",
		"github.event.pull_request.number": "7", "github.token": "none"}
	got, said := codes(inputs)
	if fmt.Sprint(got) != "[0 0 0 0 0]" {
		t.Errorf("exit codes %v\n%s", got, said)
	}
	summary, _ := os.ReadFile(filepath.Join(u.top, "summary"))
	for _, want := range []string{"Simulated H200", "-Xptxas=-O3", "1 alike"} {
		if !strings.Contains(string(summary), want) {
			t.Errorf("the summary does not say %q:\n%s", want, summary)
		}
	}
	inputs["inputs.flags"], inputs["inputs.comment"], inputs["inputs.gpu"] = "-fmad=false", "yes", "no"
	got, said = codes(inputs)
	if fmt.Sprint(got) != "[0 0 0 0 0]" || !strings.Contains(said, "no GPU here") {
		t.Errorf("without a GPU: exit codes %v\n%s", got, said)
	}
	inputs["inputs.gpu"] = "yes"
	got, said = codes(inputs)
	if fmt.Sprint(got) != "[0 0 0 0 1]" {
		t.Errorf("a kernel lost: exit codes %v\n%s", got, said)
	}
	comments, _ := os.ReadFile(filepath.Join(u.top, "gh.said"))
	for _, want := range []string{"pr comment 7 --body-file", "1 slower"} {
		if !strings.Contains(string(comments), want) {
			t.Errorf("the pull request does not get %q:\n%s", want, comments)
		}
	}
	u.good("compare", "--baseline", "kernels.txt", "--update")
	inputs["inputs.baseline"], inputs["inputs.flags"] = "kernels.txt", ""
	if got, said = codes(inputs); fmt.Sprint(got) != "[0 0 0 0 0]" {
		t.Errorf("as the baseline: exit codes %v\n%s", got, said)
	}
	u.write("k.cu", strings.Replace(upgradedSource, "1.5f", "sqrtf(p[i])", 1))
	if got, said = codes(inputs); fmt.Sprint(got) != "[0 0 0 0 1]" || !strings.Contains(said, "worse    sums") {
		t.Errorf("worse than the baseline: exit codes %v\n%s", got, said)
	}
	if comments, _ := os.ReadFile(filepath.Join(u.top, "gh.said")); !strings.Contains(string(comments), "worse    sums") {
		t.Errorf("the pull request does not get what is worse:\n%s", comments)
	}
	inputs["inputs.build"] = "false"
	if got, said = codes(inputs); got[0] == 0 {
		t.Errorf("a build that fails: %v\n%s", got, said)
	}
}

// A step is one of an Action.
type step struct {
	run string
	env map[string]string
}

// actionSteps reads the steps of an Action's file, as far as ours uses YAML.
func actionSteps(t *testing.T, file string) (out []step) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, text2, _ := strings.Cut(string(text), "\n  steps:\n")
	for _, line := range strings.Split(text2, "\n") {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case strings.HasPrefix(line, "    - "):
			out = append(out, step{env: map[string]string{}})
		case strings.HasPrefix(line, "        ") && len(out) > 0:
			out[len(out)-1].env[name] = value
		case name == "run":
			out[len(out)-1].run = strings.Trim(value, "'")
		}
	}
	return out
}
