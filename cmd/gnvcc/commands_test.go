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
				v, _, err := root().Find(words[:1])
				if err != nil {
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
				if err := v.ParseFlags(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
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
		if strings.HasPrefix(line, "    ") && !strings.HasPrefix(command, "make install") && !strings.HasPrefix(command, "pip install") {
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
