package toolcmd

import (
	"path"
	"slices"
	"strings"
)

// Words that nvcc hands on to the tools that it runs (-Xcompiler, -Xlinker, ...). gnvcc apply runs a
// command again only where it knows of each of them that it names no file that is written, and that
// two runs with it give the same. What is not known here is left to the user: a list of the options
// that do write (-fopt-info=FILE, -Wa,-al=FILE, -aux-info, -Map, ...) would never be complete.

// plain are such words by nvcc's option for the tool, as patterns of path.Match. For the host
// compiler there is hostTable, with rows here for what it hands on itself; for ptxas its own table.
var plain = map[string]string{
	"-Wa": `--noexecstack --execstack --fatal-warnings --no-warn -W -g* --gdwarf* --32 --64 -m* -I*
		--generate-missing-build-notes=* -mbig-obj`,
	"-Wp": `-D* -U* -I*`,
	"linker-options": `-rpath* --rpath* --enable-new-dtags --disable-new-dtags -soname* --soname* -h
		-z -L* -l* -O* -B* -E -export-dynamic --export-dynamic --as-needed --no-as-needed
		--whole-archive --no-whole-archive --start-group --end-group -( -) --no-undefined
		--allow-shlib-undefined --no-allow-shlib-undefined --unresolved-symbols=* --gc-sections
		--no-gc-sections --build-id* --hash-style=* --exclude-libs* --version-script=* --dynamic-list*
		--sort-common* --eh-frame-hdr --copy-dt-needed-entries --no-copy-dt-needed-entries -m -u -e -s
		-S --strip-all --strip-debug --icf=* --fatal-warnings --no-fatal-warnings --warn-* --defsym*
		--wrap* --undefined* -rpath-link* -dynamic-linker* --dynamic-linker* -T* -no-pie -pie
		-static -shared -dynamic -Bstatic -Bdynamic -w --no-relax --relax --push-state --pop-state`,
	"archive-options": `[a-zA-Z]*`,
	"cudafe-options":  `--diag_* --display_error_number --no_display_error_number --promote_warnings -w`,
	"fatbin-options":  `-compress* --compress* -no-compress --no-compress`,
	"nvlink-options": `-v --verbose -w --disable-warnings --disable-infos --extra-warnings
		--warning-as-error -Werror --suppress-* --maxrregcount* -maxrregcount* --no-* -no-*
		--use-host-info -use-host-info --ignore-host-info -ignore-host-info`,
	"cicc-options": `-O[0-3] -opt* -opt=* -inline-* -use_fast_math -ftz=* -prec-* -fma=* -maxreg=*`,
}

// strayWord gives the first of the words behind one of nvcc's options that is not known to be
// harmless, "" if all are.
func strayWord(option, value string) string {
	if strings.ContainsAny(value, ";&|<>`") { // nvcc hands them to a shell as they stand
		return value
	}
	words := Words(strings.Join(unescaped(value), " "))
	switch option {
	case "compiler-options":
		return strayHost(words)
	case "ptxas-options":
		read, _ := ptxasTable().read(words)
		for _, w := range read {
			if !w.known || w.does == ptxasAside || w.name == "output-file" {
				return w.text
			}
		}
		return ""
	}
	return strayOf(option, words)
}

// strayOf is strayWord for a tool with a row in plain. Words without a dash are values, or files
// that are read.
func strayOf(tool string, words []string) string {
	patterns := strings.Fields(plain[tool])
	for _, word := range words {
		known := slices.ContainsFunc(patterns, func(p string) bool {
			match, err := path.Match(p, strings.ReplaceAll(word, "/", "|"))
			return match && err == nil
		})
		if option := strings.HasPrefix(word, "-") || tool == "archive-options"; option && !known ||
			strings.HasPrefix(word, "@") {
			return word
		}
	}
	return ""
}

// strayHost is strayWord for words of the host compiler.
func strayHost(words []string) string {
	read, err := hostTable().read(words)
	if err != nil {
		return strings.Join(words, " ")
	}
	for _, w := range read {
		stray, handed := "", strings.Split(w.text, ",")
		switch {
		case len(handed) > 1 && handed[0] == "-Wl", w.name == "-Xlinker":
			stray = strayOf("linker-options", append(handed[1:], w.value))
		case len(handed) > 1 && (handed[0] == "-Wa" || handed[0] == "-Wp"):
			stray = strayOf(handed[0], handed[1:])
		case w.name == "-Xassembler":
			stray = strayOf("-Wa", []string{w.value})
		case w.name == "-o" || w.name == "-x", !w.known && !plainHost(w.text) && !w.input() &&
			!readsHost(w.text), strings.HasPrefix(w.text, "@"):
			stray = w.text
		}
		if stray != "" {
			return w.text
		}
	}
	return ""
}

// readsHost is plainHost for options that read files, or change what is kept of a compile.
func readsHost(option string) bool {
	return slices.ContainsFunc([]string{"-L", "-l", "-B", "-fuse-ld=", "-static-", "--sysroot=",
		"-ffile-prefix-map=", "-fdebug-prefix-map=", "-fmacro-prefix-map=", "-fsanitize=",
		"-fsanitize-recover", "-ftls-model=", "-fzero-call-used-regs=", "-ftrivial-auto-var-init=",
		"-finput-charset=", "-fexec-charset=", "-ftemplate-backtrace-limit", "-frandom-seed="},
		func(p string) bool { return strings.HasPrefix(option, p) })
}

// unescaped cuts a list at its commas, as nvcc does: behind a backslash one is the word's own.
func unescaped(list string) []string {
	words, word := []string(nil), []byte(nil)
	for i := 0; i < len(list); i++ {
		switch {
		case list[i] == '\\' && i+1 < len(list) && list[i+1] == ',':
			word = append(word, ',')
			i++
		case list[i] == ',':
			words, word = append(words, string(word)), nil
		default:
			word = append(word, list[i])
		}
	}
	return append(words, string(word))
}
