package search

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/install/kits"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// underCaps compiles one kernel under caps with the real ptxas; "maxnreg=33" is one that can't be
// compiled.
type underCaps struct {
	policy.Compiler
	ptxas, ptx, dir string
}

func (c underCaps) Kernel(module, kernel string) (*policy.Kernel, error) { return nil, nil }

func (c underCaps) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error) {
	n, capped := r.Get("maxnreg", "")
	if !capped {
		n = "64"
	}
	if n == "33" {
		return nil, errors.New("it is refused")
	}
	out := filepath.Join(c.dir, n+".cubin")
	if n == "34" {
		return &policy.Candidate{Path: out}, os.WriteFile(out, []byte("no cubin"), 0o600)
	}
	return &policy.Candidate{Path: out}, exec.Command(c.ptxas, "-arch=sm_90", "-maxrregcount="+n,
		c.ptx, "-o", out).Run()
}

// Many values wait while one byte after the other is read: more resident warps are predicted to
// help.
const chase = `extern "C" __global__ void chase(const float *in, const unsigned char *next, float *out, int n) {
  float keep[36];
#pragma unroll
  for (int k = 0; k < 36; k++) keep[k] = in[k * 1024 + threadIdx.x];
  int at = threadIdx.x;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) at = next[at];
  float x = at;
#pragma unroll
  for (int k = 0; k < 36; k++) x = fmaf(x, keep[k], x);
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
`

// TestPredicted: caps stand in the order that machine code predicts, and no value is lost.
func TestPredicted(t *testing.T) {
	kit := kits.Need(t, "13.0")
	dir := t.TempDir()
	source, ptx := filepath.Join(dir, "k.cu"), filepath.Join(dir, "k.ptx")
	if err := os.WriteFile(source, []byte(chase), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(kit.Nvcc(), "-arch=compute_90", "-ptx", "-o", ptx, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p := newPool(t.Context(), underCaps{ptxas: kit.Ptxas(), ptx: ptx, dir: dir}, 2)
	defer p.Close()
	d, _ := sim.Lookup(90)
	s := &search{t: &Run{pool: p, now: time.Now}, k: &kernel{}, ctx: t.Context(),
		compileBy: time.Now().Add(time.Minute)}
	s.k.Name, s.k.CC = "chase", 90
	s.sit = &lever.Situation{Kernel: &s.k.Kernel, Known: true, Device: d,
		Shape: policy.Shape{Grid: [3]int{1 << 14, 1, 1}, Block: [3]int{256, 1, 1}}}
	list := func(values ...string) (out []recipe.Recipe) {
		for _, v := range values {
			name, value, _ := strings.Cut(v, "=")
			out = append(out, lever.Term(name, value))
		}
		return out
	}
	text := func(list []recipe.Recipe) string {
		var out []string
		for _, r := range list {
			out = append(out, r.String())
		}
		return strings.Join(out, " ")
	}
	caps := list("maxnreg=255", "maxnreg=33", "maxnreg=40", "maxnreg=34", "maxnreg=32")
	if got := text(s.predicted(caps)); got != "maxnreg=32 maxnreg=40 maxnreg=255 maxnreg=33 maxnreg=34" {
		t.Errorf("predicted: %s", got)
	}
	if hints := list("hint@ld=cs", "hint@ld=L2::256B"); text(s.predicted(hints)) != text(hints) {
		t.Error("hints, of which nothing can be predicted, have another order")
	}
	shapes := list("shape=32x1x1", "shape=1024x1x1", "shape=128x1x1")
	for i, r := range shapes {
		shapes[i] = lever.Join(mustParse(t, "spec{host(block)=256x1x1}"), r)
	}
	// 64 registers: 32 warps are resident in blocks of any of these sizes; the last ones of the grid
	// leave most room idle in the largest
	var order []int
	for _, r := range s.predicted(shapes) {
		order = append(order, rewrite.Shape(r)[0])
	}
	if !slices.Equal(order, []int{128, 32, 1024}) {
		t.Errorf("shapes: %v", order)
	}
	s.k.CC = 999
	if text(s.predicted(caps)) != text(caps) {
		t.Error("an unknown architecture's caps have another order")
	}
	s.k.CC, s.k.Name = 90, "another"
	if text(s.predicted(caps)) != text(caps) {
		t.Error("files without the kernel have another order")
	}
}
