package bypass

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// Every ptxas takes the sampling kernels of a source with early ends, loops, barriers and calls,
// with no more registers than nvcc's own has room for.
func TestSampleReal(t *testing.T) {
	source := filepath.Join(t.TempDir(), "k.cu")
	text := `
__global__ void loop(const float *a, float *b, const int *n) {
  if (threadIdx.x > 3 * *n) return;
  float s = 0;
  for (int i = threadIdx.x; i < *n; i += blockDim.x) s += a[i * 2];
  if (s > 1) { atomicAdd(b, s); return; }
  b[1] = s;
}
__global__ void shared(const float4 *a, float4 *b, int n) {
  __shared__ float4 t[64];
  if (blockIdx.x * 64 + threadIdx.x >= n) return;
  t[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = t[63 - threadIdx.x];
}
__device__ __noinline__ float called(const float *x) { return *x > 1 ? *x : 2; }
__global__ void caller(float *p) { for (int i = 0; i < 9; i++) p[i] = p[i + 9] + called(p + i); }
__global__ void asm_exit(const float *p, float *q) {
  float x = p[threadIdx.x];
  if (x > 1) asm volatile("exit;");
  q[threadIdx.x] = x;
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kit := range ptxtest.Toolkits(t) {
		in := kit.PTX(t, source, "-arch=sm_80")
		m, err := ptx.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Entries() {
			out, err := Sample(m, e.Name, Sampling{Thresholds: []int{1, 2, 3}, Window: 16, Registers: 30})
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
				continue
			}
			if _, err := kit.Assemble(t, out, "-arch=sm_80"); err != nil {
				t.Errorf("%s: %v\n%s", e.Name, err, out)
			}
			ends := 0
			for i := range e.Stmts {
				if b := string(e.Base(i)); b == "ret" || b == "exit" {
					ends++
				}
			}
			if n := strings.Count(string(out), "red.global.add.u64 [%gnvcc_sd0+16]"); n != ends ||
				n == 0 {
				t.Errorf("%s: %d ends are looked at, %d there are", e.Name, n, ends)
			}
			if !strings.Contains(string(out), ".maxnreg 32") {
				t.Errorf("%s: more registers than nvcc's own: it is another launch", e.Name)
			}
		}
		if string(m.Bytes()) != string(in) {
			t.Error("the module was changed")
		}
	}
}

const sampleHead = ".version 8.0\n.target sm_80\n.address_size 64\n"

// What comes out, word for word: a guarded end and a plain one, a load that may bypass and one with
// a policy of its own.
func TestSampleText(t *testing.T) {
	m, err := ptx.Parse([]byte(sampleHead + `.visible .entry k(.param .u64 p)
{
	.reg .pred %p<2>;
	.reg .f32 %f<3>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [p];
	@%p1 ret;
	ld.global.f32 %f1, [%rd1];
	ld.global.cs.f32 %f2, [%rd1];
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Sample(m, "k", Sampling{Thresholds: []int{1, 2, 5}, Window: 16})
	if err != nil {
		t.Fatal(err)
	}
	add := func(sign bool, lanes string) string {
		text := `mov.u64 %gnvcc_sd0, gnvcc_samples;
	mad.wide.u32 %gnvcc_sd0, %gnvcc_s3, 24, %gnvcc_sd0;
	activemask.b32 %gnvcc_s0;
	popc.b32 %gnvcc_s1, %gnvcc_s0;
	cvt.u64.u32 %gnvcc_sd1, %gnvcc_s1;
	mov.u32 %gnvcc_s1, %lanemask_lt;
	and.b32 %gnvcc_s1, %gnvcc_s1, %gnvcc_s0;
	setp.eq.u32 %gnvcc_sp, %gnvcc_s1, 0;
	@%gnvcc_sp red.global.add.u64 [%gnvcc_sd0+` + lanes + `], %gnvcc_sd1;
	mov.u64 %gnvcc_sd2, %clock64;
	mul.lo.u64 %gnvcc_sd2, %gnvcc_sd2, %gnvcc_sd1;
	`
		if sign {
			text += "neg.s64 %gnvcc_sd2, %gnvcc_sd2;\n\t"
		}
		return text + "@%gnvcc_sp red.global.add.u64 [%gnvcc_sd0], %gnvcc_sd2;"
	}
	want := sampleHead[:len(sampleHead)-1] + `
.global .align 8 .b8 gnvcc_samples[18432];
.global .align 4 .u32 gnvcc_thresholds[3] = {1, 2, 5};
.visible .entry k(.param .u64 p)
{
	.reg .pred %p<2>;
	.reg .f32 %f<3>;
	.reg .b64 %rd<2>;
	.reg .pred %gnvcc_sp;
	.reg .b32 %gnvcc_s<4>;
	.reg .b64 %gnvcc_sd<3>;
	mov.u32 %gnvcc_s2, %smid;
	rem.u32 %gnvcc_s2, %gnvcc_s2, 192;
	mov.u64 %gnvcc_sd2, %clock64;
	shr.u64 %gnvcc_sd2, %gnvcc_sd2, 15;
	cvt.u32.u64 %gnvcc_s3, %gnvcc_sd2;
	and.b32 %gnvcc_s1, %gnvcc_s3, 1;
	setp.eq.u32 %gnvcc_sp, %gnvcc_s1, 1;
	shr.u32 %gnvcc_s3, %gnvcc_s3, 1;
	add.u32 %gnvcc_s3, %gnvcc_s3, %gnvcc_s2;
	rem.u32 %gnvcc_s3, %gnvcc_s3, 3;
	mov.u64 %gnvcc_sd0, gnvcc_thresholds;
	mad.wide.u32 %gnvcc_sd0, %gnvcc_s3, 4, %gnvcc_sd0;
	ld.global.u32 %gnvcc_s1, [%gnvcc_sd0];
	` + strings.Join(belowThreshold("%gnvcc_s1"), "\n\t") + `
	selp.b32 %gnvcc_s3, %gnvcc_s3, 3, %gnvcc_sp;
	mad.lo.u32 %gnvcc_s3, %gnvcc_s2, 4, %gnvcc_s3;
	` + add(true, "8") + `
	ld.param.u64 %rd1, [p];
	@!%p1 bra $gnvcc_s0;
	` + add(false, "16") + `
	ret;
	$gnvcc_s0:
	@%gnvcc_bp ld.global.f32 %f1, [%rd1];
	@!%gnvcc_bp ld.global.L1::no_allocate.f32 %f1, [%rd1];
	ld.global.cs.f32 %f2, [%rd1];
	` + add(false, "16") + `
	ret;
}
`
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// Tables are read as they were written, or as what came since; what is not looked at is passed
// over.
func TestSampled(t *testing.T) {
	o := Sampling{Thresholds: []int{1, 2, 4}}
	table, before := make([]byte, o.Size()), make([]byte, o.Size())
	put := func(b []byte, cell int, words ...uint64) {
		for n, w := range words {
			binary.LittleEndian.PutUint64(b[24*cell+8*n:], w)
		}
	}
	start := uint64(1000) // the clock at entry
	for cell := range 8 {
		cycles := uint64(100 * (cell + 1))
		put(table, cell, (start+cycles)*64-start*64, 64, 64)
	}
	put(before, 2, 30*64, 32, 32)
	parts, err := o.Read(table, nil)
	if err != nil || len(parts) != 6 { // two cells are for what is not looked at
		t.Fatalf("%v, %v", parts, err)
	}
	for n, p := range parts {
		want := Sampled{Multiprocessor: n / 3, Threshold: []int{1, 2, 4}[n%3],
			Cycles: float64(100 * (n + 1 + n/3)), Lanes: 64}
		if p != want {
			t.Errorf("%+v, not %+v", p, want)
		}
	}
	parts, err = o.Read(table, before)
	if err != nil || parts[2].Cycles != (300*64-30*64)/32 || parts[2].Lanes != 32 {
		t.Errorf("%+v, %v", parts, err)
	}
	put(table, 5, 600*64, 64, 63) // a lane has not ended
	if _, err := o.Read(table, nil); err == nil {
		t.Error("lanes that did not end are passed over")
	}
	if _, err := o.Read(table[1:], nil); err == nil {
		t.Error("a table of another size is taken")
	}
}

// What can't be sampled is refused, with the reason.
func TestSampleRefuses(t *testing.T) {
	load := "\t.reg .b64 %rd<2>;\n\t.reg .f32 %f<2>;\n\tld.global.f32 %f1, [%rd1];\n"
	body := ".visible .entry k()\n{\n" + load + "\tret;\n}\n"
	two := []int{1, 2}
	for _, c := range []struct {
		text, want string
		list       []int
	}{
		{strings.Replace(sampleHead, "sm_80", "sm_60", 1) + body, "L1::no_allocate", two},
		{strings.Replace(sampleHead, "64", "32", 1) + body, "addresses of 32 bits", two},
		{sampleHead + ".global .b8 gnvcc_samples[8];\n" + body, "names that begin", two},
		{sampleHead + ".visible .entry k()\n{\n\tret;\n}\n", "no load", two},
		{sampleHead + strings.Replace(body, " k(", " other(", 1), "no such kernel", two},
		{sampleHead + body, "1 thresholds", two[:1]},
		{sampleHead + ".func f()\n{\n\texit;\n}\n" +
			strings.Replace(body, "\tret;", "\tcall f;\n\tret;", 1), "ends the thread", two},
	} {
		m, err := ptx.Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Sample(m, "k", Sampling{Thresholds: c.list, Window: 16})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}
