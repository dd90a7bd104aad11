// bench/papers without a GPU: its sets, its runner, and made-up programs in the place of HeCBench's
// and of the kernels that are written anew.

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPapers(t *testing.T) {
	dir, _ := fake(t)
	papers := filepath.Join(dir, "bench/papers")
	if err := os.CopyFS(papers, os.DirFS("../papers")); err != nil {
		t.Fatal(err)
	}
	const better = `row() { [ "$GNVCC_CLOCK" ] && echo "$$,0,\"$1\",8,1,1,128,1,1,0,40,$2,$3,$4,$5" >> "$GNVCC_CLOCK"; }
echo "size $1"; if [ "$FAST" ]; then row k 10 500000 50000 50000; else row k 10 1000000 100000 100000; fi; true
`
	makefile, err := os.ReadFile(filepath.Join(dir, "all/src/better-x/Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	// what a set names is a program written anew, or one of HeCBench's or of the examples
	sets, err := filepath.Glob("../papers/*.txt")
	if err != nil || len(sets) != 5 {
		t.Fatal(sets, err)
	}
	for _, set := range sets {
		text, err := os.ReadFile(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			name, source, _ := strings.Cut(line, "#")
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			source, paper, _ := strings.Cut(strings.TrimSpace(source), " | ")
			if paper == "" {
				t.Errorf("%s: %s: not said what it is in the paper", set, name)
			}
			switch source {
			case "written anew":
				if err := os.WriteFile(filepath.Join(papers, name, name+".cu"), []byte(better), 0o600); err != nil {
					t.Error(err)
				}
			case "examples":
				if _, err := os.Stat(filepath.Join("../../examples", name, "Makefile")); err != nil {
					t.Error(err)
				}
			case "HeCBench":
				folder := filepath.Join(dir, "HeCBench/src", name+"-cuda")
				write(t, filepath.Join(folder, "Makefile"), string(makefile))
				write(t, filepath.Join(folder, "main.cu"), better)
			default:
				t.Errorf("%s: %s: a source %q", set, name, source)
			}
		}
	}
	built := filepath.Join(dir, "built")
	if out, err := exec.Command("go", "build", "-o", built, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write(t, filepath.Join(dir, "suite"), "#!/bin/sh\nexec "+built+` -clock /none -commit x -run-limit 9s "$@"`+"\n")
	if err := os.Chmod(filepath.Join(dir, "suite"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"HECBENCH=" + filepath.Join(dir, "HeCBench"), "NVCC=" + filepath.Join(dir, "nvcc"),
		"GNVCC=" + filepath.Join(dir, "gnvcc"), "SUITE=" + filepath.Join(dir, "suite"),
		"GNVCC_NVCC=" + filepath.Join(dir, "nvcc")}
	run := filepath.Join(papers, "run.sh")
	said := script(t, env, run, "-n", "regdem", filepath.Join(dir, "dry"))
	if strings.Count(said, ": built; would be tuned with --levers maxnreg,smemspill,demote") != 4 {
		t.Errorf("%s", said)
	}
	out := filepath.Join(dir, "out")
	script(t, env, run, "regdem", out)
	results, err := readResults(filepath.Join(out, "regdem.jsonl"))
	if err != nil || len(results) != 4 {
		t.Fatal(err, results)
	}
	for _, r := range results {
		if ratio := r.Ratio(); r.Failed != "" || ratio < 1.9 || ratio > 2.1 {
			t.Errorf("%+v", r)
		}
	}
	script(t, env, run, "sizes", out)
	if found, _ := filepath.Glob(filepath.Join(out, "sizes-*.jsonl")); len(found) != 5 {
		t.Errorf("sizes: %v", found)
	}
	if out, err := exec.Command("sh", run, "nosuch", out).CombinedOutput(); err == nil {
		t.Errorf("a table that there is not: %s", out)
	}
}
