package compile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/manner"
	"gnvcc/sim/cubin"
)

var separate = map[string]string{
	"a.cu": "extern __device__ float other(float);\n__device__ int counter = 3;\n" +
		"static __global__ void hidden(float *p, int n) {" + drivertest.Wide +
		"p[0] = other(p[1]) + counter; }\n" +
		"__global__ void shown(float *p, int n) {" + drivertest.Wide + "}\n" +
		"int main() { hidden<<<1, 1>>>(0, 0); shown<<<1, 1>>>(0, 0); }\n",
	"b.cu": "__device__ float other(float x) { return x * x + 1; }\n__global__ void third(float *p) { p[0] = other(p[0]); }\n",
	"c.cc": "int unused() { return 3; }\n",
}

// TestCompiler goes from a loaded cubin back to its sources and forth to candidates.
func TestCompiler(t *testing.T) {
	p := built(t, "13.0", "sm_80", "__global__ void shown(float *p, int n) {"+drivertest.Wide+"}\n"+
		"template <int N> __global__ void many(float *p) { float s = 0; for (int i = 0; i < N; i++) s += p[i]; p[threadIdx.x] = s; }\n"+
		"template __global__ void many<3>(float *);\nint main() { shown<<<1, 1>>>(0, 0); }\n")
	c, s := p.c, p.kernel("_Z5shownPfi")
	if s.Target != "sm_80" || s.Identity == "" || s.Default.Registers == 0 ||
		s.MaxThreads != 1024 || s.NoSource != "" || s.NoSecond != "" ||
		!strings.HasSuffix(s.File, "k.cu") || s.Link != nil {
		t.Errorf("the source: %+v", s)
	}
	ctx := context.Background()
	def, _ := p.made(s, "")
	if def.Build.Registers != s.Default.Registers || def.Entry != "_Z5shownPfi" {
		t.Errorf("the default's candidate is %+v, the default %+v", def, s.Default)
	}
	for text, check := range map[string]func(*Candidate) bool{
		"maxnreg=40": func(c *Candidate) bool { return c.Build.Registers == 40 && c.Build.Spill > 0 },
		"unroll=2":   func(c *Candidate) bool { return c.Entry == "_Z5shownPfi" },
		"maxnreg=48 spec{#1=7,blockDim.x=32}": func(c *Candidate) bool {
			return strings.HasPrefix(c.Entry, "_Z5shownPfi__tuned_") && c.Build.Registers <= 48
		},
		"spec{host(block)=32x1x1,host(dynamic)=0} throttle=3": func(c *Candidate) bool {
			return strings.HasPrefix(c.Entry, "_Z5shownPfi__tuned_") && c.Build == def.Build &&
				c.Manner.Reserve == manner.Reserve{On: true, Dynamic: 1664, Binary: 80}
		},
		// slots for the block that the host looks at
		"spec{host(block)=32x1x1,host(dynamic)=0} demote=48:loops maxnreg=64": func(c *Candidate) bool {
			return strings.HasPrefix(c.Entry, "_Z5shownPfi__tuned_") && c.Build.Registers <= 64 &&
				c.Build.Spill == 0 && c.Build.Shared == 48*4*32
		},
		// ptxas is told the block
		"spec{host(block)=32x1x1,host(dynamic)=0} demote=spill maxnreg=40": func(c *Candidate) bool {
			return c.Build.Registers <= 40 && c.MaxThreads == 32 && c.Build.Shared > 0 &&
				c.Build.Shared < 16<<10
		},
		"spec{host(dynamic)=0} demote=10:loops": func(c *Candidate) bool { // for blocks of any size
			return strings.HasPrefix(c.Entry, "_Z5shownPfi__tuned_") && c.Build.Registers > 0 &&
				c.Build.Shared == 10*4*1024
		},
		"spec{host(block)=32x1x1,host(dynamic)=0}": func(c *Candidate) bool {
			return c.Build == def.Build && c.Manner == manner.Manner{}
		},
	} {
		cand, content := p.made(s, text)
		if !check(cand) {
			t.Errorf("%s: %+v", text, cand)
		}
		if f, err := cubin.Read(content); err != nil || len(f.Kernels) != 1 {
			t.Errorf("%s: the candidate has %v, %v", text, f, err)
		}
	}
	runs, took := c.Spent("ptxas")
	p.made(s, "maxnreg=40")
	if again, _ := c.Spent("ptxas"); again != runs || took == 0 {
		t.Errorf("a candidate that was made before took another ptxas")
	}

	// Many at once: one cicc for all that want the same variant.
	runs, _ = c.Spent("cicc")
	var wg sync.WaitGroup
	for cap := 40; cap < 48; cap++ {
		wg.Go(func() { p.tries(s, map[string]string{fmt.Sprintf("maxnreg=%d unroll=8", cap): ""}) })
	}
	wg.Wait()
	if again, _ := c.Spent("cicc"); again != runs+1 {
		t.Errorf("%d runs of cicc for one variant", again-runs)
	}

	// What can't be.
	p.tries(s, map[string]string{"maxnreg=7": "maxnreg", "spec{#7=7}": "#7", "wonder=1": "wonder"})
	if _, err := c.Kernel(p.hash, "_Z5shownPfi__tuned_01234567"); !errors.Is(err, errSecond) {
		t.Errorf("a second entry: %v", err)
	}
	if _, err := c.Kernel(strings.Repeat("0", 64), "_Z5shownPfi"); err == nil ||
		!strings.Contains(err.Error(), "not built by gnvcc") {
		t.Errorf("another module: %v", err)
	}
	if _, err := c.Kernel(p.hash, "nothing"); err == nil {
		t.Error("a kernel that is not there was found")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Compile(ended, s, drivertest.MustParse(t, "maxnreg=44")); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a compile that was called off: %v", err)
	}
	c.Limit = time.Millisecond
	if _, err := c.Compile(ctx, s, drivertest.MustParse(t, "maxnreg=44")); err == nil {
		t.Error("a compile beyond its limit was taken")
	}
	c.Limit = limitTool
	p.made(s, "maxnreg=44") // a limit once hit is not remembered
}

// TestCompilerLinked is the same through a device link.
func TestCompilerLinked(t *testing.T) {
	for _, version := range []string{"13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, separate)
			p.Gnvcc("-arch=sm_80", "-rdc=true", "-c", "a.cu", "-o", "a.o")
			p.Gnvcc("-arch=sm_80", "-rdc=true", "-c", "b.cu", "-o", "b.o")
			p.Gnvcc("-arch=sm_80", "-rdc=true", "-lib", "b.o", "-o", "libb.a")
			p.Gnvcc("-arch=sm_80", "-rdc=true", "a.o", "c.cc", "libb.a", "-o", "app")
			q := loaded(p, "app", "sm_80")
			s := q.kernel("_Z5shownPfi")
			if s.Link == nil || !strings.Contains(s.NoSecond, "may wait") || !s.Assembly.Reloc {
				t.Errorf("the source: %+v", s)
			}
			for _, text := range []string{"", "maxnreg=40", "unroll=2"} {
				cand, content := q.made(s, text)
				f, err := cubin.Read(content)
				if err != nil || f.Relocatable || len(f.Kernels) != 3 {
					t.Errorf("%q: the candidate is %+v, %v", text, f, err)
				}
				if text == "maxnreg=40" && cand.Build.Registers != 40 {
					t.Errorf("%q: %+v", text, cand)
				}
			}
			q.kernel("_Z5thirdPf")                                  // from an archive
			q.tries(s, map[string]string{"spec{#1=3}": "may wait"}) // a kernel of the file calls what is not known
		})
	}
}

// TestCompilerExternal: a kernel that calls a function of another object gets register caps and
// cache hints, and nothing else. Its link takes every cap, whatever the function has, and gives it
// as many registers as that one.
func TestCompilerExternal(t *testing.T) {
	for _, version := range []string{"11.8", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{
				"a.cu": "#ifdef NARROW\n#define BOUNDS __launch_bounds__(64, 2)\n#else\n#define BOUNDS\n#endif\n" +
					"extern __device__ float outside(float *, int);\n" +
					"__global__ void BOUNDS k(float *p, int n) { float s = 0; for (int i = 0; i < n; i++) s += p[i] * outside(p, i); *p = s; }\n" +
					"extern __device__ void more(float *, int);\n" +
					"__global__ void wide(float *p, int n) { float s = 0;\n#pragma unroll 32\n" +
					"for (int i = 0; i < n; i++) s += p[64 * i] * p[64 * i + 9]; *p = s; more(p, n); }\n" +
					"__global__ void full(float *p, int n) { " + drivertest.Wide + " more(p, n); }\n" +
					"int main() { k<<<1, 1>>>(0, 0); wide<<<1, 1>>>(0, 0); full<<<1, 1>>>(0, 0); }\n",
				"b.cu": "__device__ float outside(float *p, int n) { " + drivertest.Wide +
					" return p[n]; }\n__device__ void more(float *p, int n) { p[n] = n; }\n"})
			p.Gnvcc("-arch=sm_80", "-rdc=true", "-c", "a.cu", "-o", "a.o")
			p.Gnvcc("-arch=sm_80", "-rdc=true", "-DNARROW", "-c", "a.cu", "-o", "n.o")
			p.Gnvcc("-arch=sm_80", "-rdc=true", "-c", "b.cu", "-o", "b.o")
			p.Gnvcc("-arch=sm_80", "-rdc=true", "a.o", "b.o", "-o", "app")
			p.Gnvcc("-arch=sm_80", "-rdc=true", "n.o", "b.o", "-o", "narrow")
			q := loaded(p, "app", "sm_80")
			registers := func(s *Source, text string) int {
				_, content := q.made(s, text)
				f, err := cubin.Read(content)
				if err != nil || f.Relocatable || len(f.Kernels) != 3 {
					t.Fatalf("%q: the candidate is %+v, %v", text, f, err)
				}
				k, _ := f.Kernel(s.Kernel)
				return k.Registers
			}
			k, wide := q.kernel("_Z1kPfi"), q.kernel("_Z4widePfi")
			for _, text := range []string{"", "hint@ld=L1::no_allocate", "hint@ld=L2::128B hint@st=cs", "maxnreg=32",
				"maxnreg=40 hint@st=cs", "maxnreg=200"} {
				if n := registers(k, text); n != registers(k, "") || n < 40 { // as many as outside has
					t.Errorf("%q: %d registers, %d without", text, n, registers(k, ""))
				}
			}
			if own, n := registers(wide, ""), registers(wide, "maxnreg=24"); n > 24 || own < 28 {
				t.Errorf("wide has %d registers under a cap of 24, %d without", n, own)
			}
			const alone = "cache hints alone"
			q.tries(k, map[string]string{"unroll=2": alone, "hint@ld=cs unroll=2": alone, "spec{#1=8}": alone})
			q.tries(q.kernel("_Z4fullPfi"), map[string]string{"maxnreg=24": "local memory"})
			narrow := loaded(p, "narrow", "sm_80")
			narrow.tries(narrow.kernel("_Z1kPfi"), map[string]string{"maxnreg=32": "a bound of its own"})
		})
	}
}
