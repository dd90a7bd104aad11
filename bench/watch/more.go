package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gnvcc/bench/watch/script"
)

// A check is one of the things that only a real GPU shows.
type check struct {
	What    string
	Seconds float64
	Wrong   string // "": as it should be
}

// more does them one after the other.
func (b *bench) more(p *script.Project, nvcc string) error {
	for _, c := range []struct {
		what string
		do   func(*script.Project, string) (wrong string, err error)
	}{
		{"the user's own build has the recipes, and leaves nvcc's bits", sameBits},
		{"an edited kernel that faults on the captured launch", faults},
		{"another process uses the GPU", yields},
		{"a new name: the program is run after the build", newName},
	} {
		begun := time.Now()
		wrong, err := c.do(p, nvcc)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		r := check{c.what, time.Since(begun).Seconds(), wrong}
		b.More = append(b.More, r)
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
func sameBits(p *script.Project, nvcc string) (string, error) {
	if err := p.Build(); err != nil {
		return "", err
	}
	status, err := p.Command(p.Gnvcc, "status").Output()
	if err != nil {
		return "", err
	}
	if out, err := p.Command(nvcc, "-O3", "-arch=sm_90", "-o", "plain",
		"many.cu").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	want, err := p.Command("./plain").Output()
	if err != nil {
		return "", err
	}
	got, err := p.Command("./many").Output()
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
func faults(p *script.Project, nvcc string) (string, error) {
	from, to := "out[i] = sum;\n}\n\n// Kernel 6.",
		"out[(size_t)i + (1ull << 38)] = sum;\n}\n\n// Kernel 6."
	before, err := p.Now()
	if err != nil {
		return "", err
	}
	r, err := p.Do(script.Edit{Name: "a fault", Tuned: []int{5}, Do: func(p *script.Project) error {
		return p.Replace("many.cu", from, to)
	}})
	if err != nil {
		return "", err
	}
	if len(r.Done) != 1 || r.Done[0].Kernel != script.Name(5) || r.Done[0].Why == "" ||
		r.Done[0].Recipe != "" {
		return fmt.Sprintf("%+v", r), nil
	}
	fmt.Println("  left alone:", r.Done[0].Why)
	if _, err := p.Do(script.Edit{Do: func(p *script.Project) error {
		return p.Replace("many.cu", to, from)
	}}); err != nil {
		return "", err
	}
	after, err := p.Now()
	if n := after.Candidates[script.Name(5)] - before.Candidates[script.Name(5)]; n != 0 {
		return fmt.Sprintf("%d candidates were measured", n), err
	}
	return "", err
}

// busy is a program that uses the GPU for some seconds.
const busy = `__global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) {} }
int main() { for (int i = 0; i < 40; i++) { spin<<<1, 1>>>(200000000); if (cudaDeviceSynchronize() != cudaSuccess) return 1; } }
`

// yields edits a kernel while another process uses the GPU.
func yields(p *script.Project, nvcc string) (string, error) {
	if err := os.WriteFile(filepath.Join(p.Dir, "busy.cu"), []byte(busy), 0o644); err != nil {
		return "", err
	}
	if out, err := p.Command(nvcc, "-arch=sm_90", "-o", "busy", "busy.cu").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	other := p.Command("./busy")
	if err := other.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	var over time.Time
	go func() { err := other.Wait(); over = time.Now(); ended <- err }()
	time.Sleep(1500 * time.Millisecond) // its context is made by then
	if err := script.Constant(2, 999).Do(p); err != nil {
		return "", err
	}
	s, err := p.Until(func(s script.Status) bool { return s.Paused != "" })
	if err != nil {
		return "", err
	}
	fmt.Println("  resting:", s.Paused)
	if err := <-ended; err != nil {
		return "", err
	}
	s, err = p.Until(func(s script.Status) bool { return s.Idle })
	if err == nil && (len(s.Done) == 0 || s.Done[0].Kernel != script.Name(2) ||
		s.Done[0].When.Before(over)) {
		return fmt.Sprintf("%+v, and the other process ended at %v", s.Done, over), nil
	}
	return "", err
}

// newName gives a kernel another name, builds, and waits until the program was run for it.
func newName(p *script.Project, nvcc string) (string, error) {
	if err := p.Stop(); err != nil {
		return "", err
	}
	p.Watch = []string{"--run", "./many"}
	if err := p.Start(); err != nil {
		return "", err
	}
	waits := func(s script.Status) bool {
		for _, x := range s.Waiting {
			if strings.Contains(x.Kernel, "last") {
				return true
			}
		}
		return false
	}
	if err := p.Change("many.cu", func(text string) string {
		return strings.NewReplacer("void k12(", "void last(", "k12<<<", "last<<<").Replace(text)
	}); err != nil {
		return "", err
	}
	if _, err := p.Until(waits); err != nil {
		return "", err
	}
	if err := p.Build(); err != nil {
		return "", err
	}
	_, err := p.Until(func(s script.Status) bool { return s.Idle && !waits(s) })
	return "", err
}
