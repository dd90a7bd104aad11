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

// hostReads is made of options that read files, or change what is kept of a compile; they write no
// file, and give the same each time.
const hostReads does = 1

// hostTable has the options whose value is the next word, and those that write no file but the
// output; most change the code and read none either. Not here, and so nothing that gnvcc runs again:
// whatever names a file that is written, and what differs from run to run (-gz, -gsplit-dwarf,
// -flto, --coverage).
var hostTable = sync.OnceValue(func() *table {
	t := new(table)
	t.exactly(option{value: true}, `-o -x -I -isystem -iquote -idirafter -D -U`)
	t.exactly(option{value: true, does: hostReads}, `
		-include -imacros -isysroot -iprefix -iwithprefix -L -l -B -z -u -T -Xlinker -Xassembler`)
	t.exactly(option{does: hostReads}, `
		-g -g1 -g2 -g3 -ggdb -ggdb1 -ggdb2 -ggdb3 -gdwarf -gdwarf-2 -gdwarf-3 -gdwarf-4 -gdwarf-5
		-gstrict-dwarf -gno-strict-dwarf -pg -p -shared -static -static-libgcc -static-libstdc++ -pie
		-rdynamic -s -nostdlib -nostdinc -nostdinc++ -nodefaultlibs -nostartfiles`)
	t.exactly(option{}, `
		-c -pipe -pthread -ansi -pedantic -pedantic-errors -w -g0
		-fPIC -fpic -fPIE -fpie -fopenmp -fopenmp-simd -fexceptions -frtti -fpermissive
		-fstack-protector -fstack-protector-strong -fstack-protector-all -fstack-clash-protection
		-fcf-protection -fsigned-char -funsigned-char -fwrapv -fstrict-aliasing -ffast-math
		-ffinite-math-only -fassociative-math -freciprocal-math -funroll-loops -fpeel-loops
		-ftree-vectorize -ftree-slp-vectorize -fomit-frame-pointer -fdata-sections
		-ffunction-sections -fcommon -fsemantic-interposition -fconcepts
		-fvisibility-inlines-hidden -fshort-enums -fms-extensions -fgnu-unique -finline-functions
		-faligned-new -fasynchronous-unwind-tables -fcoroutines -fmath-errno -fmerge-all-constants
		-fsingle-precision-constant -fsized-deallocation -fstrict-enums -fstrict-overflow
		-ftree-loop-vectorize -funsafe-math-optimizations -funwind-tables -fdiagnostics-show-option
		-ftrapv -fsanitize=address -fsanitize=undefined -fdiagnostics-color`)
	return t
})

// hostPrefixes begin options of the second kind.
var hostPrefixes = []string{
	"-I", "-D", "-U", "-O", "-W", "-std=", "-m", "-fno-", "-fvisibility=", "-fdiagnostics-color=",
	"-ftemplate-depth", "-fconstexpr-", "-fmax-errors=", "-fabi-version=", "-fcf-protection=",
	"-ffp-contract=", "-finline-limit=", "-falign-", "-fexcess-precision=", "-fmessage-length=",
}

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
		case !w.known && !plainHost(w.text), w.does == hostReads:
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

// plainHost reports whether an option begins like one that is known to read and write no file that
// the preprocessed text does not show.
func plainHost(option string) bool {
	if len(option) > 2 && strings.Contains("-Wa-Wl-Wp", option[:3]) && strings.ContainsAny(option, ", ") ||
		option == "-mllvm" {
		return false // another program's words: -Wa,-al=file
	}
	return slices.ContainsFunc(hostPrefixes, func(p string) bool { return strings.HasPrefix(option, p) })
}
