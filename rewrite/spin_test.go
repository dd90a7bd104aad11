package rewrite

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
)

// TestSpinYields looks at what each ptxas makes of rewritten spin loops. A lane that waits for
// another lane of its warp gets on only because the loop yields: the YIELD (or a sleep, which
// yields too) must be in every loop around a swap where it was before, and every swap must be
// there.
func TestSpinYields(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	cuobjdump := kits[len(kits)-1].Disassembler(t)
	const arch = "-arch=sm_80"
	// the oldest: all others read it
	text := kits[0].PTX(t, filepath.Join("ptx", "testdata", "locks.cu"), arch)
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, kit := range kits {
		t.Run(kit.Version, func(t *testing.T) {
			t.Parallel()
			want := yields(t, kit, cuobjdump, text, arch)
			for _, value := range []string{"test", "test,backoff"} {
				recipes, done := make(map[string]recipe.Recipe), 0
				for _, f := range m.Entries() {
					recipes[f.Name] = mustRecipe(t, "spin="+value)
				}
				out, refused, err := Options{}.apply(text, recipes)
				if err != nil {
					t.Fatal(err)
				}
				for name, got := range yields(t, kit, cuobjdump, out, arch) {
					if refused[name] != nil {
						continue
					}
					done++
					before := want[name]
					if before.loops == 0 || before.still > 0 || got.still > 0 || got.loops < before.loops ||
						got.swaps != before.swaps {
						t.Errorf("spin=%s: %s has %v, had %v", value, name, got, before)
					}
				}
				if done < 8 {
					t.Errorf("spin=%s: only %d kernels rewritten: %v", value, done, refused)
				}
			}
		})
	}
}

// spinning code of a kernel: loops around a swap, those of them that do not yield, swaps.
type yielding struct{ loops, still, swaps int }

func (y yielding) String() string {
	return fmt.Sprintf("%d loops around %d swaps, %d of which do not yield", y.loops, y.swaps, y.still)
}

var (
	address  = regexp.MustCompile(`^\s*/\*([0-9a-f]{4,})\*/\s+(.*?);`)
	branch   = regexp.MustCompile("\\bBRA (?:P\\d, |!P\\d, )?`?\\(?(?:0x)?([0-9a-f]+)")
	swapping = regexp.MustCompile(`\b(ATOMS?\.(?:[A-Z0-9]+\.)*(CAS|CAST|EXCH)|ATOM\.)`)
)

func yields(t *testing.T, kit ptxtest.Toolkit, cuobjdump string, text []byte,
	arch string) map[string]yielding {
	t.Helper()
	out := make(map[string]yielding)
	for name, part := range kit.SASS(t, cuobjdump, text, arch) {
		var y yielding
		type instruction struct {
			at   int64
			text string
		}
		var code []instruction
		for _, line := range strings.Split(part, "\n") {
			if m := address.FindStringSubmatch(line); m != nil {
				at, _ := strconv.ParseInt(m[1], 16, 64)
				code = append(code, instruction{at, m[2]})
			}
		}
		for _, c := range code {
			if swapping.MatchString(c.text) {
				y.swaps++
			}
			m := branch.FindStringSubmatch(c.text)
			if m == nil {
				continue
			}
			to, _ := strconv.ParseInt(m[1], 16, 64)
			swap, yield := false, false
			for _, d := range code {
				if d.at >= to && d.at <= c.at {
					swap = swap || swapping.MatchString(d.text)
					yield = yield || strings.Contains(d.text, "YIELD") || strings.Contains(d.text, "NANOSLEEP")
				}
			}
			if swap {
				y.loops++
				if !yield {
					y.still++
				}
			}
		}
		out[name] = y
	}
	return out
}
