package tuner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/policy/predicted"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	predictor "gnvcc/sim/predict"
)

// A Predictor says of built kernels what can be said from their machine code, without a GPU.
type Predictor struct {
	compiler *Compiler
	decided  map[string]*cache.Decision // by identity; a pinned one before a measured one
	version  string
	Block    int // threads, where the user names them; 0: of the heaviest launch known, or assumed
}

// NewPredictor makes one; of two decisions on a kernel the later in the list counts. version is
// gnvcc's. Close removes its scratch folder.
func NewPredictor(store *cache.Store, decided []cache.Decision, version string) (*Predictor,
	error) {
	c, err := NewCompiler(store)
	if err != nil {
		return nil, err
	}
	p := &Predictor{compiler: c, decided: map[string]*cache.Decision{}, version: version}
	for i := range decided {
		p.decided[decided[i].Identity] = &decided[i]
	}
	return p, nil
}

func (p *Predictor) Close() { p.compiler.Close() }

// Predict predicts one kernel.
func (p *Predictor) Predict(ctx context.Context, b record.BuiltKernel) (*predicted.Kernel, error) {
	known, err := p.compiler.Kernel(b.Assembly.Cubin, b.Name)
	if err != nil {
		return nil, err
	}
	if why := cmp.Or(known.Alone, known.External); why != "" { // its machine code is not all there
		return nil, errors.New(why)
	}
	return predicted.Look(ctx, p.compiler, known, p.decided[b.Identity], p.Block)
}

// Balance is the X-model of a kernel as nvcc builds it.
func (p *Predictor) Balance(ctx context.Context, b record.BuiltKernel) (*predicted.Balance, error) {
	known, err := p.compiler.Kernel(b.Assembly.Cubin, b.Name)
	if err != nil {
		return nil, err
	}
	return predicted.BalanceOf(ctx, p.compiler, known, p.decided[b.Identity])
}

// Curve is what a kernel spills under every register cap.
func (p *Predictor) Curve(ctx context.Context, b record.BuiltKernel) (*predicted.Curve, error) {
	known, err := p.compiler.Kernel(b.Assembly.Cubin, b.Name)
	if err != nil {
		return nil, err
	}
	return predicted.CurveOf(ctx, p.compiler, known, p.decided[b.Identity], p.Block)
}

// Recipe gives the decision for what is predicted to be fastest, nil where nothing is to be kept;
// the text says which, and why.
func (p *Predictor) Recipe(ctx context.Context, b record.BuiltKernel) (*cache.Decision, string) {
	if d := p.decided[b.Identity]; d != nil && !d.Predicted {
		if d.Pinned {
			return nil, "pinned by you, which stays"
		}
		return nil, "was measured, or left alone by gnvcc tune, which stays"
	}
	seen, err := p.Predict(ctx, b)
	if err != nil {
		return nil, "nothing can be predicted: " + err.Error()
	}
	best, ok := seen.Best()
	if !ok {
		return nil, fmt.Sprintf(
			"nothing exact by construction is predicted to gain %.0f %% and more", 100*predictor.Margin)
	}
	r, err := recipe.Parse(best.Recipe)
	if err == nil && rewrite.ExactnessOf(r) != rewrite.ByConstruction {
		err = fmt.Errorf("%s is not exact by construction", r)
	}
	var d cache.Decision
	if err == nil {
		d, err = p.compiler.Rehearse(ctx, b, r, p.version)
	}
	if hints := d.Evidence.Outvoted; err == nil && len(hints) > 0 {
		err = fmt.Errorf("nothing was measured, and so %s stays", strings.Join(hints, ", "))
	}
	if err != nil {
		return nil, fmt.Sprintf(
			"%s is predicted to take %.2f of the time, but a build would not take it: %v", best.Recipe,
			best.Time, err)
	}
	d.Pinned, d.Predicted = false, true
	d.Evidence.Note = fmt.Sprintf("predicted, not measured: %.2f of the time; rates: %s", best.By(),
		predictor.Source)
	if a := seen.Assumed; len(a) > 0 {
		d.Evidence.Note += "; assumed: " + strings.Join(a, ", ")
	}
	return &d, fmt.Sprintf("%s, predicted to take %.2f of the time; %d registers, nvcc's own has %d",
		d.Recipe, best.By(),
		d.Evidence.Chosen.Registers, d.Evidence.Default.Registers)
}
