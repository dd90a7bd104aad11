package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gnvcc/install/kits"
)

// A trouble is one row of docs/troubleshooting.md: a script that provokes it and sees what the row
// says, a test that does so elsewhere ("folder TestName"), or why it can't be provoked here.
type trouble struct{ script, elsewhere, not string }

// troubles has every row, by its first cell.
var troubles = map[string]trouble{
	"`lock file: ... line N: a conflict that git has left here`, `it is cut off`": {elsewhere: "cmd/gnvcc TestSharing"},
	"`the lock file records different code`":                                      {elsewhere: "cmd/gnvcc TestSharing"},
	"status, apply or revert: `code of KERNEL that this store does not know`":     {elsewhere: "cmd/gnvcc TestVerbs"},
	"a lock file is not looked at": {script: `
cp k.cu gnvcc.lock
gnvcc doctor
! stdout 'lock file'
env GNVCC_LOCK=$HERE/nosuch.lock
! gnvcc doctor
stdout 'lock file: .*nosuch.lock: no such file'
`},
	"`the shared store ... is left out`": {elsewhere: "cmd/gnvcc TestSharing"},
	"`no nvcc was found`": {script: `
[exists:/usr/local/cuda/bin/nvcc] skip 'there is an nvcc in /usr/local/cuda'
env GNVCC_NVCC=
env CUDA_HOME=
env CUDA_PATH=
env PATH=$HERE
! gnvcc -c k.cu
stderr 'no nvcc was found'
stderr 'install/toolkit'
stderr 'GNVCC_NVCC'
`},
	"`GNVCC_NVCC is ...: that is gnvcc itself`": {script: `
env GNVCC_NVCC=$HERE/gnvcc
! gnvcc -c k.cu
stderr 'GNVCC_NVCC is .*: that is gnvcc itself; set it to the real nvcc'
`},
	"`GNVCC_NVCC is ...: no such program`": {script: `
env GNVCC_NVCC=nosuch
! gnvcc -c k.cu
stderr 'GNVCC_NVCC is .nosuch.: no such program in PATH; set it to the real nvcc'
`},
	"tune: `launched no kernel, or uses no GPU`": {script: `
env TEST_AS_IF_DRIVER=yes
! gnvcc tune -- sh -c 'exit 3'
stderr 'launched no kernel, or uses no GPU'
`},
	"tune: `no NVIDIA driver here`":   {elsewhere: "cmd/gnvcc TestVerbs"},
	"apply: `no builds known in ...`": {elsewhere: "cmd/gnvcc TestVerbs"},
	"tune: `no captured launches`":    {elsewhere: "cmd/gnvcc TestArguments"},
	"report: `nothing decided yet`": {script: `
gnvcc report
stdout 'nothing decided yet.*gnvcc tune'
`},
	"report: `nothing was built with gnvcc in ...`": {script: `
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
gnvcc pin k maxnreg=24
mkdir elsewhere
cd elsewhere
gnvcc report
stdout 'nothing was built with gnvcc in .*/elsewhere; .*gnvcc report --all'
gnvcc report ..
stdout 'maxnreg=24'
gnvcc report --all
stdout 'maxnreg=24'
`},
	"`no such kernel: ...`": {script: `
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
! gnvcc explain nosuch
stderr 'no such kernel: nosuch .*gnvcc status'
`},
	"`... means 2 kernels`": {script: `
exec sh -c 'echo "__global__ void o(float *p) { *p = 1; } __global__ void o(int *p) { *p = 1; }" >o.cu'
gnvcc -arch=sm_90 -cubin o.cu -o o.cubin
! gnvcc pin o maxnreg=40
stderr 'o means 2 kernels: name one of them, or all by --all'
`},
	"`settings: ...gnvcc.toml:3: ...`": {script: `
exec sh -c 'echo lock >gnvcc.toml'
! gnvcc doctor --config
stderr 'settings: .*gnvcc.toml:1: '
`},
	"`CUDA_HOME is ..., which has no bin/nvcc` (doctor, `GNVCC_LOG`)": {script: `
env GNVCC_NVCC= CUDA_HOME=/none CUDA_PATH=$KIT
gnvcc doctor
stdout 'CUDA_HOME is /none, which has no bin/nvcc'
`},
	"apply: `everything that was built with gnvcc has its recipes`": {script: `
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
gnvcc apply
stdout 'everything that was built with gnvcc has its recipes'
gnvcc status
stdout 'k.cubin .*: as wanted'
`},
	"apply leaves a file alone, and names it": {script: `
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
gnvcc pin k maxnreg=40
cp k.cu k.cubin
gnvcc apply
stdout 'left alone: .*k.cubin is not what its recorded command gives.*build it again with gnvcc'
cmp k.cu k.cubin
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
gnvcc apply
stdout 'everything that was built with gnvcc has its recipes'
`},
	"watch: `no builds known here`, `no launches captured yet`": {script: `
exec gnvcc watch &w&
exec sh -c 'until gnvcc watch --status | grep -q "nothing to do"; do sleep 0.1; done'
gnvcc watch --stop
wait w
stderr 'no builds known here: build with gnvcc'
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
exec sh -c 'gnvcc watch 2>w.log & n=0; until [ $n = 300 ] || grep -q "no launches" w.log; do sleep 0.1; n=$((n+1)); done; gnvcc watch --stop; wait'
grep 'no launches captured yet: gnvcc tune -- ./app' w.log
`},
	"watch: a kernel waits for the next run":             {elsewhere: "cmd/gnvcc TestWatchRun"},
	"watch: `resting: ...`":                              {elsewhere: "cmd/gnvcc TestWatchRests"},
	"watch: `is running already`, `another gnvcc watch`": {elsewhere: "cmd/gnvcc TestWatchRests"},
	"watch: folders `are looked at every few seconds`":   {elsewhere: "policy/edits TestEdits"},
	"a recipe is not applied": {script: `
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
gnvcc pin k maxnreg=40
gnvcc pin k --without maxnreg
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
gnvcc status
stdout 'banned'
gnvcc pin k --none
gnvcc pin k maxnreg=40
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
gnvcc status
stdout 'k, sm_90: maxnreg=40'
# Another kernel, another target.
gnvcc -arch=sm_80 -cubin k.cu -o k.cubin
gnvcc status
stdout 'k, sm_80: nvcc.s own'
cp edited k.cu
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
gnvcc status
stdout 'k, sm_90: nvcc.s own'
`},
	"ccache gives old objects": {elsewhere: "examples/buildsystems TestCcache"},
	"no recipes below sccache": {elsewhere: "examples/buildsystems TestSccache"},
	"note: `the program asks the driver for the kernel's registers or occupancy`": {elsewhere: "policy/search TestAsked"},
	"`left alone: nondeterministic`":                                              {elsewhere: "policy/search TestLeftAlone"},
	"`-Xptxas -v` shows nvcc's registers": {script: `
gnvcc -arch=sm_90 -Xptxas -v -cubin k.cu -o k.cubin
cp stderr without
gnvcc pin k maxnreg=24
gnvcc -arch=sm_90 -Xptxas -v -cubin k.cu -o k.cubin
cp stderr with
exec grep -o 'Used [0-9]* registers' without
cp stdout want
exec grep -o 'Used [0-9]* registers' with
cmp stdout want
gnvcc report
stdout 'registers'
`},
	"a verb runs nvcc": {script: `
cp k.cu report
! gnvcc report
stderr 'Don.t know what to do with .report.'
mkdir elsewhere
cd elsewhere
gnvcc report
stdout 'nothing decided yet'
`},
	"the store can't be read": {script: `
env GNVCC_STORE=$WORK/k.cu
! gnvcc doctor
stdout 'problem .*store: .*k.cu'
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
env GNVCC_STORE=$WORK/k.cu/deep/store
! gnvcc doctor
stdout 'problem .*store: .*k.cu'
stdout 'GNVCC_STORE to a folder'
# Damaged, and of a newer gnvcc: driver/testdata/script and driver/accidents.
`},
	"the store grows": {script: `
gnvcc -arch=sm_90 -cubin k.cu -o k.cubin
env GNVCC_MAXSIZE=1K
gnvcc doctor --store
stdout 'at most 1.0 KiB \(GNVCC_MAXSIZE\)'
gnvcc doctor --clean=all
stdout 'removed .* [1-9][0-9]* files of the store'
gnvcc doctor --captures
stdout 'no launches captured yet'
`},
}

// TestTroubleshooting: the table in docs/troubleshooting.md is true, row by row. A row without a
// test, or a test without its row, fails.
func TestTroubleshooting(t *testing.T) {
	kit := kits.Any(t)
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, rows := t.TempDir(), map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, " | ")
		what := strings.TrimPrefix(cells[0], "| ")
		if len(cells) != 3 || !strings.HasPrefix(line, "| ") || what == "what you see" {
			continue
		}
		rows[what] = true
		how, known := troubles[what]
		switch {
		case !known:
			t.Errorf("docs/troubleshooting.md has a row that nothing tries: %s", what)
		case how.elsewhere != "":
			folder, name, _ := strings.Cut(how.elsewhere, " ")
			if !hasTest(t, filepath.Join("../..", folder), name) {
				t.Errorf("%s: there is no %s in %s", what, name, folder)
			}
		case how.script != "":
			name := strings.Trim(regexp.MustCompile(`[^a-zA-Z]+`).ReplaceAllString(what, "_"), "_")
			if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(how.script+troubleFiles),
				0o644); err != nil {
				t.Fatal(err)
			}
		case how.not == "":
			t.Errorf("%s: neither tried nor a reason why not", what)
		}
	}
	for what := range troubles {
		if !rows[what] {
			t.Errorf("docs/troubleshooting.md has no row %q any more", what)
		}
	}
	p := params(kit)
	p.Dir = dir
	testscript.Run(t, p)
}

const troubleFiles = `
-- k.cu --
__global__ void k(float *p, int n) {
  for (int i = threadIdx.x; i < n; i += 32) p[i] = p[i] * 2 + 1;
}
-- edited --
__global__ void k(float *p, int n) {
  for (int i = threadIdx.x; i < n; i += 32) p[i] = p[i] * 3 + 1;
}
`

// hasTest tells whether a folder's tests have one of a name.
func hasTest(t *testing.T, folder, name string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
