package merge

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/sim/cubin"
)

// One translation unit, compiled as it is (FACTOR 1) and as a source variant would be: other loops,
// other literals numbered anew, a device function that differs and is not inlined.
const source = `
#include <cstdio>
constexpr int factor = FACTOR;
__constant__ float scale[4] = {1, 2, 3, 4};
__device__ int counter;
__device__ __noinline__ float poly(float x, int n) {
  #pragma unroll factor
  for (int i = 0; i < n; i++) x = x * x + scale[i & 3];
  return x;
}
__device__ __noinline__ float chain(float x, int n) { return poly(x, n) + 1; }
__device__ inline float g(float x) { return x + 3; }
static __device__ __noinline__ float same(float x) { return x * 7; }
__global__ void first(float *a, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
#if FACTOR > 1
  if (n < 0) printf("a literal of the variant\n");
#endif
  a[0] = same(g(s[n]));
  printf("hello %f\n", a[0]);
}
__global__ void second(float *a, int n) {
  extern __shared__ float d[];
  d[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = chain(d[n], n) + same(d[0]);
  atomicAdd(&counter, 1);
}
template <class T> __global__ void third(T *a, int n) {
  #pragma unroll factor
  for (int i = 0; i < n; i++) a[i] = g(a[i]);
}
template __global__ void third<float>(float *, int);
template __global__ void third<double>(double *, int);
`

func compile(t *testing.T, k ptxtest.Toolkit, factor string, flags ...string) []byte {
	t.Helper()
	return compileText(t, k, source, factor, flags...)
}

func compileText(t *testing.T, k ptxtest.Toolkit, source, factor string, flags ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.cu"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(k.Nvcc(), append([]string{"-arch=sm_80", "-ptx", "-DFACTOR=" + factor, "a.cu",
		"-o", "a.ptx"}, flags...)...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "a.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func assemble(t *testing.T, k ptxtest.Toolkit, module []byte, flags ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.ptx")
	if err := os.WriteFile(in, module, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(k.Ptxas(), append(flags, "-arch=sm_80", in, "-o",
		filepath.Join(dir, "o.cubin"))...).CombinedOutput()
	if err != nil {
		t.Fatalf("ptxas: %v\n%s\n%s", err, out, module)
	}
	content, err := os.ReadFile(filepath.Join(dir, "o.cubin"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func read(t *testing.T, text []byte) *ptx.Module {
	t.Helper()
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestInto(t *testing.T) {
	for _, k := range ptxtest.Toolkits(t) {
		for _, mode := range []struct {
			name        string
			nvcc, ptxas []string
		}{
			{"plain", nil, nil},
			{"lineinfo", []string{"-lineinfo"}, []string{"-lineinfo"}},
			{"rdc", []string{"-rdc=true"}, []string{"-c"}},
		} {
			t.Run(k.Version+"/"+mode.name, func(t *testing.T) {
				base, variant := compile(t, k, "1", mode.nvcc...), compile(t, k, "4", mode.nvcc...)
				old, from := read(t, base), read(t, variant)
				var all []Variant
				for _, entry := range []string{"_Z5firstPfi", "_Z6secondPfi", "_Z5thirdIfEvPT_i"} {
					all = append(all, Variant{Entry: entry, Module: from}, Variant{Entry: entry, Second: entry +
						"__second", Module: from})
				}
				for _, some := range [][]Variant{all, all[:1], all[3:4], all[4:]} {
					m, refused, err := Into(old, some)
					if err != nil || len(refused) > 0 {
						t.Fatal(err, refused)
					}
					assemble(t, k, m.Bytes(), mode.ptxas...)
					if want := old.Entry("_Z5thirdIdEvPT_i").Text(); !bytes.Equal(
						m.Entry("_Z5thirdIdEvPT_i").Text(), want) {
						t.Error("a kernel that was not asked for has changed")
					}
					for _, v := range some {
						before, _ := old.Traits(v.Entry)
						if after, err := m.Traits(v.key()); err != nil || after.SharedStatic != before.SharedStatic ||
							after.SharedDynamic != before.SharedDynamic {
							t.Errorf("%s is not there, or has other shared memory: %v", v.key(), err)
						}
					}
				}
				m, _, _ := Into(old, all[:1])
				out := m.Bytes()
				if mode.name != "rdc" && !strings.Contains(string(out), "__v0_") {
					t.Error("the variant's literals have no names of their own")
				}
				if mode.name == "lineinfo" && strings.Count(string(out), "inlined_at") == 0 {
					t.Error("inlining has left the line information")
				}
			})
		}
	}
}

func TestIntoRefuses(t *testing.T) {
	const head = ".version 8.0\n.target sm_80\n.address_size 64\n"
	const k = ".visible .entry k(\n.param .u64 k_param_0\n)\n{\nret;\n}\n"
	const use = ".visible .entry k(\n.param .u64 k_param_0\n)\n{\n.reg .b64 %rd<2>;\nmov.u64 %rd1, x;\nret;\n}\n"
	for name, c := range map[string]struct{ base, variant, second string }{
		"no such kernel":        {head, head + k, ""},
		"not in the variant":    {head + k, head, ""},
		"other parameters":      {head + k, head + strings.Replace(k, ".u64 k_param_0", ".u32 k_param_0", 1), ""},
		"other target":          {head + k, strings.Replace(head, "sm_80", "sm_90", 1) + k, ""},
		"a variable of its own": {head + k, head + ".global .u32 x;\n" + use, ""},
		"another variable":      {head + ".global .u32 x;\n" + k, head + ".global .u64 x;\n" + use, ""},
		"the name is taken":     {head + k, head + k, "k"},
		"other launch bounds":   {head + k, head + strings.Replace(k, ")\n{", ")\n.maxntid 64\n{", 1), ""},
		"a function's address":  {head + ".func f()\n{\nret;\n}\n" + strings.Replace(use, ", x", ", f", 1), head + ".func f()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, 1;\nret;\n}\n" + strings.Replace(use, ", x", ", f", 1), ""},
	} {
		base := read(t, []byte(c.base))
		out, refused, err := Into(base, []Variant{{Entry: "k", Second: c.second, Module: read(t, []byte(c.variant))}})
		if err != nil || len(refused) != 1 || out != base || string(out.Bytes()) != c.base {
			t.Errorf("%s: not refused (%v, %v)", name, refused, err)
		}
	}
}

// TestNames: functions and constants that a variant brings have names that no other object's can
// have, and no linkage by which a device linker could put another object's in their place.
func TestNames(t *testing.T) {
	const head = ".version 7.8\n.target sm_80\n.address_size 64\n"
	const entry = ".visible .entry k(\n.param .u64 k_param_0\n)\n{\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n" +
		"mov.u64 %rd1, table;\ncall.uni g, ();\nret;\n}\n"
	module := func(linkage, constant, body string) []byte {
		return []byte(head + ".const .align 4 .u32 table = " + constant + ";\n" + linkage + " .func g()\n{\n.reg .b32 %r<2>;\n" + body + "ret;\n}\n" + entry)
	}
	for _, linkage := range []string{".weak", ".visible", ""} {
		names := map[string]bool{}
		base := read(t, module(linkage, "1", ""))
		for _, body := range []string{"mov.u32 %r1, 1;\n", "mov.u32 %r1, 2;\n"} {
			m, refused, err := Into(base, []Variant{{Entry: "k", Module: read(t, module(linkage, "2", body))}})
			if err != nil || len(refused) > 0 {
				t.Fatal(err, refused)
			}
			r, err := m.Reach("k")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Funcs[1:] {
				if f.Linkage != "" {
					t.Errorf("%s is .%s", f.Name, f.Linkage)
				}
				if f.Name == "g" || names[f.Name] {
					t.Errorf("%s is the name of another function", f.Name)
				}
				names[f.Name] = true
			}
			for _, g := range r.Globals {
				if g.Name == "table" || names[g.Name] {
					t.Errorf("%s is the name of another variable", g.Name)
				}
				names[g.Name] = true
			}
			for _, k := range ptxtest.Toolkits(t) {
				assemble(t, k, m.Bytes(), "-c")
			}
		}
		if len(names) != 4 {
			t.Errorf("%q: %d names, 4 are wanted", linkage, len(names))
		}
	}
}

// TestOthersKeepTheirCode: a second entry whose kernel prints and asserts leaves the machine code of all
// kernels of the file as nvcc made it, with the places in the table of addresses that they read.
func TestOthersKeepTheirCode(t *testing.T) {
	const text = `
#include <cstdio>
#include <cassert>
constexpr int factor = FACTOR;
__device__ int shown[4];
__device__ __noinline__ int deep(int i) { if (i == 9) printf("deep %s\n", "9"); return i * shown[i & 3]; }
#if FACTOR == 1 // the variant has its own kernel alone, and numbers its literals anew
__global__ void before(int n, int *o) { if (o[n] == 3) printf("before %d\n", n); assert(o[1] == 3); }
#endif
__global__ void mid(int n, int *o) {
#pragma unroll factor
  for (int i = 0; i < n; i++) { o[i] += deep(i); if (o[i] == 3) printf("%d mid\n", n); assert(o[i]); }
}
#if FACTOR == 1
__global__ void after(int n, int *o) { if (o[n] == 3) printf("after %d\n", n); assert(o[1] == 4); shown[n] = n; }
__global__ void last(int n, int *o) { if (o[n] == 3) printf("after %s\n", "str"); o[n] = shown[n]; }
#endif
`
	for _, k := range ptxtest.Toolkits(t) {
		t.Run(k.Version, func(t *testing.T) {
			base, variant := compileText(t, k, text, "1"), compileText(t, k, text, "4")
			m, refused, err := Into(read(t, base), []Variant{{Entry: "_Z3midiPi", Second: "second",
				Module: read(t, variant)}})
			if err != nil || len(refused) > 0 {
				t.Fatal(err, refused)
			}
			merged := codeOf(t, assemble(t, k, m.Bytes()))
			if merged["second"] == nil {
				t.Fatal("there is no second entry")
			}
			for name, code := range codeOf(t, assemble(t, k, base)) {
				if !bytes.Equal(code, merged[name]) {
					t.Errorf("%s has other machine code", name)
				}
			}
		})
	}
}

// codeOf are a cubin's functions.
func codeOf(t *testing.T, file []byte) map[string][]byte {
	t.Helper()
	code, _, err := cubin.ReadCode(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range code {
		out[f.Name] = f.Data
	}
	return out
}
