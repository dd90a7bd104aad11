package toolcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Host is the host compiler's command for a file of cudafe++'s, read. The options are those of
// GCC.
type Host struct {
	Args       []string // without the tool
	In, Out    int      // indexes of the words
	Preprocess []string // the same command, preprocessing to standard output
}

// hostTable has the options whose value is the next word, and those that change the code and
// neither read nor write a file. Not here, and so left to the compiler: -o twice, -g, whatever
// names a file.
var hostTable = sync.OnceValue(func() *table {
	t := new(table)
	t.exactly(option{value: true}, `-o -x -I -isystem -iquote -idirafter -D -U`)
	t.exactly(option{}, `
		-c -pipe -pthread -ansi -pedantic -pedantic-errors -w -g0
		-fPIC -fpic -fPIE -fpie -fopenmp -fopenmp-simd -fexceptions -frtti -fpermissive
		-fstack-protector -fstack-protector-strong -fstack-protector-all -fstack-clash-protection
		-fcf-protection -fsigned-char -funsigned-char -fwrapv -fstrict-aliasing -ffast-math
		-ffinite-math-only -fassociative-math -freciprocal-math -funroll-loops -fpeel-loops
		-ftree-vectorize -ftree-slp-vectorize -fomit-frame-pointer -fdata-sections
		-ffunction-sections -fcommon -fsemantic-interposition -fconcepts
		-fvisibility-inlines-hidden -fshort-enums -fms-extensions -fgnu-unique -finline-functions
		-ftrapv -fsanitize=address -fsanitize=undefined -fdiagnostics-color`)
	return t
})

// hostPrefixes begin options of the second kind.
var hostPrefixes = []string{
	"-I", "-D", "-U", "-O", "-W", "-std=", "-m", "-fno-", "-fvisibility=", "-fdiagnostics-color=",
	"-ftemplate-depth", "-fconstexpr-", "-fmax-errors=", "-fabi-version=", "-fcf-protection=",
	"-ffp-contract=", "-finline-limit=", "-falign-", "-fexcess-precision=", "-fmessage-length=",
}

// hostFiles begin options that look like one of hostPrefixes, and hand words on to a program that
// may do anything with them.
var hostFiles = []string{"-Wa,", "-Wp,", "-Wl,"}

// ReadHost reads the arguments of the host compiler. The error says why the command is left to it.
func ReadHost(args []string) (*Host, error) {
	c := &Host{Args: args, In: -1, Out: -1}
	words, err := hostTable().read(args)
	if err != nil {
		return nil, err
	}
	compiles, odd := false, error(nil)
	for _, w := range words {
		switch {
		case w.input():
			if c.In >= 0 {
				odd = cmp.Or(odd, fmt.Errorf("two inputs, %q and %q: %w", args[c.In], w.text, ErrAside))
			}
			c.In = w.index
		case !w.known && !plainHost(w.text):
			odd = cmp.Or(odd, fmt.Errorf("%s is not among the options that are known to touch no file: %w",
				w.text, ErrAside))
		case w.name == "-c":
			compiles = true
			c.Preprocess = append(c.Preprocess, "-E")
			continue
		case w.name == "-o":
			if c.Out >= 0 {
				return nil, fmt.Errorf("two -o: %w", ErrAside)
			}
			c.Out = w.at
			continue
		case w.name == "-x" && w.value != "c++":
			return nil, fmt.Errorf("-x %s: %w", w.value, ErrAside)
		}
		c.Preprocess = append(c.Preprocess, args[w.index:w.next()]...)
	}
	if c.In < 0 || c.Out < 0 || !compiles || !strings.HasSuffix(args[c.In], ".cudafe1.cpp") {
		return nil, fmt.Errorf("not the compile of what cudafe++ wrote: %w", ErrAside)
	}
	if odd != nil { // of preprocessing and linking that would say nothing
		return nil, odd
	}
	return c, nil
}

// plainHost tells whether an option begins like one that is known to read and write no file that
// the preprocessed text does not show.
func plainHost(option string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(option, prefix) }
	return slices.ContainsFunc(hostPrefixes, begins) && !slices.ContainsFunc(hostFiles, begins)
}
