package source

// The real compilers for the tests: preprocessing, cicc and ptxas of every toolkit that
// install/toolkit has put on this machine, or of GNVCC_NVCC alone where that is set.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"

	"gnvcc/rewrite/ptx"
)

// eachToolkit runs f for every toolkit there is, and skips aloud where there is none.
func eachToolkit(t *testing.T, f func(t *testing.T, tk kits.Kit)) {
	t.Helper()
	for _, tk := range kits.All(t) {
		t.Run(tk.Version, func(t *testing.T) { f(t, tk) })
	}
}

// newest is the toolkit for tests that one toolkit is enough for.
func newest(t *testing.T) kits.Kit {
	t.Helper()
	all := kits.All(t)
	return all[len(all)-1]
}

// A program is one .cu file in a folder of its own, with the commands that nvcc would run for it.
type program struct {
	kit       kits.Kit
	dir, base string
	env       []string
	gcc, cicc string // sh commands; cicc's input and output are "$1" and "$2"
	ptxas     string
	id        string // of the module, where cicc does not make it
}

// prepare asks nvcc for its commands and preprocesses the file.
func prepare(t *testing.T, tk kits.Kit, cu string, flags ...string) (*program, []byte) {
	t.Helper()
	p := &program{kit: tk, dir: t.TempDir(), base: strings.TrimSuffix(filepath.Base(cu), ".cu")}
	text, err := os.ReadFile(cu)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, p.base+".cu"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	p.env = append(os.Environ(), kits.Short(string(text)))
	args := append([]string{"--dryrun", "--keep", "-arch=sm_90", "-std=c++17", "--extended-lambda"},
		flags...)
	cmd := exec.Command(tk.Nvcc(), append(args, "-c", p.base+".cu")...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("nvcc --dryrun: %v\n%s", err, out)
	}
	for _, line := range strings.Split(string(out), "\n") {
		line = strings.TrimPrefix(line, "#$ ")
		switch {
		case strings.Contains(line, "-D__CUDA_ARCH__=") && strings.Contains(line, " -E "):
			p.gcc = line
		case strings.HasPrefix(line, `"$CICC_PATH/cicc"`) || strings.HasPrefix(line, "cicc "):
			p.cicc = line
		case strings.HasPrefix(line, "ptxas "):
			p.ptxas = line
		case strings.Contains(line, "=") && !strings.Contains(strings.SplitN(line, "=", 2)[0], " "):
			p.env = append(p.env, line)
		}
	}
	if p.gcc == "" || p.cicc == "" || p.ptxas == "" {
		t.Fatalf("nvcc --dryrun does not show its steps:\n%s", out)
	}
	in, o := p.base+".cpp1.ii", p.base+".ptx"
	if !strings.Contains(p.cicc, `"`+in+`"`) || !strings.Contains(p.cicc, `-o "`+o+`"`) {
		t.Fatalf("cicc's command has another form: %s", p.cicc)
	}
	p.cicc = strings.Replace(p.cicc, `"`+in+`"`, `"$1"`, 1)
	p.cicc = strings.Replace(p.cicc, `-o "`+o+`"`, `-o "$2"`, 1)
	p.ptxas = strings.Replace(p.ptxas, `"`+o+`"`, `"$1"`, 1)
	p.ptxas = p.ptxas[:strings.LastIndex(p.ptxas, "-o ")] + `-o "$2"`
	// 12 and later: cudafe++ makes the module id, in a second
	if !strings.Contains(p.cicc, "--gen_module_id_file") {
		p.id = fmt.Sprintf("_98e790d6_%d_%s_cu_887d1ff7", len(p.base+".cu"), p.base)
		if err := os.WriteFile(filepath.Join(p.dir, p.base+".module_id"), []byte(p.id), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.sh(t, p.gcc)
	ii, err := os.ReadFile(filepath.Join(p.dir, in))
	if err != nil {
		t.Fatal(err)
	}
	return p, ii
}

func (p *program) try(command string, args ...string) error {
	if out, err := p.output(command, args...); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, errorsOf(out))
	}
	return nil
}

func (p *program) output(command string, args ...string) (string, error) {
	cmd := exec.Command("sh", append([]string{"-c", command, "sh"}, args...)...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// errorsOf leaves warnings out.
func errorsOf(out string) string {
	var keep []string
	lines := strings.Split(out, "\n")
	for i, l := range lines {
		if strings.Contains(l, "error") || strings.Contains(l, "fatal") {
			keep = append(keep, lines[i:min(i+3, len(lines))]...)
		}
	}
	if len(keep) == 0 {
		return out
	}
	return strings.Join(keep[:min(len(keep), 40)], "\n")
}

func (p *program) sh(t *testing.T, command string, args ...string) {
	t.Helper()
	if err := p.try(command, args...); err != nil {
		t.Fatal(err)
	}
}

// plain reads the file, and what cicc makes of it as it is.
func (p *program) plain(t *testing.T, ii []byte) (*Unit, []byte, *ptx.Module) {
	t.Helper()
	u, err := Parse(ii)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.ptx(t, ii)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u, text, m
}

// ptx runs cicc on a text.
func (p *program) ptx(t *testing.T, text []byte) ([]byte, error) {
	t.Helper()
	command := p.cicc
	if !strings.Contains(command, "-lineinfo") { // the folder, which has another name each time, is not seen
		command = strings.ReplaceAll(command, p.dir, "DIR")
	}
	return p.kit.Compiled("nvcc", []string{command, p.id, string(text)}, func(out string) error {
		if err := os.WriteFile(filepath.Join(p.dir, "in.ii"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		return p.try(p.cicc, "in.ii", out)
	})
}

// cubin runs ptxas on a PTX text.
func (p *program) cubin(t *testing.T, ptx []byte) ([]byte, error) {
	t.Helper()
	return p.kit.Compiled("ptxas", []string{p.ptxas, string(ptx)}, func(out string) error {
		if err := os.WriteFile(filepath.Join(p.dir, "in.ptx"), ptx, 0o644); err != nil {
			t.Fatal(err)
		}
		return p.try(p.ptxas, "in.ptx", out)
	})
}
