package same

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx/ptxtest"
)

// A gen writes random kernels of sums alone: shared products, several accumulators, products of an
// earlier turn. Of most fold vouches that no compiler computes anything (Unfolded).
type gen struct{ writer }

func (g *gen) idx() string {
	if len(g.loops) == 0 {
		return g.pick("1", "2", "3")
	}
	return g.pick(g.loops...)
}
func (g *gen) data() string {
	switch g.r.IntN(10) {
	case 0:
		return "x"
	case 1:
		return "c0"
	case 2:
		return "c1"
	case 3, 4, 5:
		return "a[t+" + g.idx() + "]"
	case 6, 7:
		return "b[" + g.idx() + "]"
	case 8:
		return "b[" + g.idx() + "+1]"
	}
	return "p[t+" + g.idx() + "]." + g.pick("x", "y")
}
func (g *gen) prod() string {
	switch g.r.IntN(8) {
	case 0, 1:
		return g.pick("q0", "q1")
	case 2:
		return g.data() + " * " + g.pick("s0", "s1", "s2")
	case 3:
		return "-(" + g.data() + " * " + g.data() + ")"
	}
	return g.data() + " * " + g.data()
}
func (g *gen) sum() string {
	l := g.pick("s0", "s1", "s2", "s0", g.data())
	switch g.r.IntN(6) {
	case 0:
		return g.prod() + " + " + g.prod()
	case 1:
		return g.prod() + " - " + g.prod()
	case 2:
		return g.prod() + " - " + l
	case 3:
		return l + " - " + g.prod()
	}
	return l + " + " + g.prod()
}
func (g *gen) block(n int) {
	for range n {
		s := g.pick("s0", "s1", "s2")
		switch g.r.IntN(12) {
		case 0, 1:
			g.line(g.pick("q0", "q1") + " = " + g.data() + " * " + g.pick(g.data(), g.data(), s) + ";")
		case 2:
			g.line("if (" + g.pick("t & 1", "n > 2", g.data()+" > 0.0f", "m == "+g.idx(),
				g.idx()+" & 1", g.idx()+" > 1") + ") {")
			g.line(s + " " + g.pick("+=", "-=") + " " + g.prod() + ";")
			g.line("}")
		case 3:
			if len(g.loops) < 2 {
				k := "k" + strconv.Itoa(len(g.loops))
				g.line("for (int " + k + " = " + g.pick("0", "1") + "; " + k + " < " +
					g.pick("n", "m", "n+1", "3", "5") + "; " + k + "++) {")
				g.loops = append(g.loops, k)
				g.block(1 + g.r.IntN(3))
				g.loops = g.loops[:len(g.loops)-1]
				g.line("}")
				continue
			}
			fallthrough
		case 4:
			g.line("o[t+" + g.pick("4", "8", "12") + "] = " + g.pick(s, "q0", g.data()) + ";")
		case 5:
			g.line(s + " = " + g.sum() + ";")
		case 6:
			g.line(s + " = " + g.pick("s0", "s1", "s2") + " + " + g.pick("s0", "s1", "s2") + ";")
		default:
			g.line(s + " " + g.pick("+=", "+=", "-=") + " " + g.prod() + ";")
		}
	}
}
func sumKernels(r *rand.Rand, count int) string {
	g := &gen{writer{r: r}}
	for n := range count {
		g.begin(n)
		g.line("int t = threadIdx.x; const float2 *p = (const float2 *)a;")
		g.line("float c0 = a[t+9], c1 = b[t+7];")
		i0, i1 := g.pick("0.0f", "a[t]", "b[t]", "x"), g.pick("0.0f", "a[t]", "c0", "s0")
		g.line("float s0 = " + i0 + ", s1 = " + i1 + ", s2 = 0.0f, q0 = " +
			g.pick("c0*c1", "c0", "0.0f", "a[t]*b[t]") + ", q1 = c1*x;")
		g.block(r.IntN(2))
		g.line("for (int k0 = " + g.pick("0", "1") + "; k0 < " + g.pick("n", "m", "n+1", "6") +
			"; k0++) {")
		g.loops = append(g.loops, "k0")
		g.block(1 + r.IntN(4))
		g.loops = nil
		g.line("}")
		g.block(r.IntN(2))
		g.line("o[t] = s0;\no[t+16] = s1;\no[t+20] = s2;\no[t+24] = q0;\n}")
	}
	return g.out.String()
}

// TestRandomSums: a kernel that is unrolled otherwise has the same bits where Same takes it, also
// those that it takes as nothing of the kernel is computed by a compiler.
func TestRandomSums(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	count, _ := strconv.Atoi(os.Getenv("GNVCC_SAME_ROUNDS"))
	seed, _ := strconv.ParseUint(os.Getenv("GNVCC_SAME_SEED"), 10, 64)
	fixed := fold.Fixed{Params: map[int]bool{}, Dims: map[string]bool{}}
	var taken, unfolded, refused, rightly int
	for round := range max(count, 3) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		kit := kits[len(kits)-1-round%len(kits)]
		text := sumKernels(r, 20)
		def := compiled(t, kit, text)
		if round%2 == 1 {
			def = compiled(t, kit, unrolled(text, 2))
		}
		s := setting{text: unrolled(text, []int{1, 4, 8}[r.IntN(3)])}
		variant := compiled(t, kit, s.text)
		for _, e := range def.Entries() {
			if _, err := fold.Contracts(def, e.Name, fixed); err != nil {
				continue
			}
			one, two := built(def, e.Name), built(variant, e.Name)
			if how := r.IntN(3); how > 0 { // ptxas contracts all, some or none
				one.Contracted = contractions(r, e, how == 1)
				two.Contracted = contractions(r, variant.Entry(e.Name), how == 1)
			}
			_, folded := Same(one, two, fixed)
			one.Unfolded = true
			_, err := Same(one, two, fixed)
			x, y := newMachine(e), newMachine(variant.Entry(e.Name))
			x.contracted, y.contracted = numbered(one.Contracted), numbered(two.Contracted)
			other := alike(r, x, y, s, fixed)
			switch {
			case err == nil && other != nil:
				t.Errorf("seed %d, round %d, toolkit %s, %s: %v\n%s", seed, round, kit.Version, e.Name,
					other, s.text[strings.Index(s.text, "void "+e.Name+"("):])
			case err == nil && folded != nil:
				unfolded++
			case err == nil:
				taken++
			case other != nil:
				rightly++
			default:
				refused++
			}
		}
	}
	t.Logf("%d taken, and %d as nothing is folded; %d refused, and %d that have other bits", taken,
		unfolded, refused, rightly)
	if taken == 0 || unfolded == 0 || rightly == 0 {
		t.Error("too little was compared")
	}
}
