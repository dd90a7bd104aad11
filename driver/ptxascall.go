package driver

import (
	"fmt"
	"strings"
)

// ptxas' command line, read by name. What is not in the tables makes the stage step aside: an option that we don't know
// may change anything.

// A ptxasCall is a ptxas command, read.
type ptxasCall struct {
	args     []string // without the tool
	in       int      // index of the input
	out      int      // index of the word that has the output's name
	outAt    int      // where the name begins in that word: 0, or behind "-o="
	target   string   // "sm_90a"
	reloc    bool     // -c: a device link follows
	verbose  bool
	debug    bool // -g: debugging, nothing is to be made faster
	lineinfo bool
	maxreg   bool     // -maxrregcount
	flags    []string // canonical, without input, output and what only prints: what the code depends on
}

// A ptxasOption says what we make of an option.
type ptxasOption struct {
	name   string // canonical
	value  bool   // takes one: behind '=' or as the next word
	prints bool   // changes messages only, not the code
	aside  bool   // the stage leaves such commands alone
}

// ptxasOptions, from ptxas --help of 11.8 to 13.5. Long names stand behind two dashes, short ones behind one.
var ptxasOptions = func() map[string]ptxasOption {
	m := map[string]ptxasOption{}
	add := func(o ptxasOption, words string) {
		for _, pair := range strings.Fields(words) {
			long, short, _ := strings.Cut(pair, "/")
			o.name = long
			m["--"+long] = o
			if short == "" {
				short = long
			}
			m["-"+short] = o
		}
	}
	add(ptxasOption{value: true}, `allow-expensive-optimizations def-load-cache/dlcm def-store-cache/dscm device-function-maxrregcount/func-maxrregcount
		device-stack-protector fmad force-load-cache/flcm force-store-cache/fscm gpu-name/arch machine/m maxntid maxrregcount minnctapersm
		opt-level/O output-file/o position-independent-code/pic register-usage-level/regUsageLevel sanitize Ofast-compile/Ofc
		enable-func-clone-sc`)
	add(ptxasOption{value: true, prints: true}, `split-compile`)
	add(ptxasOption{value: true, aside: true}, `options-file/optf input-as-string/ias entry/e apply-controls fdevice-time-trace`)
	add(ptxasOption{}, `compile-only/c device-debug/g disable-optimizer-constants/disable-optimizer-consts dont-merge-basicblocks/no-bb-merge
		extensible-whole-program/ewp legacy-bar-warp-wide-behavior make-errors-visible-at-exit optimize-float-atomics/opt-fp-atomics
		override-directive-values preserve-relocs return-at-end/ret-end sp-bounds-check g-tensor-memory-access-check/g-tmem-access-check
		gno-tensor-memory-access-check/gno-tmem-access-check gno-fabric-access-check compiler-annotations/annotate suppress-debug-info`)
	add(ptxasOption{prints: true}, `generate-line-info/lineinfo disable-warnings/w verbose/v warn-on-double-precision-use/warn-double-usage
		warn-on-local-memory-usage/warn-lmem-usage warn-on-spills/warn-spills warning-as-error/Werror suppress-async-bulk-multicast-advisory-warning
		suppress-double-demote-warning suppress-sparse-mma-advisory-info suppress-stack-size-warning suppress-position-independent-code-warning jobserver`)
	add(ptxasOption{aside: true}, `help/h version/V list-version/version-ls list-arch/arch-ls verbose2/v2 compile-as-tools-patch/astoolspatch`)
	return m
}()

func readPtxas(args []string) (*ptxasCall, error) {
	c := &ptxasCall{args: args, in: -1, out: -1}
	for i := 0; i < len(args); i++ {
		word := args[i]
		if !strings.HasPrefix(word, "-") {
			if c.in >= 0 {
				return nil, fmt.Errorf("two inputs: %w", errAside)
			}
			c.in = i
			continue
		}
		name, value, has := strings.Cut(word, "=")
		o, known := ptxasOptions[name]
		at := len(name) + 1
		if !known && len(word) > 2 && !has && (word[1] == 'O' || word[1] == 'm') { // -O3, -m64
			o, known = ptxasOptions[word[:2]]
			value, has = word[2:], true
		}
		switch {
		case !known:
			return nil, fmt.Errorf("option %q is not known: %w", word, errAside)
		case o.aside:
			return nil, fmt.Errorf("option %q: %w", word, errAside)
		case has && !o.value:
			return nil, fmt.Errorf("option %q takes no value: %w", word, errAside)
		}
		if o.value && !has {
			if i++; i >= len(args) {
				return nil, fmt.Errorf("option %q has no value: %w", word, errAside)
			}
			value, at = args[i], 0
		}
		switch o.name {
		case "output-file":
			if c.out >= 0 {
				return nil, fmt.Errorf("two -o: %w", errAside)
			}
			c.out, c.outAt = i, at
			continue
		case "gpu-name":
			if c.target != "" {
				return nil, fmt.Errorf("two targets: %w", errAside)
			}
			c.target = value
			continue
		case "compile-only":
			c.reloc = true
		case "verbose":
			c.verbose = true
		case "device-debug":
			c.debug = true
		case "generate-line-info":
			c.lineinfo = true
		case "maxrregcount":
			c.maxreg = true
		}
		if !o.prints {
			flag := o.name
			if o.value {
				flag += "=" + value
			}
			c.flags = append(c.flags, flag)
		}
	}
	switch {
	case c.in < 0:
		return nil, fmt.Errorf("no input: %w", errAside)
	case c.out < 0:
		return nil, fmt.Errorf("no -o, only checks: %w", errAside)
	case !strings.HasPrefix(c.target, "sm_"):
		return nil, fmt.Errorf("target %q: %w", c.target, errAside)
	}
	return c, nil
}

func (c *ptxasCall) input() string  { return c.args[c.in] }
func (c *ptxasCall) output() string { return c.args[c.out][c.outAt:] }

// words gives the arguments with other names for input and output.
func (c *ptxasCall) words(in, out string) []string {
	w := append([]string(nil), c.args...)
	w[c.in] = in
	w[c.out] = c.args[c.out][:c.outAt] + out
	return w
}

// Placeholders of input and output in recorded arguments.
const (
	placeIn  = "<in>"
	placeOut = "<out>"
)

func (c *ptxasCall) template() []string { return c.words(placeIn, placeOut) }
