package judge

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/install/kits"
	"gnvcc/sim/emulate"
)

// compiled is a source's one kernel, k, by the real compiler.
func compiled(t *testing.T, text string) Code {
	t.Helper()
	dir := t.TempDir()
	file, out := filepath.Join(dir, "k.cu"), filepath.Join(dir, "k.cubin")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(kits.Any(t).Nvcc(), "-arch=sm_90", "-w", "-cubin", "-o", out, file)
	cmd.Env = append(os.Environ(), kits.Short(text))
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return Code{b, "k"}
}

const keeper = `
extern "C" __global__ void k(int *p, const int *q, int n) {
  __shared__ int s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  s[threadIdx.x] = i < n ? q[i] : 0;
  __syncthreads();
  if (i < n) p[i] = s[63 - threadIdx.x] * 3 + i;
  atomicAdd(p + 300, 1);
}`

// TestJudge: wrong edits, among them those that try to look right, and harmless ones.
func TestJudge(t *testing.T) {
	b, err := NewBench(t.Context(), compiled(t, keeper), Signature{Types: []string{"int*", "int*"}}, Shape{
		Grid: [3]int{4, 1, 1}, Block: [3]int{64, 1, 1}, Bytes: 1 << 12, Rounds: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	// What it wrote at the second launch of one program is there at the third: an edit that takes it
	// from there would go through, were it not overwritten.
	p := b.launches[0]
	again := &prepared{what: "a repeated launch", memory: p.after[0].Clone(), launch: p.launch,
		types: p.types}
	if err := b.add(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	over := b.poisoned(t.Context(), again)
	if over == nil {
		t.Fatal("nothing was stored")
	}
	if err := b.add(t.Context(), over); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ name, from, to, how, why string }{
		{"a comment", "__shared__", "/* tile */ __shared__", Same, ""},
		{"another order of a sum", "* 3 + i", "+ i + 2 * s[63 - threadIdx.x]", Same, ""},
		{"a missing barrier", "__syncthreads();", "", Different, "#0["},
		{"off by one", "if (i < n) p", "if (i <= n) p", Different, "#0["},
		{"a race of blocks", "atomicAdd(p + 300, 1);", "p[300] += 1;", Different, "#0[300]"},
		{"a store left out", "if (i < n) p[i] = s[63 - threadIdx.x] * 3 + i;", "", Different, "#0["},
		{"a result that is taken from where it was", "if (i < n) p[i] = s[63 - threadIdx.x] * 3 + i;",
			"if (i < n) p[i] = p[i];", Different, "#0["},
		{"behind the end", "p[i] =", "p[i + 4096] =", Faults, "there is nothing"},
		{"behind the end by one", "p + 300, 1", "p + 1024, 1", Faults, "there is nothing"},
		{"no end", "int i = b", "while (n != -77) __nanosleep(n ^= 0); int i = b", Hangs,
			"it may never end"},
		{"shared memory that nobody wrote", "__syncthreads();",
			"__syncthreads(); __shared__ int u[64]; if (n > 0 && u[threadIdx.x] == -1) i += 64;", Different,
			"#0["},
		{"a barrier for half of the threads", "__syncthreads();",
			"if (threadIdx.x < 32) __syncthreads();", Different, "#0["},
		{"a smaller block", "void k", "void __launch_bounds__(32) k", Faults, "blocks of 64 threads"},
		{"other parameters", "int n)", "int n, int m)", Refused, "parameters"},
		{"state", "int i = b", "if (done[blockIdx.x]) return; if (threadIdx.x == 63) done[blockIdx.x] = 1; int i = b",
			Different, "it keeps something from one launch to the next"},
	} {
		if i%2 == 1 && !kits.Every() {
			continue
		}
		text := strings.Replace(keeper, c.from, c.to, 1)
		if text == keeper {
			t.Fatalf("%s: nothing is edited", c.name)
		}
		v, err := b.Judge(context.Background(), compiled(t, "__device__ int done[8];\n"+text), Within{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if v.How != c.how || v.Equal != (c.how == Same) || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: %+v, want %s (%s)", c.name, v, c.how, c.why)
		}
		if v.Equal && (v.Launches != 5 || v.Orders != len(orders)) {
			t.Errorf("%s: %d launches", c.name, v.Launches)
		}
	}
}

// TestWithin: numbers that are near, in the first element that is not; a zero's sign is a
// difference; integers are never near.
func TestWithin(t *testing.T) {
	memory := func(word byte) *emulate.Memory {
		m := emulate.NewMemory()
		m.Allocate("#0", []byte{0, 0, 0, 0, word, 0, 0x80, 0x3f}) // 0, about 1
		return m
	}
	a, b := memory(0), memory(9)
	for _, c := range []struct {
		is     string
		within Within
		beyond bool
	}{{"float*", Within{}, true}, {"float*", Within{Relative: 1e-5}, false},
		{"float*", Within{Absolute: 1e-5}, false}, {"float*", Within{Relative: 1e-7}, true},
		{"int*", Within{Relative: 1}, true}} {
		d := Compare(a, b, map[string]string{"#0": c.is}, nil, c.within)
		if d == nil || d.beyond != c.beyond || d.Index != 1 || d.Argument != "#0" || d.Elements != 1 {
			t.Errorf("%s %+v: %+v", c.is, c.within, d)
		}
	}
	zero := memory(0)
	zero.Buffers()[0].Bytes[3] = 0x80
	if d := Compare(a, zero, map[string]string{"#0": "float"}, nil, Within{}); d == nil || !d.beyond {
		t.Errorf("the sign of a zero: %+v", d)
	}
	if d := Compare(a, memory(0), nil, nil, Within{}); d != nil {
		t.Errorf("the same: %+v", d)
	}
}

// TestSame: other data of the code's own is no same code.
func TestSame(t *testing.T) {
	table := func(n string) Code {
		return compiled(t, `__device__ int table[4] = {1, 2, 3, `+n+`};
extern "C" __global__ void k(int *p) { p[threadIdx.x] = table[threadIdx.x & 3]; table[0] = 5; }`)
	}
	if table("4").Same(table("5")) {
		t.Error("another table is the same code")
	}
	if one := compiled(t, keeper); !one.Same(compiled(t, "// a comment\n"+keeper)) {
		t.Error("a comment is other code")
	} else if one.Same(compiled(t, strings.Replace(keeper, "void k", "void __launch_bounds__(64) k", 1))) {
		t.Error("other launch bounds are the same")
	}
}

// TestTies: equal numbers, on which a comparison that is almost the same decides otherwise.
func TestTies(t *testing.T) {
	const text = `extern "C" __global__ void k(int *p, const float *q) {
  int i = blockIdx.x * 64 + threadIdx.x;
  p[i] = q[i] < 0.25f;
}`
	b, err := NewBench(t.Context(), compiled(t, text), Signature{Types: []string{"int*", "float*"}}, Shape{
		Grid: [3]int{4, 1, 1}, Block: [3]int{64, 1, 1}, Bytes: 1 << 12, Rounds: Kinds, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	v, err := b.Judge(context.Background(), compiled(t, strings.Replace(text, "<", "<=", 1)), Within{})
	if err != nil || v.How != Different {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestStops: launches of the original and of an edit end when nobody waits for them any more, also
// such that take minutes; blocks with more shared memory than there is are no launch.
func TestStops(t *testing.T) {
	const text = `extern "C" __global__ void k(int *p, const int *q, int n) {
  int x = 0;
  for (int i = 0; i < 20000; i++) x = x * 3 + q[i % 64];
  if (blockIdx.x == 0) p[threadIdx.x] = x;
}`
	s := Signature{Types: []string{"int*", "int*"}}
	shape := Shape{Grid: [3]int{1 << 19, 1, 1}, Block: [3]int{64, 1, 1}, Bytes: 1 << 12, Rounds: Kinds}
	code, endless := compiled(t, text), compiled(t, strings.Replace(text, "i < 20000", "i > -1", 1))
	few := shape
	few.Grid[0], few.Rounds = 4, 1
	for what, do := range map[string]func(ctx context.Context) error{
		"the original": func(ctx context.Context) error {
			_, err := NewBench(ctx, code, s, shape)
			return err
		},
		"an edit": func(ctx context.Context) error {
			b, err := NewBench(context.Background(), code, s, few)
			if err != nil || len(b.launches) == 0 {
				t.Fatal(err, b.Skipped)
			}
			b.launches[0].steps = 1 << 40
			_, err = b.Judge(ctx, endless, Within{})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if what == "an edit" { // the original runs first; all steps that an edit may take are some 4 s
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		}
		begun := time.Now()
		if err := do(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s: it took %v", what, took)
		}
		cancel()
	}
	few.Dynamic = 1 << 30
	b, err := NewBench(t.Context(), code, s, few)
	if err != nil || len(b.launches) > 0 || !strings.Contains(b.Skipped[0], "shared memory can't be had") {
		t.Errorf("a gigabyte of shared memory: %v, %+v", err, b)
	}
}
