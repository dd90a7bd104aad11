package compile

import (
	"context"
	"os"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/sim/cubin"
)

// A program is one that was built, and the tuner's compiler for it.
type program struct {
	*drivertest.Project
	c    *Compiler
	hash string // of the cubin that it loads
}

// built builds a program of one file.
func built(t *testing.T, version, arch, text string, flags ...string) *program {
	t.Helper()
	p := drivertest.NewProject(t, version, map[string]string{"k.cu": text})
	p.Gnvcc(append(flags, "-arch="+arch, "k.cu", "-o", "app")...)
	return loaded(p, "app", arch)
}

// loaded is a program of a project.
func loaded(p *drivertest.Project, file, arch string) *program {
	p.T.Helper()
	return &program{p, New(p.Store, p.T.TempDir()), p.Cubin(file, arch)}
}

// kernel finds what a kernel was built from.
func (p *program) kernel(name string) *Source {
	p.T.Helper()
	s, err := p.c.Kernel(p.hash, name)
	if err != nil {
		p.T.Fatal(err)
	}
	return s
}

// made compiles a candidate, and reads its cubin.
func (p *program) made(s *Source, text string) (*Candidate, []byte) {
	p.T.Helper()
	cand, err := p.c.Compile(context.Background(), s, drivertest.MustParse(p.T, text))
	if err != nil {
		p.T.Fatalf("%s: %v", text, err)
	}
	content, err := os.ReadFile(cand.Path)
	if err != nil {
		p.T.Fatal(err)
	}
	return cand, content
}

// code is a candidate's machine code.
func (p *program) code(s *Source, text string) []byte {
	p.T.Helper()
	cand, content := p.made(s, text)
	code, _, err := cubin.ReadCode(content)
	for _, f := range code {
		if f.Name == cand.Entry && err == nil {
			return f.Data
		}
	}
	p.T.Fatalf("%s: %v, %d functions", text, err, len(code))
	return nil
}

// says checks the error of what was tried: why is a part of it, "" for none.
func says(t *testing.T, what string, err error, why string) {
	t.Helper()
	if (err != nil) != (why != "") || err != nil && !strings.Contains(err.Error(), why) {
		t.Errorf("%s: %v, want %q", what, err, why)
	}
}

// tries compiles candidates, each with a part of the reason for which it must be refused, "" for none.
func (p *program) tries(s *Source, recipes map[string]string) {
	p.T.Helper()
	for text, why := range recipes {
		_, err := p.c.Compile(context.Background(), s, drivertest.MustParse(p.T, text))
		if says(p.T, s.Kernel+" "+text, err, why); err != nil && strings.Contains(err.Error(), "\n") {
			p.T.Errorf("%s is refused for two reasons, of which one can't be true: %v", text, err)
		}
	}
}

// rehearses does so with builds.
func (p *program) rehearses(s *Source, text, why string) {
	p.T.Helper()
	_, err := p.c.Rehearse(context.Background(), s, drivertest.MustParse(p.T, text))
	says(p.T, s.Kernel+" "+text, err, why)
}
