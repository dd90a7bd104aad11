package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite"
)

// Every lever has an example in which it wins and one in which it must not be adopted: README.md's
// table names them. Whether that is so is measured on a GPU, by bench/suite.
func TestLeversHaveExamples(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := list(t)
	rows := map[string]bool{}
	last := ""
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z]+) \| (.*) \| (.*) \|$`).FindAllStringSubmatch(
		string(text), -1) {
		if m[1] == "lever" {
			continue
		}
		if m[1] <= last {
			t.Errorf("%s stands behind %s", m[1], last)
		}
		rows[m[1]], last = true, m[1]
		none := regexp.MustCompile(`No example is known in which ([a-z]+ or )?` + m[1] + ` `)
		wins, must := strings.Split(m[2], ", "), strings.Split(m[3], ", ")
		// said, and why
		if m[2] == "-" && none.MatchString(string(text)) {
			wins = nil
		}
		for _, name := range append(wins, must...) {
			if !slices.Contains(names, name) {
				t.Errorf("lever %s: there is no example %q", m[1], name)
			}
		}
		for _, name := range wins {
			if slices.Contains(must, name) {
				t.Errorf("lever %s: %s stands on both sides", m[1], name)
			}
		}
	}
	for _, p := range rewrite.Levers() {
		if !rows[p.Lever] {
			t.Errorf(
				"no example for lever %s: README.md wants a line with one in which it wins and one in which it must not be adopted", p.Lever)
		}
		delete(rows, p.Lever)
	}
	for lever := range rows {
		t.Errorf("README.md has examples for lever %s, which does not exist", lever)
	}
}

// compiled gives a program's PTX, and what ptxas -v says of it with some change.
func compiled(t *testing.T, name string, change func(ptx string) string) (ptx, said string) {
	t.Helper()
	compiler := nvcc(t, "13.0")
	dir := t.TempDir()
	file := filepath.Join(dir, "x.ptx")
	run(t, true, compiler, "-O3", "-arch=sm_90", "-Icommon", "-ptx", "-o", file,
		filepath.Join(name, name+".cu"))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(change(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(filepath.Dir(compiler), "ptxas"), "-v", "-arch=sm_90", "-o",
		filepath.Join(dir, "x.cubin"), file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(text), string(out)
}

// The programs that show what a lever works on must have it: registers that spill, and no longer do
// with shared memory.
func TestExamplesHaveTheirCause(t *testing.T) {
	same := func(ptx string) string { return ptx }
	if _, said := compiled(t, "bounded", same); !regexp.MustCompile(
		` [1-9][0-9]+ bytes spill stores`).MatchString(said) {
		t.Errorf("bounded does not spill:\n%s", said)
	}
	_, said := compiled(t, "bounded", func(ptx string) string {
		return strings.Replace(ptx, "\n{", "\n{\n.pragma \"enable_smem_spilling\";", 1)
	})
	if !regexp.MustCompile(` (0|-[0-9]+) bytes spill stores`).MatchString(said) ||
		!regexp.MustCompile(`[1-9][0-9]+ bytes smem`).MatchString(said) {
		t.Errorf("bounded's spills find no room in shared memory:\n%s", said)
	}
}
