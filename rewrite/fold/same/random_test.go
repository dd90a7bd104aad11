package same

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
	"gnvcc/rewrite/ptx/ptxtest"
)

// A writer writes random kernels: loops in loops, conditions, a local array, sums and products.
type writer struct {
	r     *rand.Rand
	out   strings.Builder
	depth int
	loops []string
}

func (w *writer) pick(list ...string) string { return list[w.r.IntN(len(list))] }

func (w *writer) leaf() string {
	k := "1"
	if len(w.loops) > 0 {
		k = w.loops[w.r.IntN(len(w.loops))]
	}
	switch w.r.IntN(17) {
	case 16:
		return "o[t+" + w.pick("4", "8", "12") + "]" // perhaps what was stored
	case 0:
		return "x"
	case 1:
		return "y"
	case 2:
		return "(float)n"
	case 3:
		return "(float)" + k
	case 4:
		return w.pick("1.0f", "2.0f", "0.1f", "0.5f", "-1.0f", "0.0f", "3.0f")
	case 5, 6:
		return "a[t+" + k + "]"
	case 7:
		return "b[" + k + "]"
	case 8:
		return w.pick("w", "u") + "[" + k + "&3]"
	case 9, 10:
		return "p[t+" + k + "]." + w.pick("x", "y")
	}
	return w.pick("v0", "v1", "v2", "v3")
}

func (w *writer) expr(depth int) string {
	if depth == 0 {
		return w.leaf()
	}
	a, b := w.expr(w.r.IntN(depth)), w.expr(depth-1)
	switch w.r.IntN(20) {
	case 0:
		return "__sinf(" + a + ")"
	case 1:
		return "__expf(" + a + ")"
	case 2:
		return "__fdividef(" + a + ", " + b + ")"
	case 3:
		return "(" + a + " / " + b + ")"
	case 4:
		return w.pick("fminf", "fmaxf") + "(" + a + ", " + b + ")"
	case 5:
		return "(" + a + " > " + b + " ? " + w.leaf() + " : " + w.leaf() + " * " + w.leaf() + ")"
	case 6:
		return "sqrtf(" + a + ")"
	case 7:
		return w.pick("fabsf(", "-(", "expf(", "rsqrtf(") + a + ")"
	case 8, 9, 10, 11:
		return "(" + a + " + " + b + ")"
	case 12, 13:
		return "(" + a + " - " + b + ")"
	}
	return a + " * " + b
}

func (w *writer) line(text string) { w.out.WriteString(text + "\n") }

// begin begins a kernel.
func (w *writer) begin(n int) {
	w.line(fmt.Sprintf("extern \"C\" __global__ void k%d(float *__restrict__ o, "+
		"const float *__restrict__ a, const float *__restrict__ b, "+
		"float x, float y, int n, int m) {", n))
}

func (w *writer) block(n int) {
	for range n {
		v := w.pick("v0", "v1", "v2", "v3")
		switch c := w.r.IntN(12); {
		case c < 2 && w.depth < 2:
			k := "k" + strconv.Itoa(w.depth)
			w.line("for (int " + k + " = " + w.pick("0", "1") + "; " + k + " < " +
				w.pick("n", "m", "3", "n+1") + "; " + k + "++) {")
			w.depth++
			w.loops = append(w.loops, k)
			w.block(1 + w.r.IntN(3))
			w.loops = w.loops[:len(w.loops)-1]
			w.depth--
			w.line("}")
		case c < 4 && w.depth < 3:
			w.line("if (" + w.pick("n > 1", "m & 1", w.leaf()+" > "+w.leaf(), "x == 1.0f", "t & 1",
				"v0 == x", "a[t] == y", "m == t") + ") {")
			w.depth++
			w.block(1 + w.r.IntN(2))
			w.depth--
			w.line("} else {")
			w.line(v + " = " + w.expr(2) + ";")
			w.line("}")
		case c == 4:
			w.line(w.pick("w", "u") + "[" + w.pick("0", "1", "t&3", "n&3") + "] = " + w.expr(1) + ";")
		case c < 8:
			w.line(v + " " + w.pick("+=", "*=", "-=", "*=") + " " + w.expr(1+w.r.IntN(2)) + ";")
		case c == 8:
			w.line("o[t+" + strconv.Itoa(4+4*w.r.IntN(3)) + "] " + w.pick("=", "+=") + " " +
				w.pick(v, w.expr(1)) + ";")
		default:
			w.line(v + " = " + w.expr(1+w.r.IntN(3)) + ";")
		}
	}
}

func kernels(r *rand.Rand, count int) string {
	w := &writer{r: r}
	for n := range count {
		w.begin(n)
		w.line("int t = threadIdx.x; float w[4] = {a[t], 1.0f, b[t], 0.0f};")
		w.line("float u[4] = {b[t], a[t] * b[t], 0.3f, 1.0f};")
		w.line("const float2 *p = (const float2 *)a;")
		w.line("float v0 = a[t+1], v1 = 0.0f, v2 = b[t], v3 = 1.0f;")
		w.block(3 + r.IntN(6))
		w.line("o[t] = v0;")
		w.line("o[t+16] = v1;")
		w.line("o[t+20] = v2;")
		w.line("o[t+24] = v3;")
		w.line("}")
	}
	return w.out.String()
}

// unrolled puts a pragma before each loop; the lines stay what they were.
func unrolled(text string, factor int) string {
	var out strings.Builder
	for n, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "for") {
			fmt.Fprintf(&out, "#pragma unroll %d\n#line %d\n", factor, n+1)
		}
		out.WriteString(l + "\n")
	}
	return out.String()
}

// setting is what a variant knows.
type setting struct {
	x, y float32
	n, m int
	text string
}

// contractions are sums that ptxas may contract, each with a product: all of them, or some.
func contractions(r *rand.Rand, f *ptx.Func, all bool) map[Statement]Statement {
	out := map[Statement]Statement{}
	reach, err := dataflow.ReachingOf(f)
	if err != nil {
		return out
	}
	for i, st := range f.Stmts {
		if st.Kind != ptx.Inst || st.Guarded || !fold.FreeSum(f, i) ||
			!ptx.HasModifier(f.Opcode(i), "f32") || !all && r.IntN(2) == 0 {
			continue
		}
		ops := f.Operands(i, nil)
		if string(f.Bytes(ops[1])) == string(f.Bytes(ops[2])) {
			continue
		}
		for _, o := range ops[1:] {
			defs := reach.Of(i, string(f.Bytes(o)))
			if len(defs) == 1 && string(f.Base(defs[0])) == "mul" && !f.Stmts[defs[0]].Guarded &&
				fold.FreeProduct(f, defs[0]) {
				out[Statement{f, i}] = Statement{f, defs[0]}
				break
			}
		}
	}
	return out
}

// numbered are the statements' numbers.
func numbered(all map[Statement]Statement) map[int]int {
	out := map[int]int{}
	for s, p := range all {
		out[s.Index] = p.Index
	}
	return out
}

// TestRandom: where Same takes a variant, both give the same bits. GNVCC_SAME_ROUNDS is the number
// of texts of 20 kernels.
func TestRandom(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	count, _ := strconv.Atoi(os.Getenv("GNVCC_SAME_ROUNDS"))
	seed, _ := strconv.ParseUint(os.Getenv("GNVCC_SAME_SEED"), 10, 64)
	var taken, contracted, refused, skipped int
	for round := range max(count, 1) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		kit := kits[len(kits)-1-round%len(kits)]
		text := kernels(r, 20)
		var flags []string
		if round%4 == 3 {
			flags = []string{"-ftz=true"}
		}
		def := compiled(t, kit, text, flags...)
		for range 6 {
			s := setting{x: []float32{0, 1, 2, -1, 0.3, 0.5}[r.IntN(6)],
				y: []float32{0, 1, 2, -1, 0.7}[r.IntN(5)], n: r.IntN(5), m: r.IntN(4)}
			s.text = text
			fixed := fold.Fixed{Params: map[int]bool{}, Dims: map[string]bool{}}
			head := ""
			for k, set := range []string{fmt.Sprintf("x = %gf;", s.x), fmt.Sprintf("y = %gf;", s.y),
				fmt.Sprintf("n = %d;", s.n), fmt.Sprintf("m = %d;", s.m)} {
				if r.IntN(2) == 0 {
					set = strings.Replace(set, "gf;", "f;", 1)
					if k < 2 && !strings.Contains(set, ".") {
						set = strings.Replace(set, "f;", ".0f;", 1)
					}
					head += " " + set
					fixed.Params[k+3] = true
				}
			}
			if head != "" {
				s.text = strings.ReplaceAll(s.text, "int m) {", "int m) {"+head)
			}
			if r.IntN(2) == 0 || head == "" {
				s.text = unrolled(s.text, []int{1, 2, 4, 8}[r.IntN(4)])
			}
			variant := compiled(t, kit, s.text, flags...)
			for _, e := range def.Entries() {
				one, two := built(def, e.Name), built(variant, e.Name)
				if how := r.IntN(3); how > 0 { // ptxas contracts all, some or none
					one.Contracted = contractions(r, e, how == 1)
					two.Contracted = contractions(r, variant.Entry(e.Name), how == 1)
				}
				answer, err := Same(one, two, fixed)
				if err != nil || slices.ContainsFunc(answer.Alone, func(s Statement) bool {
					return slices.Contains(slices.Collect(maps.Values(one.Contracted)), s)
				}) {
					refused++
					continue
				}
				x, y := newMachine(e), newMachine(variant.Entry(e.Name))
				x.contracted, y.contracted = numbered(one.Contracted), numbered(two.Contracted)
				switch err := alike(r, x, y, s, fixed); {
				case err == nil:
					if taken++; len(one.Contracted)+len(two.Contracted) > 0 {
						contracted++
					}
				case strings.Contains(err.Error(), "other bits"):
					t.Errorf("seed %d, round %d, toolkit %s, %s, %s %v: %v\n%s", seed, round, kit.Version,
						e.Name, head, fixed, err, s.text[strings.Index(s.text, "void "+e.Name+"("):])
					return
				default:
					if skipped++; skipped < 4 {
						t.Log(err)
					}
				}
			}
		}
	}
	t.Logf("%d taken, %d of them with sums that ptxas contracts, %d refused, "+
		"%d that the interpreter does not know", taken, contracted, refused, skipped)
	if contracted == 0 || skipped > taken {
		t.Error("nothing was compared")
	}
}

// alike runs both on several inputs.
func alike(r *rand.Rand, x, y *machine, s setting, fixed fold.Fixed) error {
	for range 12 {
		mem := map[uint64]uint32{}
		for _, base := range []uint64{2 << 20, 3 << 20} {
			for k := range uint64(64) {
				mem[base/4+k] = uint32(bits32(number32(r)))
			}
		}
		in := s
		if !fixed.Params[3] {
			in.x = float32(number32(r))
		}
		if !fixed.Params[4] {
			in.y = float32(number32(r))
		}
		if !fixed.Params[5] {
			in.n = r.IntN(6)
		}
		if !fixed.Params[6] {
			in.m = r.IntN(6)
		}
		var results []map[uint64]uint32
		for _, m := range []*machine{x, y} {
			m.params = map[string]uint64{}
			for k, p := range m.f.Params {
				m.params[p.Name] = []uint64{1 << 20, 2 << 20, 3 << 20, bits32(float64(in.x)),
					bits32(float64(in.y)), uint64(in.n), uint64(in.m)}[k]
			}
			m.mem = map[uint64]uint32{}
			for k, v := range mem {
				m.mem[k] = v
			}
			for m.tid = range uint64(4) {
				if err := m.run(); err != nil {
					return err
				}
			}
			results = append(results, m.mem)
		}
		for k := range uint64(40) {
			at := (1<<20)/4 + k
			if p, q := results[0][at], results[1][at]; p != q && !(nan(p) && nan(q)) {
				return fmt.Errorf("other bits: o[%d] is %x, and was %x (x=%g y=%g n=%d m=%d)", k, q, p, in.x,
					in.y, in.n, in.m)
			}
		}
	}
	return nil
}

func nan(b uint32) bool { return b&0x7fffffff > 0x7f800000 }

// number32 is a random float, sometimes a special one.
func number32(r *rand.Rand) float64 {
	if r.IntN(6) == 0 {
		return []float64{0, 1, -1, 2, 0.1, 3.3, 1e-20, 1e20, 1e-40, 0.5}[r.IntN(10)]
	}
	return float64(float32(r.NormFloat64()))
}
