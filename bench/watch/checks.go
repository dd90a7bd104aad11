package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A check is one of the things that only a real GPU shows.
type check struct {
	What    string
	Seconds float64
	Wrong   string // "": as it should be
}

// checks does them one after the other.
func (b *bench) checks(p *project) error {
	for _, c := range []struct {
		what string
		do   func(*project) (wrong string, err error)
	}{
		{"the user's own build has the recipes, and leaves nvcc's bits", b.sameBits},
		{"an edited kernel that faults on the captured launch", faults},
		{"another process uses the GPU", b.yields},
		{"a new name: the program is run after the build", newName},
	} {
		begun := time.Now()
		wrong, err := c.do(p)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		r := check{c.what, time.Since(begun).Seconds(), wrong}
		b.Checks = append(b.Checks, r)
		word := "PASS"
		if wrong != "" {
			word = "FAIL"
			b.wrong++
		}
		fmt.Printf("%s %s: %.1f s %s\n", word, r.What, r.Seconds, r.Wrong)
	}
	return nil
}

// sameBits builds with gnvcc and with nvcc, and compares what the programs print: hashes of what
// each kernel left.
func (b *bench) sameBits(p *project) (string, error) {
	if err := p.build(p.gnvcc, "many"); err != nil {
		return "", err
	}
	status, err := p.command(p.gnvcc, "status").Output()
	if err != nil {
		return "", err
	}
	if err := p.build(b.nvcc, "plain"); err != nil {
		return "", err
	}
	want, err := p.command("./plain").Output()
	if err != nil {
		return "", err
	}
	got, err := p.command("./many").Output()
	switch {
	case err != nil:
		return "", err
	case !bytes.Equal(got, want):
		return fmt.Sprintf("other bits: %q, want %q", got, want), nil
	case !strings.Contains(string(status), "="):
		return fmt.Sprintf("no recipe is in the build: %s", status), nil
	}
	return "", nil
}

// faults edits a kernel so that it writes where nothing is, and back.
func faults(p *project) (string, error) {
	from, to := "out[i] = sum;\n}\n\n// Kernel 6.",
		"out[(size_t)i + (1ull << 38)] = sum;\n}\n\n// Kernel 6."
	r, err := p.edit(func() error { return p.replace(from, to) })
	if err != nil {
		return "", err
	}
	if len(r.done) != 1 || r.done[0].Kernel != mangled(5) || r.done[0].Why == "" ||
		r.done[0].Recipe != "" {
		return fmt.Sprintf("%+v", r), nil
	}
	fmt.Println("  left alone:", r.done[0].Why)
	r, err = p.edit(func() error { return p.replace(to, from) })
	if n := r.candidates[mangled(5)]; n != 0 {
		return fmt.Sprintf("%d candidates were measured", n), err
	}
	return "", err
}

// busy is a program that uses the GPU for some seconds.
const busy = `__global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) {} }
int main() { for (int i = 0; i < 40; i++) { spin<<<1, 1>>>(200000000); if (cudaDeviceSynchronize() != cudaSuccess) return 1; } }
`

// yields edits a kernel while another process uses the GPU.
func (b *bench) yields(p *project) (string, error) {
	if err := p.write("busy.cu", busy); err != nil {
		return "", err
	}
	if err := p.run(b.nvcc, "-arch=sm_90", "-o", "busy", "busy.cu"); err != nil {
		return "", err
	}
	other := p.command("./busy")
	if err := other.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	var over time.Time
	go func() { err := other.Wait(); over = time.Now(); ended <- err }()
	time.Sleep(1500 * time.Millisecond) // its context is made by then
	if err := p.constant(2, 999); err != nil {
		return "", err
	}
	s, err := p.until(func(s status) bool { return s.Paused != "" })
	if err != nil {
		return "", err
	}
	fmt.Println("  resting:", s.Paused)
	if err := <-ended; err != nil {
		return "", err
	}
	s, err = p.until(func(s status) bool { return s.Idle })
	if err == nil && (len(s.Done) == 0 || s.Done[0].Kernel != mangled(2) ||
		s.Done[0].When.Before(over)) {
		return fmt.Sprintf("%+v, and the other process ended at %v", s.Done, over), nil
	}
	return "", err
}

// newName gives a kernel another name, builds, and waits until the program was run for it.
func newName(p *project) (string, error) {
	if err := p.stop(); err != nil {
		return "", err
	}
	p.watch = []string{"--run", "./many"}
	if err := p.start(); err != nil {
		return "", err
	}
	waits := func(s status) bool {
		return slices.ContainsFunc(s.Waiting, func(x struct{ Kernel, Why string }) bool {
			return strings.Contains(x.Kernel, "last")
		})
	}
	if err := p.change(func(text string) string {
		return strings.NewReplacer("void k12(", "void last(", "k12<<<", "last<<<").Replace(text)
	}); err != nil {
		return "", err
	}
	if _, err := p.until(waits); err != nil {
		return "", err
	}
	if err := p.build(p.gnvcc, "many"); err != nil {
		return "", err
	}
	_, err := p.until(func(s status) bool { return s.Idle && !waits(s) })
	return "", err
}
