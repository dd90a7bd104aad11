package toolcmd

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// nvcc's command line, as far as gnvcc has to know it: whether it is a query, whether it can have a
// cicc, ptxas or nvlink step, whether it would show our prefix, and which file it writes. Nothing
// here decides what gets compiled, and nothing is ever taken away or put in between: where this
// reading is wrong, a build is run without us or its prefix is seen.

// A Line is one command line of nvcc, read.
type Line struct {
	Query      bool // prints something and compiles nothing: --version, --dryrun, -E, -M, ...
	Shows      bool // prints its steps' commands, or what they take: -v, --fdevice-time-trace
	Prefix     bool // has a prefix of the user's own for one of our steps
	HostPrefix bool // has one for the host compiler
	Steps      bool // can have one of our steps
	Stdin      bool // reads the source from standard input: can't be run again
	Inputs     []string
	Output     string // of -o, "" if there is none
	OutDir     string // of -odir
	Phase      string // the phase that is the last: "compile", "ptx", "cubin", ..., "link"
	Options    string // why an option file could not be read, "" if all was

	Keeps bool   // keeps files between the steps, under names of the user's choice
	Sides int    // options that name a file which is written besides the output
	Stray string // a word for another tool that may make it write one (handed.go)

	cuda     bool     // -x cu
	forwards bool     // unknown options go to the host compiler
	unknown  []string // options that are not in the table
	dir      string   // where option files are looked for; "": the working directory
}

// What is made of nvcc's options.
const (
	lineQuery    does = iota + 1 // nvcc compiles nothing that we have a step in
	lineShows                    // it prints its steps' commands, or what they take
	lineKeeps                    // it keeps files between the steps
	linePhase                    // the last phase
	linePrefix                   // puts words in front of one of our steps
	lineHost                     // puts words in front of the host compiler
	lineSide                     // names a file that is written besides the output
	linePassed                   // hands words on to another tool
	lineForwards                 // hands unknown options on to the host compiler
)

// lineTable has nvcc's options that take a value, from nvcc --help of 11.8 to 13.5, and from the
// table in its binary for those that --help does not tell of; and those that matter here. An option
// that is not here takes no value.
var lineTable = sync.OnceValue(func() *table {
	// The value is the rest of the word behind '=', else the next word, whatever that looks like.
	t := &table{joined: true, glued: "IDULlOxm", dashes: true, lax: true}
	t.add(option{value: true}, `
		output-file/o pre-include/include library/l define-macro/D undefine-macro/U include-path/I
		system-include/isystem library-path/L output-directory/odir compiler-bindir/ccbin
		archiver-binary/arbin cudart cudadevrt libdevice-directory/ldir target-directory/target-dir
		cl-version use-local-env-cl optimization-info/opt-info optimize/O Ofast-compile/Ofc dopt
		ftemplate-backtrace-limit ftemplate-depth x std stdlib machine/m apply-controls
		threads/t split-compile
		split-compile-extended fdevice-time-trace-granularity keep-dir run-args
		input-drive-prefix/idp dependency-drive-prefix/ddp drive-prefix/dp
		dependency-target-name/MT gpu-architecture/arch gpu-code/code generate-code/gencode
		export-dir extern-mode intern-mode relocatable-device-code/rdc entries/e maxrregcount ftz
		prec-div prec-sqrt fmad default-stream device-compilation Werror diag-error diag-suppress
		diag-warn cuda-api-version nvvm-version host-linker-script/hls jump-table-density/jtd
		device-stack-protector compress-mode frandom-seed sanitize fdevice-sanitize
		version-ident/dQ device-entity-has-hidden-visibility tile-preview fmax-errors
		tool-name options-file/optf brief-diagnostics/brief-diag static-global-template-stub`)
	t.add(option{value: true, does: lineSide}, `dependency-output/MF time`)
	t.add(option{value: true, does: lineShows}, `fdevice-time-trace`)
	t.add(option{value: true, does: linePassed}, `
		compiler-options/Xcompiler linker-options/Xlinker archive-options/Xarchive
		cicc-options/Xcicc cudafe-options/Xcudafe ptxas-options/Xptxas fatbin-options/Xfatbin
		nvlink-options/Xnvlink nvasm-options/Xnvasm nvdisasm-options/Xnvdisasm
		nvprune-options/Xnvprune tileiras-options/Xtileiras`)
	t.add(option{value: true, does: linePrefix}, `
		all-prefix cicc-prefix cudafe-prefix ptxas-prefix nvlink-prefix`)
	t.add(option{value: true, does: lineHost}, `cpp-prefix`)
	t.add(option{value: true, does: lineQuery}, `qpp-config`)
	t.add(option{does: lineQuery}, `
		version/V help/h dryrun list-gpu-code/code-ls list-gpu-arch/arch-ls clean-targets/clean
		preprocess/E generate-dependencies/M generate-nonsystem-dependencies/MM`)
	t.add(option{does: lineShows}, `verbose/v verbose2/v2 trap-into-debugger/_trap_`)
	t.add(option{does: lineKeeps}, `keep save-temps`)
	t.add(option{does: linePhase}, `
		compile/c device-c/dc device-w/dw ptx cubin fatbin cuda optix-ir ltoir device-link/dlink lib
		link run`)
	t.add(option{does: lineForwards}, `
		forward-unknown-opts forward-unknown-to-host-compiler forward-unknown-to-host-linker`)
	// The others without a value. They matter where unknown ones go to the host compiler, and some
	// would be -l, -m or -D with a value.
	t.add(option{}, `
		Wconversion Wdefault-stream-launch Wext-lambda-captures-this Wmissing-launch-bounds
		Wno-deprecated-declarations Wno-deprecated-gpu-targets Wreorder allow-unsupported-compiler
		augment-host-linker-script/aug-hls compile-as-tools-patch/astoolspatch concat debug/g
		device-debug/G disable-warnings/w display-error-number/err-no dlink-time-opt/dlto
		dont-use-profile/noprof enable-tile expt-extended-lambda expt-relaxed-constexpr
		extended-lambda extensible-whole-program/ewp extra-device-vectorization
		fdevice-syntax-only force-cl-env-setup gen-opt-lto
		generate-dependencies-with-compile/MD generate-dependency-targets/MP
		generate-line-info/lineinfo generate-nonsystem-dependencies-with-compile/MMD
		host-relocatable-link/r jobserver keep-device-functions lto m32 m64 no-align-double
		no-compress no-device-link/nodlink no-display-error-number/no-err-no no-exceptions/noeh
		no-host-device-initializer-list/nohdinitlist no-host-device-move-forward/nohdmoveforward
		objdir-as-tempdir/objtemp profile/pg prune relocatable-link/r
		relocatable-ptx/reloc-ptx resource-usage/res-usage restrict
		safety-compatibility/safety-compat shared simt-only skip-ptx-semantics-check
		source-in-ptx/src-in-ptx tile-only tilebc tilecubin tilefatbin use-local-env use_fast_math
		utf-8`)
	return t
})

// phases are the names of the last phases that are not their option's own.
var phases = map[string]string{"device-c": "compile", "device-w": "compile", "device-link": "dlink"}

// ReadLine reads the words of a command line, with what NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS
// add. dir is the folder that it is given in, "" for the working directory.
func ReadLine(args []string, dir string, getenv func(string) string) *Line {
	l := &Line{Phase: "link", dir: dir}
	before, after := getenv("NVCC_PREPEND_FLAGS"), getenv("NVCC_APPEND_FLAGS")
	if before == "" && after == "" {
		l.read(args, 0)
	} else {
		words := append(Words(before), args...)
		l.read(append(words, Words(after)...), 0)
	}
	l.settle()
	return l
}

// Words cuts a text of nvcc's options into words the way nvcc does for its variables and option
// files: at white space, double and single quotes group. What nvcc does with stray quotes differs
// between the two; a word that is not exactly nvcc's costs nothing here.
func Words(text string) []string {
	var words []string
	var word []byte
	var quote byte
	in := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word = append(word, c)
			}
		case c == '"' || c == '\'':
			quote, in = c, true
		case c == '\\' && i+1 < len(text):
			i++
			word, in = append(word, text[i]), true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if in {
				words, word, in = append(words, string(word)), nil, false
			}
		default:
			word, in = append(word, c), true
		}
	}
	if in {
		words = append(words, string(word))
	}
	return words
}

// maxNesting is how deep option files may name each other before we give up; nvcc has no limit that
// we know of.
const maxNesting = 16

// maxOptionFile is the largest option file that is looked into, bytes.
const maxOptionFile = 1 << 20

func (l *Line) read(args []string, depth int) {
	words, _ := lineTable().read(args) // the table is lax: there is no error
	for _, w := range words {
		switch {
		case w.text == "":
		case w.text == "-":
			l.Stdin = true
			l.Inputs = append(l.Inputs, w.text)
		case w.input():
			l.Inputs = append(l.Inputs, w.text)
		default:
			l.take(w, depth)
		}
	}
}

// take takes an option in.
func (l *Line) take(w word, depth int) {
	switch w.does {
	case lineQuery:
		l.Query = true
	case lineShows:
		l.Shows = true
	case lineKeeps:
		l.Keeps = true
	case linePhase:
		l.Phase = w.name
		if phase := phases[w.name]; phase != "" {
			l.Phase = phase
		}
	case linePrefix:
		l.Prefix = true
	case lineHost:
		l.HostPrefix = true
	case lineSide:
		l.Sides++
	case linePassed:
		l.Stray = cmp.Or(l.Stray, strayWord(w.name, w.value))
	case lineForwards:
		l.forwards = true
	}
	if !w.known {
		l.unknown = append(l.unknown, w.text)
	}
	switch w.name {
	case "output-file":
		l.Output = w.value
	case "output-directory":
		l.OutDir = w.value
	case "options-file":
		l.file(w.value, depth)
	case "x":
		l.cuda = w.value == "cu"
	}
}

// file reads option files, which nvcc separates by commas.
func (l *Line) file(names string, depth int) {
	for _, file := range strings.Split(names, ",") {
		if depth >= maxNesting {
			l.Options = file + ": option files name each other more than 16 deep"
			return
		}
		file = Inside(l.dir, file)
		info, err := os.Stat(file)
		switch {
		case err != nil: // said below
		case !info.Mode().IsRegular():
			l.Options = file + ": no regular file" // a pipe can be read once, and that is nvcc's
			return
		case info.Size() > maxOptionFile:
			l.Options = file + ": larger than 1 MiB"
			return
		}
		text, err := os.ReadFile(file)
		if err != nil {
			l.Options = err.Error()
			return
		}
		l.read(Words(string(text)), depth+1)
	}
}

// settle draws the conclusions.
func (l *Line) settle() {
	if l.forwards {
		l.Stray = cmp.Or(l.Stray, strayHost(l.unknown))
	}
	if len(l.Inputs) == 0 || l.Query {
		return
	}
	if l.Phase != "compile" {
		l.Steps = true // a link has nvlink's step
		return
	}
	// A C or C++ file that is only compiled goes to the host compiler alone, unless -x says that it is
	// CUDA.
	l.Steps = l.cuda
	for _, input := range l.Inputs {
		switch strings.ToLower(filepath.Ext(input)) {
		case ".c", ".cc", ".cpp", ".cxx", ".s", ".o", ".a", ".so":
		default:
			l.Steps = true
		}
	}
}

// Target is a name for what the command writes, so that of two commands with the same one the later
// counts (driver/apply). dir is the folder in which it runs.
func (l *Line) Target(dir string) string {
	if l.Output != "" {
		if filepath.IsAbs(l.Output) {
			return filepath.Clean(l.Output)
		}
		return filepath.Join(dir, l.Output) // -odir does not count then
	}
	// Without -o the names come from the inputs.
	return Inside(dir, l.OutDir) + "\x00" + l.Phase + "\x00" + strings.Join(l.Inputs, "\x00")
}

// Inside is a path that was given in a folder.
func Inside(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
