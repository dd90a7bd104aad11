// bench/papers without a GPU: its sets, its runner, and made-up programs in the place of HeCBench's
// and of the kernels that are written anew.

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
				folder := filepath.Join(dir, "examples", name)
				write(t, filepath.Join(folder, "Makefile"), strings.ReplaceAll(string(makefile), "CC", "NVCC"))
				write(t, filepath.Join(folder, "main.cu"), better)
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
	results, err = readResults(filepath.Join(out, "sizes.jsonl"))
	largest := slices.ContainsFunc(results, func(r Result) bool { return r.Program == "polybench16384" })
	if err != nil || len(results) != 5 || !largest { // in the order in which they were done
		t.Errorf("sizes: %v, %+v", err, results)
	}
	packed(t, papers, env, dir)
	if out, err := exec.Command("sh", run, "nosuch", out).CombinedOutput(); err == nil {
		t.Errorf("a table that there is not: %s", out)
	}
}

// packed takes what a machine without the clones needs, with a program and a list of the user's
// own, and runs all tables from it, twice.
func packed(t *testing.T, papers string, env []string, dir string) {
	write(t, filepath.Join(dir, "examples/common/example.h"), "")
	more := filepath.Join(dir, "more")
	write(t, filepath.Join(more, "mine-cuda/Makefile"), `main: main.cu
	$(CC) -arch=$(ARCH) -o $@ main.cu
clean:
	rm -f main
run: main
	./main 5
`)
	write(t, filepath.Join(more, "mine-cuda/main.cu"), "echo mine\n")
	write(t, filepath.Join(more, "bypass.txt"), "mine    # ours\nbtree # HeCBench\n")
	pack, out := filepath.Join(dir, "pack"), filepath.Join(dir, "packed")
	env = append(env, "MORE="+more)
	script(t, env, filepath.Join(papers, "run.sh"), "pack", pack)
	for path, want := range map[string]bool{"HeCBench/src/qtclustering-cuda": true,
		"HeCBench/src/particlefilter-cuda": false, "HeCBench/src/spilling-cuda": false,
		"more/mine-cuda": true, "examples/wavefront": true} {
		if _, err := os.Stat(filepath.Join(pack, path)); (err == nil) != want {
			t.Errorf("%s in the pack: %v", path, err)
		}
	}
	env = append(env, "MORE="+filepath.Join(pack, "more"),
		"HECBENCH="+filepath.Join(pack, "HeCBench"), "SEARCH=3")
	for range 2 {
		script(t, env, filepath.Join(pack, "bench/papers/run.sh"), "all", out)
		for table, want := range map[string]int{"regdem": 4, "functions": 5, "bypass": 2,
			"registers": 7, "sync": 3, "sizes": 5} {
			results, err := readResults(filepath.Join(out, table+".jsonl"))
			if err != nil || len(results) != want {
				t.Errorf("%s: %v, %d results", table, err, len(results))
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(out, "doctor.txt")); err != nil || string(text) != "measured\n" {
		t.Errorf("doctor: %q, %v", text, err)
	}
	again := append(env, "BUDGET=0") // the time is up: nothing is begun
	said := script(t, again, filepath.Join(pack, "bench/papers/run.sh"), "regdem",
		filepath.Join(dir, "late"))
	if said != "" {
		t.Errorf("without time: %s", said)
	}
}
