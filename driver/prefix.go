package driver

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"gnvcc/cache"
)

// The words that nvcc puts in front of a step. nvcc joins prefix and command with a space and gives the whole to sh -c:
//
//	WORD 2>/dev/null </dev/null/x; "$GNVCC_STAGE" gnvcc-stage:ptxas ptxas -arch=sm_90 "x.ptx" -o "x.cubin"
//
// When a signal ends the shell, nvcc says `'WORD' died due to signal 2`: the first word of the command, as it stands. So ours begins
// with the word that stands there without us. As a command it never runs: a shell that can't redirect does not start it,
// and nothing can be opened below /dev/null. That failure goes without a word, stderr having been redirected before.
// What follows is a simple command at the end of the line, as the step's own was: shells that replace themselves by
// it do so, those that report a crash of it ("Segmentation fault", 139) do that.
//
// GNVCC_STAGE is a variable so that a path with spaces, quotes or dollars reaches the shell whole. The text has no comma, at which nvcc
// would split it.

// stageWord begins the word that makes gnvcc a stage; the step's name follows. No file of a user's is called so.
const stageWord = "gnvcc-stage:"

// prefixFor is the prefix for a step. nvcc 11.8 to 13.5 put nvlink's so-called prefix behind its word: `nvlink PREFIX -m64 ...`. So that
// one is without the word, which gives the same line, and should an nvcc put it in front one day, it does no harm there.
func prefixFor(step, word string) string {
	if step == "nvlink" {
		word = ""
	}
	return strings.TrimLeft(word+` 2>/dev/null </dev/null/x; "$`+varStage+`" `+stageWord+step, " ")
}

// prefixArgs are the options that make nvcc run its steps through us.
func prefixArgs(ciccWord string) []string {
	return []string{
		"--cicc-prefix", prefixFor("cicc", ciccWord),
		"--ptxas-prefix", prefixFor("ptxas", "ptxas"),
		"--nvlink-prefix", prefixFor("nvlink", "nvlink"),
	}
}

// The first word of nvcc's cicc command: 13.x writes the variable, 12.4 and older the name.
const (
	ciccWordNew = `"$CICC_PATH/cicc"`
	ciccWordOld = `cicc`
)

// memoCicc keeps, for each nvcc binary, which word it is.
const memoCicc = "ciccword"

// ciccWord says how an nvcc begins its cicc command: the text stands in its binary. One look at 20 MB, then it is kept.
func ciccWord(nvcc string, store *cache.Store) string {
	key, err := fileKey(nvcc)
	if err != nil {
		return ciccWordNew
	}
	if store != nil {
		if kept, ok := store.Memo(memoCicc, key); ok && (string(kept) == ciccWordNew || string(kept) == ciccWordOld) {
			return string(kept)
		}
	}
	text, err := os.ReadFile(nvcc)
	if err != nil {
		return ciccWordNew
	}
	word := ciccWordOld
	if bytes.Contains(text, []byte(ciccWordNew)) || bytes.HasPrefix(text, []byte("#!")) { // a script: any nvcc may stand behind it
		word = ciccWordNew
	}
	if store != nil {
		store.PutMemo(memoCicc, key, []byte(word)) // if it can't be kept it is looked up again
	}
	return word
}

// fileKey identifies a file's content without reading it: path, size and time of modification. A tool that was
// replaced within the same nanosecond by another of the same size is taken for the old one.
func fileKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return cache.Hash([]byte(fmt.Sprintf("%s\x00%d\x00%d", path, info.Size(), info.ModTime().UnixNano()))), nil
}

// StageOf tells whether a command line (without argv[0]) is that of a stage, and of which.
func StageOf(args []string) (step string, rest []string, ok bool) {
	if len(args) >= 2 {
		if step, ok = strings.CutPrefix(args[0], stageWord); ok {
			rest = args[1:]
			if step == "nvlink" && strings.HasPrefix(rest[0], "-") { // its word stood in front of the prefix
				rest = append([]string{step}, rest...)
			}
			return step, rest, true
		}
	}
	return "", nil, false
}
