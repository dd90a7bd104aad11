// From gnvcc's start to nvcc's: a fake nvcc that only exits, run alone and through gnvcc.

package overhead

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"gnvcc/bench/lab"
)

// A Start is what the face costs, milliseconds, one entry a pair.
type Start struct {
	Face  []float64 // gnvcc -c x.cu, up to the end of the fake nvcc
	Alone []float64 // the fake nvcc
}

func (s Start) differences() []float64 {
	out := make([]float64, len(s.Face))
	for i := range out {
		out[i] = s.Face[i] - s.Alone[i]
	}
	return out
}

func (s Start) median() float64 { return lab.Median(s.differences()) }
func (s Start) high() float64   { return lab.Quantile(s.differences(), 0.95) }

func (s Start) String() string {
	return fmt.Sprintf("\nstart to exec of nvcc: %.2f ms median, %.2f ms at the 95th percentile"+
		" (%d starts, the fake's own %.2f ms taken off; the goal is 5 ms)\n"+
		"nvcc is a fake here, which only exits: it is gnvcc's own start that is measured",
		s.median(), s.high(), len(s.Face), lab.Median(s.Alone))
}

func (b builder) start(ctx context.Context, n int) (Start, error) {
	dir := filepath.Join(b.work, "faketoolkit")
	fake := filepath.Join(dir, "bin", "nvcc")
	if err := os.MkdirAll(filepath.Dir(fake), 0o755); err != nil {
		return Start{}, err
	}
	for name, text := range map[string]string{"fake.c": "int main(void) { return 0; }\n",
		"bin/nvcc.profile": "", "x.cu": "__global__ void k() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return Start{}, err
		}
	}
	if out, err := exec.CommandContext(ctx, "cc", "-O1", "-o", fake,
		filepath.Join(dir, "fake.c")).CombinedOutput(); err != nil {
		return Start{}, fmt.Errorf("build the fake nvcc: %w\n%s", err, out)
	}
	var s Start
	env := []string{"GNVCC_NVCC=" + fake, "GNVCC_STORE=" + filepath.Join(dir, "store")}
	for i := -5; i < n; i++ {
		var took [2]time.Duration
		for j := range took {
			which := (i + j) & 1 // who goes first changes
			compiler := fake
			if which == 1 {
				compiler = b.gnvcc
			}
			r := lab.Step{Argv: []string{compiler, "-O3", "-arch=sm_90", "-c", "x.cu", "-o", "x.o"},
				Dir: dir, Env: env, Limit: 10 * time.Second}.Run(ctx)
			if r.Err != nil {
				return Start{}, r.Err
			}
			took[which] = r.Wall
		}
		if i < 0 {
			continue
		}
		s.Alone = append(s.Alone, float64(took[0])/1e6)
		s.Face = append(s.Face, float64(took[1])/1e6)
	}
	return s, nil
}
