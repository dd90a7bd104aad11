package sass

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// mixed is CUDA that needs most classes of instructions.
const mixed = arithmetic + `
#include <cuda_fp16.h>
extern "C" __global__ void tile(const float4* in, float4* out, int n) {
  __shared__ float4 buffer[256];
  for (int k = 0; k < n; k += 256) {
    buffer[threadIdx.x] = in[k + threadIdx.x];
    __syncthreads();
    float4 v = buffer[255 - threadIdx.x];
    v.x = fminf(v.x, __shfl_xor_sync(~0u, v.y, 3)) + (float)(unsigned char)n;
    out[k + threadIdx.x] = v;
    __syncthreads();
  }
}
extern "C" __global__ void count(const unsigned char* text, unsigned* histogram, long long n, double* sum) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0; __syncthreads();
  for (long long i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&own[text[i]], 1);
  __syncthreads();
  atomicAdd(&histogram[threadIdx.x], own[threadIdx.x]);
  if (own[threadIdx.x] > 7) sum[threadIdx.x] += (double)own[threadIdx.x] * 1.5;
}
extern "C" __global__ void choose(int which, const __half2* h, __half2* out, int* local, const int* at) {
  int table[16]; for (int i = 0; i < 16; i++) table[i] = local[i];
  switch (which) { case 0: table[at[0]] = 5; break; case 1: table[at[1]] = local[3]; break; case 2: table[at[2]] *= 7; break;
    case 3: table[at[3]] = __popc(local[1]); break; case 4: table[at[4]] = __ffs(local[2]); break; default: table[1] = 1 << at[5]; }
  out[threadIdx.x] = __hfma2(h[threadIdx.x], h[threadIdx.x + 32], h[threadIdx.x + 64]);
  local[threadIdx.x & 15] = table[(threadIdx.x + at[6]) & 15];
}
`

// A printed is one instruction as nvdisasm -json prints it.
type printed struct {
	Predicate, Opcode, Operands string
}

type printedFunction struct {
	Name  string    `json:"function-name"`
	Start int       `json:"start"`
	Insts []printed `json:"sass-instructions"`
}

// readPrinted reads the output of nvdisasm -json.
func readPrinted(text []byte) ([]printedFunction, error) {
	var doc []json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil || len(doc) < 2 {
		return nil, fmt.Errorf("no JSON document of nvdisasm: %v", err)
	}
	var out []printedFunction
	return out, json.Unmarshal(doc[1], &out)
}

var (
	targetName = regexp.MustCompile(`0x[0-9a-f]+$`)
	comment    = regexp.MustCompile(`\(\*.*`)
)

// compare tells how an instruction of ours differs from nvdisasm's, "" if it does not.
// Its targets count from base on.
func compare(i *Inst, p printed, functions map[string]int, base int) string {
	if i.op == nil {
		return "unknown"
	}
	if !sameName(i, p.Opcode) {
		return "name " + i.Name()
	}
	guard := ""
	if !i.unguarded() {
		guard = fmt.Sprintf("P%d", i.Guard)
		if i.Guard == always {
			guard = "PT"
		}
		if i.Negated {
			guard = "!" + guard
		}
		guard = "@" + guard
	}
	if strings.Replace(p.Predicate, "UP", "P", 1) != guard && p.Predicate != "PR" { // P2R's operand
		return "guard " + guard
	}
	text := comment.ReplaceAllString(p.Operands, "")
	if w := memoryWidth(i, p.Opcode); w != "" {
		return w
	}
	if i.op.code == 0x147 || i.op.code == 0x145 {
		want, _ := strconv.ParseInt(targetName.FindString(text), 0, 64)
		if int(want) != i.Target && int(want)+base != i.Target {
			return fmt.Sprintf("target %#x", i.Target)
		}
	}
	if i.op.code == 0x144 && i.Form() != 1 {
		if to, ok := functions[text]; ok && to != i.Target {
			return fmt.Sprintf("target %#x, want %#x", i.Target, to)
		}
	}
	return ""
}

func sameName(i *Inst, opcode string) bool {
	ours := strings.Split(i.Name(), ".")[0]
	theirs := strings.Split(opcode, ".")[0]
	switch {
	case ours == theirs:
		return !strings.HasPrefix(i.Name(), "IMAD") ||
			strings.Contains(opcode, ".WIDE") == (i.Name() == "IMAD.WIDE") &&
				strings.Contains(opcode, ".HI") == (i.Name() == "IMAD.HI")
	case ours == "RED" && theirs == "REDG", ours == "UCGABAR" && strings.HasPrefix(theirs, "UCGABAR_"),
		ours == "ERRBAR" && theirs == "CGAERRBAR":
		return true
	}
	return false
}

// memoryWidth compares what a load or store moves with the suffix.
func memoryWidth(i *Inst, opcode string) string {
	switch i.Class() {
	case Load, Store, Constant:
	default:
		return ""
	}
	if i.op.code == 0x03b || i.op.code == 0x1ae {
		return ""
	}
	want := uint8(4)
	for _, s := range strings.Split(opcode, ".")[1:] {
		switch s {
		case "U8", "S8":
			want = 1
		case "U16", "S16":
			want = 2
		case "64":
			want = 8
		case "128":
			want = 16
		}
	}
	if want != i.Bytes {
		return fmt.Sprintf("%d bytes, want %d", i.Bytes, want)
	}
	return ""
}

// tally counts what a comparison found.
type tally struct {
	cubins, insts, unknown int
	wrong                  map[string]int    // by operation and kind
	example                map[string]string // of each
}

func (t *tally) add(cubin []byte, text []byte, name string) error {
	functions, err := Read(cubin)
	if err != nil {
		return err
	}
	theirs, err := readPrinted(text)
	if err != nil {
		return err
	}
	t.cubins++
	for _, p := range theirs {
		var f *Function
		start := p.Start
		for _, x := range functions {
			if x.Name == p.Name {
				f = x
				break
			}
			for _, part := range x.Parts { // up to 13.3 a section's further functions stand for themselves
				if part.Name == p.Name {
					f, start = x, part.Offset
				}
			}
		}
		if f == nil {
			return fmt.Errorf("we have no function %s", p.Name)
		}
		starts := map[string]int{}
		for _, part := range f.Parts {
			starts[part.Name] = part.Offset
		}
		for n, pi := range p.Insts {
			at := start/wordBytes + n
			if at >= len(f.Insts) {
				return fmt.Errorf("%s has %d instructions, nvdisasm prints more", p.Name, len(f.Insts))
			}
			i := &f.Insts[at]
			t.insts++
			d := compare(i, pi, starts, start-p.Start)
			if d == "" {
				continue
			}
			if d == "unknown" {
				t.unknown++
			}
			kind := fmt.Sprintf("%03x %s %s", i.Bits(0, 12), strings.Split(pi.Opcode, ".")[0],
				strings.Fields(d)[0])
			t.wrong[kind]++
			t.example[kind] = fmt.Sprintf("%s %s+%#x (%016x %016x): %s %s %s: %s", name, p.Name, i.Offset,
				i.Hi, i.Lo,
				pi.Predicate, pi.Opcode, pi.Operands, d)
		}
	}
	return nil
}

// TestDecode compares with every installed nvdisasm: operations, guards, widths, targets; and it
// checks the control field, which nvdisasm does not print.
func TestDecode(t *testing.T) {
	archs := []string{"75", "90", "80", "120", "86", "100"}
	for n, kit := range kits.All(t) {
		t.Run(kit.Version, func(t *testing.T) {
			nvdisasm := kit.Tool("nvdisasm")
			if _, err := os.Stat(nvdisasm); err != nil {
				t.Skipf("SKIPPED: no nvdisasm in %s", kit.Dir)
			}
			if help, _ := exec.Command(nvdisasm, "--help").CombinedOutput(); !strings.Contains(string(help),
				"--emit-json") {
				t.Skipf("SKIPPED: nvdisasm of %s prints no JSON", kit.Version)
			}
			ptx := toPTX(t, kit, mixed)
			for _, arch := range []string{archs[2*n%len(archs)], archs[(2*n+1)%len(archs)]} {
				if kit.Version < "12.9" && arch >= "100" || len(arch) > 2 && kit.Version < "12.9" {
					continue
				}
				code := assemble(t, kit, ptx, arch)
				file := filepath.Join(t.TempDir(), "k.cubin")
				if err := os.WriteFile(file, code, 0o600); err != nil {
					t.Fatal(err)
				}
				sum := &tally{wrong: map[string]int{}, example: map[string]string{}}
				if err := sum.add(code, []byte(tool(t, nvdisasm, "-json", file)), arch); err != nil {
					t.Fatal(err)
				}
				sum.report(t)
				if sum.insts < 200 {
					t.Errorf("sm_%s: %d instructions", arch, sum.insts)
				}
				functions, err := Read(code)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range functions {
					for _, problem := range scoreboards(f) {
						t.Errorf("sm_%s %s: %s", arch, f.Name, problem)
					}
				}
			}
		})
	}
}

// scoreboards tells which instructions wait for a scoreboard that none sets, and which loads of
// global memory set none.
func scoreboards(f *Function) (problems []string) {
	set := 0
	for k := range f.Insts {
		set |= 1<<f.Insts[k].Write | 1<<f.Insts[k].Read
	}
	for k := range f.Insts {
		i := &f.Insts[k]
		if i.Wait&^set != 0 {
			problems = append(problems, fmt.Sprintf("%#x waits for %#b, set are %#b", i.Offset, i.Wait, set))
		}
		if i.Name() == "LDG" && i.Write == 7 {
			problems = append(problems, fmt.Sprintf("nothing says when %#x has loaded", i.Offset))
		}
	}
	return problems
}

func (t *tally) report(test *testing.T) {
	test.Helper()
	var kinds []string
	for k := range t.wrong {
		kinds = append(kinds, k)
	}
	sort.Slice(kinds, func(i, j int) bool { return t.wrong[kinds[i]] > t.wrong[kinds[j]] })
	bad := 0
	for _, k := range kinds {
		bad += t.wrong[k]
	}
	test.Logf("%d cubins, %d instructions, %d unknown, %d differ", t.cubins, t.insts, t.unknown, bad)
	for n, k := range kinds {
		if n == 60 {
			break
		}
		test.Errorf("%d times %s: %s", t.wrong[k], k, t.example[k])
	}
}
