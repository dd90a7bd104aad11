package predicted

import (
	"context"
	"fmt"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/predict"
	"gnvcc/sim/xmodel"
)

// A Balance is a kernel's X-model: how its warps divide between computing and waiting for memory, and
// what would be if it or the machine were different.
type Balance struct {
	Model xmodel.Model
	Point xmodel.Point
	What  []xmodel.Effect
}

// newBalance is the balance of a run, nil where the model does not settle.
func newBalance(r predict.Run, e *predict.Estimate) *Balance {
	m := r.XModel(e)
	p, ok := m.Settled()
	if !ok {
		return nil
	}
	return &Balance{m, p, m.What()}
}

// BalanceOf makes the balance of nvcc's own build of a kernel, in the launch that a decision has
// measured, or an assumed one.
func BalanceOf(ctx context.Context, c compiler, k *policy.Kernel, decided *cache.Decision) (*Balance, error) {
	device, rates, err := Rates(k.CC)
	if err != nil {
		return nil, err
	}
	shape, _ := shapeOf(k, decided, 0)
	l := look{ctx: ctx, c: c, shape: shape, device: device, rates: rates, out: &Kernel{Kernel: k}}
	own, _, err := l.made(recipe.Recipe{})
	if err != nil {
		return nil, err
	}
	e, err := own.Run.Estimate()
	if err != nil {
		return nil, err
	}
	return newBalance(own.Run, &e), nil
}

// Lines say it in words.
func (b *Balance) Lines() []string {
	if b == nil {
		return nil
	}
	answers := func(ofL1 bool) string {
		var out []string
		for _, e := range b.What {
			if e.OfL1 == ofL1 {
				out = append(out, fmt.Sprintf("%s %.2f", e.Name, e.Time))
			}
		}
		return strings.Join(out, ", ")
	}
	return []string{
		fmt.Sprintf("X-model: of %.0f warps of an SM %.1f wait for memory, %.1f compute: %.2f instructions and %.3f sectors a cycle, bound by %s",
			b.Model.Warps, b.Point.Waiting, b.Point.Computing, b.Point.Rate, b.Point.Sectors, b.Point.Bound),
		fmt.Sprintf("time with %s; if L1 served half of its accesses, with %s", answers(false), answers(true)),
	}
}
