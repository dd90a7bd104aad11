package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/shlex"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"gnvcc/install/kits"
)

// The commands that the documents show.

// TestCommands: every command line of gnvcc's in README and docs names a verb that there is, with
// options that it has.
func TestCommands(t *testing.T) {
	code := regexp.MustCompile("(?m)`([^`\n]+)`|^    (.+)$")
	n := 0
	for name, text := range documents(t) {
		if name != "README.md" && !strings.HasPrefix(name, "docs/") {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			for _, command := range regexp.MustCompile(`&&|\||;`).Split(m[1]+m[2], -1) {
				words, err := shlex.Split(strings.NewReplacer("[", "", "]", "", "...", "",
					"--within E", "--within 1e-3").Replace(command))
				if err != nil {
					continue
				}
				for len(words) > 0 && strings.Contains(words[0], "=") {
					words = words[1:]
				}
				if i := slices.Index(words, "gnvcc"); i > 0 && words[0] == "srun" {
					words = words[i:]
				}
				if len(words) < 2 || words[0] != "gnvcc" && !strings.HasPrefix(words[1], "--") {
					continue
				}
				if words[0] == "gnvcc" {
					words = words[1:]
				}
				v := verbNamed(words[0])
				if v == nil {
					if regexp.MustCompile(`^[a-z]+$`).MatchString(words[0]) && strings.Contains(command,
						"gnvcc ") {
						t.Errorf("%s: %s: there is no verb %s", name, command, words[0])
					}
					continue
				}
				n++
				args := words[1:]
				if i := slices.IndexFunc(args, func(w string) bool { return strings.HasPrefix(w, "#") }); i >= 0 {
					args = args[:i]
				}
				if i := slices.IndexFunc(args, func(w string) bool { return strings.HasPrefix(w, ">") }); i >= 0 {
					args = args[:i]
				}
				for i, w := range args { // an option that is named without its value
					if f := v.Flags().Lookup(strings.TrimLeft(w, "-")); f != nil && i == len(args)-1 &&
						f.NoOptDefVal == "" && strings.HasPrefix(w, "-") {
						args = args[:i]
						break
					}
				}
				if err := v.ParseFlags(doubled(v, args)); err != nil && !errors.Is(err, pflag.ErrHelp) {
					t.Errorf("%s: %s: %v", name, command, err)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d commands were found", n)
	}
}

// TestReadmeLoop runs what README begins with, as it stands there, and each verb of its table, in a
// project with a Makefile. Without a GPU the tuner says that nothing was launched.
func TestReadmeLoop(t *testing.T) {
	kit := kits.Any(t)
	for _, tool := range []string{"make", "g++"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: no %s here", tool)
		}
	}
	readme := documents(t)["README.md"]
	var loop []string
	first, _, _ := strings.Cut(readme, "\n## ")
	for _, line := range strings.Split(first, "\n") {
		command, _, _ := strings.Cut(strings.TrimPrefix(line, "    "), "#")
		if strings.HasPrefix(line, "    ") && !strings.HasPrefix(command, "make install") {
			loop = append(loop, strings.TrimSpace(command))
		}
	}
	if len(loop) != 3 {
		t.Fatalf("README's loop has %d commands: %q", len(loop), loop)
	}
	table := regexp.MustCompile("`(gnvcc (?:report|explain|status|apply|revert|predict|doctor|export|lock)[^`]*)`")
	for _, m := range table.FindAllStringSubmatch(readme, -1) {
		loop = append(loop, strings.NewReplacer("KERNEL", "scale", "FILE", "page.html").Replace(m[1]))
	}
	if len(loop) < 11 {
		t.Fatalf("only %q", loop)
	}
	inProject(t, kit, loop, "exists gnvcc.lock app\n! stdout 'unknown'\n")
}

// elsewhere are commands of the documents that can't run as they stand, by how they begin, and what
// runs them otherwise.
var elsewhere = map[string]string{
	"gnvcc watch":                "TestWatchScript", // until it is stopped
	"gnvcc judge":                "TestJudgeVerb",   // an edit, which the project has none of
	"gnvcc bench":                "TestBench",       // captured launches
	"gnvcc captures shrink":      "TestShrink",
	"gnvcc replay":               "TestWork",  // captured launches: on a simulated GPU
	"gnvcc replay --on slurm":    "TestSlurm", // with programs in the place of Slurm's
	"gnvcc work":                 "TestWork",
	"gnvcc import recipes.json":  "TestVerbs",    // import.txtar: what was measured on a GPU
	"gnvcc push":                 "TestRegistry", // a registry at another address
	"gnvcc pull":                 "TestRegistry",
	"make install":               "TestMakeInstall",
	"make uninstall":             "TestMakeInstall",
	"cmake -B build -DCMAKE_PRO": "TestCMakeModule",
}

// TestDocumentsRun runs the commands that README and docs show, document by document as they stand
// there, and the first column of docs/use.md's tables of verbs: those that are not run elsewhere.
func TestDocumentsRun(t *testing.T) {
	kits.Long(t, "TestCommands parses these commands, TestReadmeLoop runs README's")
	kit := kits.Any(t)
	for _, tool := range []string{"make", "g++", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: no %s here", tool)
		}
	}
	shown := regexp.MustCompile("(?m)^    ((?:[A-Z_]+=\\S+ )?(?:gnvcc|make|cmake|git|nsys|ncu) .+)$|^\\| `(gnvcc [^`]+)`")
	used, n := map[string]bool{}, 0
	for name, text := range documents(t) {
		if name != "README.md" && !strings.HasPrefix(name, "docs/") {
			continue
		}
		var lines []string
		for _, m := range shown.FindAllStringSubmatch(text, -1) {
			command, _, _ := strings.Cut(m[1]+m[2], " #")
			if strings.HasPrefix(command, "gnvcc lock 1") || m[2] != "" && name != "docs/use.md" {
				continue // a lock file's first line; README's table has TestReadmeLoop
			}
			begins := ""
			for b := range elsewhere {
				if strings.HasPrefix(command, b) && len(b) > len(begins) {
					begins = b
				}
			}
			if used[begins] = true; begins != "" {
				continue
			}
			if other := filepath.Join(filepath.Dir(kit.Dir), "13.5"); strings.Contains(command, " 13.5") {
				if _, err := os.Stat(other); err != nil {
					t.Logf("SKIPPED: %s: there is no %s (install/toolkit 13.5)", command, other)
					continue
				}
			}
			lines = append(lines, strings.NewReplacer("[", "", "]", "", "FOLDER or FILE", ".", "KERNEL", "scale",
				"FOLDER", ".", "FILE", "gnvcc.lock", "RECIPE", "maxnreg=40", "LEVER", "ld", "make ",
				"touch app.cu && make ").Replace(strings.TrimSpace(command)))
		}
		if n += len(lines); len(lines) > 0 {
			t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
				begin := []string{"git init -q -b main", "git add .", "git -c user.name=a -c user.email=a@b commit -qm a", "make NVCC=gnvcc", "gnvcc pin scale maxnreg=40"}
				inProject(t, kit, append(begin, lines...), "exists app\n")
			})
		}
	}
	if n < 35 {
		t.Errorf("only %d commands were run", n)
	}
	for begins, test := range elsewhere {
		if !used[begins] {
			t.Errorf("no document has %s", begins)
		}
		files := []string{"-rlE", "func " + test + `\(t \*testing`, "--include=*_test.go", "..", "../../install"}
		if out, err := exec.Command("grep", files...).Output(); test != "" && (err != nil || len(out) == 0) {
			t.Errorf("%s: there is no %s", begins, test)
		}
	}
}

// inProject runs commands in a project with a Makefile, and then more of testscript's.
func inProject(t *testing.T, kit kits.Kit, lines []string, more string) {
	script := "env PATH=$HERE:$PATH\nexec sh run.sh\n" + more + "-- run.sh --\nset -eux\n" +
		strings.Join(lines, "\n") +
		"\n-- Makefile --\nNVCC ?= nvcc\napp: app.o\n\t$(NVCC) -arch=sm_90 -o $@ $<\napp.o: app.cu\n\t$(NVCC) -arch=sm_90 -O3 -c -o $@ $<\n" +
		"-- app.cu --\n__global__ void scale(float *p) { p[threadIdx.x] *= 2; }\nint main() { scale<<<1, 32>>>(nullptr); }\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shown.txtar"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	p := params(kit)
	p.Dir = dir
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv(asIfDriver, "yes")
		e.Setenv("GNVCC_TOOLKITS", filepath.Dir(kit.Dir))
		return setup(e)
	}
	testscript.Run(t, p)
}
