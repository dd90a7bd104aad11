package driver

import (
	"os"
	"path/filepath"
	"strings"
)

// nvcc's command line, as far as gnvcc has to know it: whether it is a query, whether it can have a cicc, ptxas or nvlink
// step, whether it would show our prefix, and which file it writes. Nothing here decides what gets compiled, and nothing is
// ever taken away or put in between: where this reading is wrong, a build is run without us or its prefix is seen.

// A Line is one command line of nvcc, read.
type Line struct {
	Query      bool // prints something and compiles nothing: --version, --dryrun, -E, -M, ...
	Shows      bool // prints its steps' commands: -v
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
	Stray string // a word for a host tool by which that writes one

	cuda bool   // -x cu
	dir  string // where option files are looked for; "": the working directory
}

// valued are nvcc's options that take a value, by their names without dashes. The value is the rest of the word behind
// '=', else the next word, whatever that looks like. From nvcc --help of 11.8 to 13.5, and from the table in its binary for
// those that --help does not tell of. An option that is not here takes none.
var valued = set(`
	output-file o pre-include include library l define-macro D undefine-macro U include-path I system-include isystem
	library-path L output-directory odir compiler-bindir ccbin archiver-binary arbin cudart cudadevrt libdevice-directory ldir
	target-directory target-dir cl-version use-local-env-cl optimization-info opt-info optimize O Ofast-compile Ofc dopt
	ftemplate-backtrace-limit ftemplate-depth x std stdlib machine m apply-controls
	compiler-options Xcompiler linker-options Xlinker archive-options Xarchive cicc-options Xcicc cudafe-options Xcudafe ptxas-options Xptxas
	fatbin-options Xfatbin nvlink-options Xnvlink nvasm-options Xnvasm nvdisasm-options Xnvdisasm nvprune-options Xnvprune tileiras-options Xtileiras
	all-prefix cpp-prefix cudafe-prefix cicc-prefix ptxas-prefix nvlink-prefix
	threads t split-compile split-compile-extended fdevice-time-trace fdevice-time-trace-granularity keep-dir time run-args
	input-drive-prefix idp dependency-drive-prefix ddp drive-prefix dp dependency-target-name MT dependency-output MF
	gpu-architecture arch gpu-code code generate-code gencode export-dir extern-mode intern-mode relocatable-device-code rdc entries e maxrregcount
	ftz prec-div prec-sqrt fmad default-stream device-compilation Werror diag-error diag-suppress diag-warn cuda-api-version
	qpp-config nvvm-version host-linker-script hls jump-table-density jtd device-stack-protector compress-mode frandom-seed sanitize fdevice-sanitize
	version-ident dQ device-entity-has-hidden-visibility tile-preview fmax-errors
	tool-name options-file optf brief-diagnostics brief-diag static-global-template-stub
`)

// glued are the short options whose value may follow without a space: -Iinclude, -lm, -O3.
const glued = "IDULlOxm"

// queries are options with which nvcc compiles nothing that we have a step in.
var queries = set(`
	version V help h dryrun list-gpu-code code-ls list-gpu-arch arch-ls clean-targets clean
	preprocess E generate-dependencies M generate-nonsystem-dependencies MM qpp-config
`)

// phases are the options that name the last phase.
var phases = map[string]string{
	"compile": "compile", "c": "compile", "device-c": "compile", "dc": "compile", "device-w": "compile", "dw": "compile",
	"ptx": "ptx", "cubin": "cubin", "fatbin": "fatbin", "cuda": "cuda", "optix-ir": "optix-ir", "ltoir": "ltoir",
	"device-link": "dlink", "dlink": "dlink", "lib": "lib", "link": "link", "run": "run",
}

// prefixes are the options that put words in front of one of our steps.
var prefixes = set(`all-prefix cicc-prefix cudafe-prefix ptxas-prefix nvlink-prefix`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// ReadLine reads the words of a command line, with what NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS add.
func ReadLine(args []string, getenv func(string) string) *Line {
	return readLine(args, "", getenv)
}

// readLine reads a line that was given in a folder.
func readLine(args []string, dir string, getenv func(string) string) *Line {
	l := &Line{Phase: "link", dir: dir}
	before, after := getenv("NVCC_PREPEND_FLAGS"), getenv("NVCC_APPEND_FLAGS")
	if before == "" && after == "" {
		l.read(args, 0)
	} else {
		words := append(split(before), args...)
		l.read(append(words, split(after)...), 0)
	}
	l.settle()
	return l
}

// split cuts a text into words the way nvcc does for its variables and option files: at white space, double and single quotes group.
// What nvcc does with stray quotes differs between the two; a word that is not exactly nvcc's costs nothing here.
func split(text string) []string {
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

// maxNesting is how deep option files may name each other before we give up; nvcc has no limit that we know of.
const maxNesting = 16

// maxOptionFile is the largest option file that is looked into, bytes.
const maxOptionFile = 1 << 20

func (l *Line) read(args []string, depth int) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if len(word) < 2 || word[0] != '-' {
			if word == "-" {
				l.Stdin = true
			}
			if word != "" {
				l.Inputs = append(l.Inputs, word)
			}
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
		switch {
		case valued[name]:
			if !hasValue && i+1 < len(args) {
				i++
				value = args[i]
			}
			l.value(name, value, depth)
		case word[1] != '-' && strings.IndexByte(glued, word[1]) >= 0 && !queries[name] && phases[name] == "" && !isLongName(name):
			l.value(name[:1], word[2:], depth)
		case queries[name]:
			l.Query = true
		case name == "verbose" || name == "v" || name == "verbose2" || name == "v2" || name == "trap-into-debugger" || name == "_trap_":
			l.Shows = true
		case name == "keep" || name == "save-temps":
			l.Keeps = true
		case phases[name] != "":
			l.Phase = phases[name]
		}
	}
}

// isLongName tells an option such as -lineinfo or -Ofast from -l and -O with a glued value, so far as it matters: the ones
// below name a query or a phase in no version. Anything else that begins with these letters has no meaning for us either.
func isLongName(name string) bool {
	return name == "lineinfo" || name == "lib" || name == "link" || name == "ltoir" || strings.HasPrefix(name, "list-gpu")
}

// value takes an option with its value.
func (l *Line) value(name, value string, depth int) {
	switch name {
	case "output-file", "o":
		l.Output = value
	case "output-directory", "odir":
		l.OutDir = value
	case "options-file", "optf":
		for _, file := range strings.Split(value, ",") {
			if depth >= maxNesting {
				l.Options = file + ": option files name each other more than 16 deep"
				return
			}
			file = inside(l.dir, file)
			info, err := os.Stat(file)
			if err == nil && info.Size() > maxOptionFile {
				l.Options = file + ": larger than 1 MiB"
				return
			}
			text, err := os.ReadFile(file)
			if err != nil {
				l.Options = err.Error()
				return
			}
			l.read(split(string(text)), depth+1)
		}
	case "qpp-config":
		l.Query = true
	case "x":
		l.cuda = value == "cu"
	case "cpp-prefix":
		l.HostPrefix = true
	default:
		if prefixes[name] {
			l.Prefix = true
		}
		if sideFiles[name] {
			l.Sides++
		}
		if passed[name] && l.Stray == "" {
			l.Stray = strayWord(value)
		}
	}
}

// settle draws the conclusions.
func (l *Line) settle() {
	if len(l.Inputs) == 0 || l.Query {
		return
	}
	if l.Phase != "compile" {
		l.Steps = true // a link has nvlink's step
		return
	}
	// A C or C++ file that is only compiled goes to the host compiler alone, unless -x says that it is CUDA.
	l.Steps = l.cuda
	for _, input := range l.Inputs {
		switch strings.ToLower(filepath.Ext(input)) {
		case ".c", ".cc", ".cpp", ".cxx", ".s", ".o", ".a", ".so":
		default:
			l.Steps = true
		}
	}
}

// Target is a name for what the command writes, so that of two commands with the same one the later counts (apply.go).
// dir is the folder in which it runs.
func (l *Line) Target(dir string) string {
	if l.Output != "" {
		if filepath.IsAbs(l.Output) {
			return filepath.Clean(l.Output)
		}
		return filepath.Join(dir, l.Output) // -odir does not count then
	}
	// Without -o the names come from the inputs.
	return inside(dir, l.OutDir) + "\x00" + l.Phase + "\x00" + strings.Join(l.Inputs, "\x00")
}
