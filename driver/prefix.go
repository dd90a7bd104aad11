package driver

import (
	"gnvcc/driver/environment"
	"gnvcc/driver/stage"
)

// The words that nvcc puts in front of a step. nvcc joins prefix and command with a space and gives
// the whole to sh -c:
//
//	WORD 2>/dev/null </dev/null/x; GOMAXPROCS=1 "$GNVCC_STAGE" gnvcc-stage:ptxas ptxas -arch=sm_90 "x.ptx" -o "x.cubin"
//
// When a signal ends the shell, nvcc says `'WORD' died due to signal 2`: the first word of the
// command, as it stands. So ours begins with the word that stands there without us. As a command it
// never runs: a shell that can't redirect does not start it, and nothing can be opened below
// /dev/null. That failure goes without a word, stderr having been redirected before. What follows
// is a simple command at the end of the line, as the step's own was: shells that replace themselves
// by it do so, those that report a crash of it ("Segmentation fault", 139) do that.
//
// GOMAXPROCS is Go's: a stage waits for its tool most of the time, and has fewer threads so. GNVCC_STAGE is
// a variable so that a path with spaces, quotes or dollars reaches the shell in one piece.
// The text has no comma, at which nvcc would split it.

// nvcc 11.8 to 13.5 put nvlink's so-called prefix behind its word: `nvlink PREFIX -m64 ...`. So
// that one is without the word, and should an nvcc put it in front one day, it does no harm there.
// Where nvlink's words are many (more than 100 inputs; from 13.0 on, more than 8,000 characters),
// nvcc writes them into a file, the prefix with them, and runs `nvlink -optf FILE`. So the prefix
// begins and ends with an option that nvlink ignores (stage.Ignored) and a double quote. The shell
// takes that one for a character, between single ones, and nvlink's reader of option files for the
// begin or end of a group: it reads the prefix as one word, the option with a value.
//
//	nvlink --host-linker-options='"' 2>/dev/null </dev/null/x; GOMAXPROCS=1 "$GNVCC_STAGE" gnvcc-stage:nvlink
//	--host-linker-options='"' -m64 ... (on one line)

// prefixFor is the prefix for a step.
func prefixFor(step, word string) string {
	end := ""
	if step == "nvlink" {
		word = stage.Ignored + `'"'`
		end = " " + word
	}
	return word + ` 2>/dev/null </dev/null/x; GOMAXPROCS=1 "$` + environment.Stage + `" ` + stage.Word + step + end
}

// prefixArgs are the options that make nvcc run its steps through us.
//
// cudafe++ has a stage only in an apply, in a command that is tried (driver/apply, Try), and (again)
// where names would be others in each build (driver/record/module.go): in every build it would cost
// some 10 ms a file (bench/build: 1.025 times nvcc's time with it). So the first apply runs cudafe++
// and keeps what it writes; later ones take that.
//
// The host compiler has one for the same reason. Its prefix is called cpp's and stands in front of
// each of its calls; all but the compile of what cudafe++ wrote are left to it. host: it may be
// set, the user having none of his own.
//
// keeps: nvcc keeps its files for the user, nvlink's words among them where these stand in a file.
// Then nvlink has no stage.
func prefixArgs(env *environment.Environment, ciccWord string, host, keeps,
	again bool) []string {
	args := append(ciccPrefix(ciccWord), ptxasPrefix...)
	if !keeps {
		args = append(args, nvlinkPrefix...)
	}
	if env.Reuse || env.Stop || again {
		args = append(args, cudafePrefix...)
	}
	if (env.Reuse || env.Stop) && host {
		args = append(args, hostPrefix...)
	}
	return args
}

// ciccPrefix is the option for cicc, whose word is not the same in all versions (manner.go).
func ciccPrefix(word string) []string { return []string{"--cicc-prefix", prefixFor("cicc", word)} }

// The options for the other steps.
var (
	ptxasPrefix  = []string{"--ptxas-prefix", prefixFor("ptxas", "ptxas")}
	nvlinkPrefix = []string{"--nvlink-prefix", prefixFor("nvlink", "")}
	cudafePrefix = []string{"--cudafe-prefix", prefixFor("cudafe", "cudafe++")}
	hostPrefix   = []string{"--cpp-prefix", prefixFor("host", "gcc")}
)
