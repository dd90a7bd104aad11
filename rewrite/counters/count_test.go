package counters

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// Every ptxas takes the counting kernels of a source with guards, loops, generic addresses, wide
// accesses, atomics and barriers; blocks and accesses are those of nvcc's own PTX.
func TestCount(t *testing.T) {
	source := filepath.Join(t.TempDir(), "k.cu")
	text := `
__global__ void loop(const float *a, float *b, const int *n) {
  float s = 0;
  for (int i = threadIdx.x; i < *n; i += blockDim.x) s += a[i * 2];
  if (s > 1) atomicAdd(b, s);
}
__global__ void wide(const float4 *a, float4 *b, char *p) {
  __shared__ float4 t[64];
  t[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = t[63 - threadIdx.x];
  char *q = threadIdx.x & 1 ? p : (char *)t;
  q[threadIdx.x] = 1;
}
__device__ int counter;
__device__ __noinline__ float called(float x) { return x > 1 ? x * counter : 2; }
__global__ void caller(float *p) { for (int i = 0; i < 9; i++) p[i] = called(p[i]); }
__global__ void variable(int n) { counter = n; }
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
			out, c, err := Insert(m, e.Name, Counting{30, Caches{200<<10 - 1080, 50<<20 + 8}})
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
				continue
			}
			if _, err := kit.Assemble(t, out, "-arch=sm_80"); err != nil {
				t.Errorf("%s: %v\n%s", e.Name, err, out)
			}
			blocks, err := e.Blocks()
			if err != nil {
				t.Fatal(err)
			}
			adds := strings.Count(string(out), "red.global.add.u64 [%gnvcc_ct")
			called := 0
			if e.Name == "_Z6callerPf" {
				f, err := m.Func("_Z6calledf").Blocks()
				if err != nil {
					t.Fatal(err)
				}
				called = len(f)
			}
			ends := strings.Count(string(e.Text()), "\tret;") // nvcc guards none
			if strings.Count(string(out), "red.global.max.u64 [%gnvcc_ct") != ends || ends == 0 {
				t.Errorf("%s: %d ends", e.Name, ends)
			}
			if c.Blocks != len(blocks)+called || adds != c.Blocks+each*len(c.Accesses)+len(c.Shared)+ends ||
				len(c.Accesses) == 0 {
				t.Errorf("%s: %d blocks, %d accesses, %d additions; the kernel has %d blocks", e.Name,
					c.Blocks, len(c.Accesses), adds, len(blocks))
			}
			stride := regexp.MustCompile(`mad.wide.u32 %gnvcc_cl, %gnvcc_c0, (\d+),`).FindSubmatch(out)
			if n, _ := strconv.Atoi(string(stride[1])); n%4 != 0 || n == 0 {
				t.Errorf("%s: a picture of L1 takes %d bytes: its words are not aligned", e.Name, n)
			}
			if !strings.Contains(string(out), ".maxnreg 32") {
				t.Errorf("%s: more registers than nvcc's own: a launch may fail", e.Name)
			}
		}
		if string(m.Bytes()) != string(in) {
			t.Error("the module was changed")
		}
	}
}

// Other spaces are not counted, guards and modifiers don't hide an access.
func TestCounted(t *testing.T) {
	m, err := ptx.Parse([]byte(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.reg .f64 %d<3>;
	.shared .align 4 .b8 s[16];
	ld.param.u64 %rd1, [p];
	ld.shared.u32 %r1, [s];
	@!%p1 ld.global.nc.L1::no_allocate.v2.u32 {%r1,%r2}, [%rd1+-8];
	st.u32 [%rd1], %r1;
	atom.shared.add.u32 %r1, [s], 1;
	st.shared.v2.f64 [%rd2+16], {%d1,%d2};
	red.global.add.u32 [%rd1+4], %r1;
	cp.async.ca.shared.global [s], [%rd1], 16;
	@!%p1 ret;
	exit;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	out, c, err := Insert(m, "k", Counting{})
	if err != nil {
		t.Fatal(err)
	}
	var is []string
	for _, a := range c.Accesses {
		is = append(is, strings.Fields(string(m.Entry("k").Opcode(a.Stmt)))[0])
	}
	want := "ld.global.nc.L1::no_allocate.v2.u32 st.u32 red.global.add.u32 cp.async.ca.shared.global"
	if got := strings.Join(is, " "); got != want {
		t.Errorf("%s", got)
	}
	for _, text := range []string{"add.s64 %gnvcc_ca, %gnvcc_ca, -8;", "not.pred %gnvcc_cq, %p1;",
		"@%gnvcc_cq isspacep.global", "\t@!%p1 red.global.max.u64", "\tred.global.max.u64",
		"cvt.u32.u64 %gnvcc_c4, %rd2;", "shr.u32 %gnvcc_c4, %gnvcc_c4, 4;",
		"add.u64 %gnvcc_cw, %gnvcc_cw, 9;"} {
		if strings.Count(string(out), text) != 1 {
			t.Errorf("no %q in\n%s", text, out)
		}
	}
	table := make([]byte, c.Size())
	binary.LittleEndian.PutUint64(table, 5)
	binary.LittleEndian.PutUint64(table[c.stride()*3:], 300)
	binary.LittleEndian.PutUint64(table[c.stride()-56:], 7) // the last access' lines
	binary.LittleEndian.PutUint64(table[c.stride()-48:], 3) // and what was written
	binary.LittleEndian.PutUint64(table[c.stride()-24:], 9) // turns of the last shared one
	for sm, work := range []uint64{40, 50, 30} {
		binary.LittleEndian.PutUint64(table[c.stride()*(sm+1)-16:], work)
		binary.LittleEndian.PutUint64(table[c.stride()*(sm+1)-8:], work/10)
	}
	if w := c.Work(table); w != (Work{All: 120, Longest: 5, Busiest: 50}) {
		t.Errorf("%+v", w)
	}
	blocks, sectors, turns, err := c.Sum(table)
	if err != nil || len(blocks) != 2 || blocks[0] != 305 || len(sectors) != 4 ||
		sectors[3].Lines != 7 || sectors[3].Written != 3 || len(turns) != 3 || turns[2] != 9 {
		t.Errorf("%v, %v, %v, %v", blocks, sectors, turns, err)
	}
	if _, _, _, err := c.Sum(table[8:]); err == nil {
		t.Error("a table of another size is taken")
	}
}

// What can't be counted is refused, with the reason.
func TestCountRefuses(t *testing.T) {
	head := ".version 8.0\n.target sm_80\n.address_size 64\n"
	body := ".visible .entry k()\n{\n\tret;\n}\n"
	for text, want := range map[string]string{
		strings.Replace(head, "sm_80", "sm_60", 1) + body: "match",
		strings.Replace(head, "64", "32", 1) + body:       "addresses of 32 bits",
		head + ".global .b8 gnvcc_counts[8];\n" + body:    "names that begin with gnvcc_c",
		head + strings.Replace(body, " k(", " other(", 1): "no such kernel",
	} {
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Insert(m, "k", Counting{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
