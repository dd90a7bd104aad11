package toolcmd

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ptxas' command line, read by name. What is not in the tables makes the stage step aside: an
// option that we don't know may change anything.

// A Ptxas is a ptxas command, read.
type Ptxas struct {
	Args     []string // without the tool
	Target   string   // "sm_90a"
	Reloc    bool     // -c: a device link follows
	Verbose  bool
	Debug    bool // -g: debugging, nothing is to be made faster
	Lineinfo bool
	MaxReg   bool // -maxrregcount
	// canonical, without input, output and what only prints: what the code depends on
	Flags []string

	in    int // index of the input
	out   int // index of the word that has the output's name
	outAt int // where the name begins in that word: 0, or behind "-o="
}

// What is made of ptxas' options; of others, that the code depends on them.
const (
	ptxasPrints does = iota + 1 // changes messages only, not the code
	ptxasAside                  // the stage leaves such commands alone
)

// ptxasTable, from ptxas --help of 11.8 to 13.5.
var ptxasTable = sync.OnceValue(func() *table {
	t := &table{joined: true, glued: "Om"}
	t.add(option{value: true}, `
		allow-expensive-optimizations def-load-cache/dlcm def-store-cache/dscm
		device-function-maxrregcount/func-maxrregcount device-stack-protector fmad force-load-cache/flcm
		force-store-cache/fscm gpu-name/arch machine/m maxntid maxrregcount minnctapersm opt-level/O
		output-file/o position-independent-code/pic register-usage-level/regUsageLevel sanitize
		Ofast-compile/Ofc enable-func-clone-sc`)
	t.add(option{value: true, does: ptxasPrints}, `split-compile`)
	t.add(option{value: true, does: ptxasAside}, `
		options-file/optf input-as-string/ias entry/e apply-controls`)
	t.add(option{}, `
		compile-only/c device-debug/g disable-optimizer-constants/disable-optimizer-consts
		dont-merge-basicblocks/no-bb-merge extensible-whole-program/ewp legacy-bar-warp-wide-behavior
		make-errors-visible-at-exit optimize-float-atomics/opt-fp-atomics override-directive-values
		preserve-relocs return-at-end/ret-end sp-bounds-check
		g-tensor-memory-access-check/g-tmem-access-check
		gno-tensor-memory-access-check/gno-tmem-access-check gno-fabric-access-check
		compiler-annotations/annotate suppress-debug-info`)
	t.add(option{does: ptxasPrints}, `
		generate-line-info/lineinfo disable-warnings/w verbose/v
		warn-on-double-precision-use/warn-double-usage warn-on-local-memory-usage/warn-lmem-usage
		warn-on-spills/warn-spills warning-as-error/Werror
		suppress-async-bulk-multicast-advisory-warning suppress-double-demote-warning
		suppress-sparse-mma-advisory-info suppress-stack-size-warning
		suppress-position-independent-code-warning jobserver`)
	t.add(option{does: ptxasAside}, `
		help/h version/V list-version/version-ls list-arch/arch-ls verbose2/v2
		compile-as-tools-patch/astoolspatch`)
	return t
})

// ReadPtxas reads the arguments of ptxas.
func ReadPtxas(args []string) (*Ptxas, error) {
	c := &Ptxas{Args: args, in: -1, out: -1}
	words, err := ptxasTable().read(args)
	if err != nil {
		return nil, err
	}
	for _, w := range words {
		if err := c.take(w); err != nil {
			return nil, err
		}
	}
	switch {
	case c.in < 0:
		return nil, fmt.Errorf("no input: %w", ErrAside)
	case c.out < 0:
		return nil, fmt.Errorf("no -o, only checks: %w", ErrAside)
	case !strings.HasPrefix(c.Target, "sm_"):
		return nil, fmt.Errorf("target %q: %w", c.Target, ErrAside)
	}
	return c, nil
}

// take takes one word in.
func (c *Ptxas) take(w word) error {
	switch {
	case w.input():
		if c.in >= 0 {
			return fmt.Errorf("two inputs: %w", ErrAside)
		}
		c.in = w.index
		return nil
	case !w.known:
		return fmt.Errorf("option %q is not known: %w", w.text, ErrAside)
	case w.does == ptxasAside:
		return fmt.Errorf("option %q: %w", w.text, ErrAside)
	case w.has && !w.option.value:
		return fmt.Errorf("option %q takes no value: %w", w.text, ErrAside)
	}
	switch w.name {
	case "output-file":
		if c.out >= 0 {
			return fmt.Errorf("two -o: %w", ErrAside)
		}
		c.out, c.outAt = w.at, w.from
		return nil
	case "gpu-name":
		if c.Target != "" {
			return fmt.Errorf("two targets: %w", ErrAside)
		}
		c.Target = w.value
		return nil
	case "compile-only":
		c.Reloc = true
	case "verbose":
		c.Verbose = true
	case "device-debug":
		c.Debug = true
	case "generate-line-info":
		c.Lineinfo = true
	case "maxrregcount":
		c.MaxReg = true
	}
	if w.does != ptxasPrints {
		flag := w.name
		if w.option.value {
			flag += "=" + w.value
		}
		c.Flags = append(c.Flags, flag)
	}
	return nil
}

// Input is the name of the input.
func (c *Ptxas) Input() string { return c.Args[c.in] }

// Output is the name of the output.
func (c *Ptxas) Output() string { return c.Args[c.out][c.outAt:] }

// With gives the arguments with other names for input and output.
func (c *Ptxas) With(in, out string) []string {
	args := slices.Clone(c.Args)
	args[c.in] = in
	args[c.out] = c.Args[c.out][:c.outAt] + out
	return args
}

// Placeholders of input and output in recorded arguments.
const (
	PlaceIn  = "<in>"
	PlaceOut = "<out>"
)

// Template gives the arguments as they are recorded.
func (c *Ptxas) Template() []string { return c.With(PlaceIn, PlaceOut) }
