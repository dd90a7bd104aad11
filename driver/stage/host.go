package stage

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gnvcc/driver/splice"
	"gnvcc/driver/toolcmd"
	"gnvcc/driver/toolkit"
)

// The host stage: host code in, object out. Like cudafe++'s it is there for apply only. A recipe as
// a rule changes the device code in that object and nothing else, so the host compiler's result is
// kept without it, and an apply puts the new device code in (driver/splice).
//
// The proof that all else is the same is the host compiler's own: it preprocesses the file (3 % of
// a build), and the text that comes out, without the device code, is part of the key; so whatever a
// header says now, a header that stands before another since, __TIME__ and __has_include are seen.
// So are the commands that the compiler says it would run (gcc -###), the files of those programs,
// and all that goes into every key (reuse.go). What preprocessed text does not show is kept out:
// options are those that are known to read and write nothing else; precompiled headers can't be,
// since code stands before the first #include; and the assembler says which files it has read
// (.incbin).
//
// With -g two compiles of the same are not alike (GCC orders the strings of debug information by
// hashes, and nvcc's temporary names are among them), so that nothing could be verified: left to
// the compiler.
//
// GCC only: clang's own assembler and clang's -### are not known.

func (s *stage) host() error {
	args := s.words[1:]
	c, err := toolcmd.ReadHost(args)
	if err != nil {
		return err
	}
	r, code, err := s.hostReuse(c)
	if err != nil {
		return fmt.Errorf("nothing is kept for apply: %w: %w", err, toolcmd.ErrAside)
	}
	if s.take(r) {
		return nil
	}
	// Where this fails the compiler runs once more, as the user asked for, and says what is wrong.
	folder, err := s.watch.Folder()
	if err != nil {
		return fmt.Errorf("scratch folder: %w", err)
	}
	reads := filepath.Join(folder, "reads")
	if strings.Contains(reads, ",") {
		return fmt.Errorf("%s has a comma, which -Wa can't pass on: %w", reads, toolcmd.ErrAside)
	}
	var out, errors bytes.Buffer
	cmd := &exec.Cmd{Path: s.tool, Args: append(slices.Clone(s.words), "-Wa,--MD,"+reads),
		Env: s.env.Tool(), Stdin: os.Stdin, Stdout: &out, Stderr: &errors}
	end, err := s.watch.Run(cmd, false)
	if err != nil || !end.OK() {
		if end.Signal != 0 {
			s.result = &end
		}
		return err
	}
	s.result = &end
	os.Stdout.Write(out.Bytes())
	os.Stderr.Write(errors.Bytes())
	text, err := os.ReadFile(reads)
	if err != nil || !readsOnly(string(text), args[c.In], code) {
		s.log.Debug().Str("reads",
			string(text)).Msg("the assembler has read further files: nothing is kept for apply")
		return nil
	}
	return s.keepStep(r)
}

// readsOnly reports whether what as --MD writes names the compiler's own output (/tmp/ccAbCdEf.s,
// with -pipe {standard input}) and besides only files that the code is said to come from: gas
// counts these in, without reading them. .incbin and .include of a header that is a source of the
// code as well would look the same, so the text must not have these words either.
func readsOnly(rule, input, text string) bool {
	_, rule, ok := strings.Cut(strings.ReplaceAll(rule, "\\\n", " "), ": ")
	if !ok || strings.Contains(text, ".incbin") || strings.Contains(text, ".include") {
		return false
	}
	own := regexp.MustCompile(`^\S*/cc[A-Za-z0-9]{6}\.s$`)
	rule = strings.ReplaceAll(rule, "{standard input}", "")
	for _, name := range strings.Fields(strings.ReplaceAll(rule, "\\ ", "\x00")) {
		name = strings.ReplaceAll(name, "\x00", " ")
		if name != filepath.Base(input) && !own.MatchString(name) &&
			!strings.Contains(text, `"`+name+`"`) {
			return false
		}
	}
	return true
}

// hostReuse describes the compile: what it depends on besides the device code, and how the device
// code gets into its result. code is the preprocessed text.
func (s *stage) hostReuse(c *toolcmd.Host) (r *reuse, code string, err error) {
	args := s.words[1:]
	if toolkit.IsScript(s.tool) {
		return nil, "", fmt.Errorf("%s is a script, which may do anything", s.tool)
	}
	steps, err := s.hostSteps(args)
	if err != nil {
		return nil, "", err
	}
	text, err := s.ask(c.Preprocess)
	if err != nil {
		return nil, "", fmt.Errorf("preprocess the host code: %w", err)
	}
	if !codeFirst(text.out) {
		return nil, "", fmt.Errorf("a header is read before all code: it might be precompiled")
	}
	f, err := splice.CutFatbin(text.out)
	if err != nil {
		return nil, "", err
	}
	// Where the object goes stands in the steps, too, as does its folder.
	if out := args[c.Out]; !strings.Contains(out, toolcmd.Temporary) {
		folder := regexp.MustCompile(` '?-dumpdir'? ('[^'\n]*'|"[^"\n]*"|\S+)`)
		steps = strings.ReplaceAll(folder.ReplaceAllString(steps, ""), out, toolcmd.PlaceOut)
	}
	if r, err = s.newReuse(nil, []string{args[c.Out]}, steps, f.Section, f.Before,
		f.After); err != nil {
		return nil, "", err
	}
	r.bare = func(object []byte) ([]byte, error) {
		bare, err := splice.Replace(object, f.Section, f.Data, nil)
		if err != nil {
			return nil, err
		}
		again, err := splice.Replace(bare, f.Section, nil, f.Data)
		if err == nil && !bytes.Equal(again, object) {
			err = fmt.Errorf("%w: it is laid out otherwise than gas does it", splice.ErrObject)
		}
		return bare, err
	}
	r.whole = func(bare []byte) ([]byte, error) { return splice.Replace(bare, f.Section, nil, f.Data) }
	return r, text.out, nil
}

// codeFirst reports whether code stands before the first file that preprocessed text includes: a
// precompiled header takes a header's place only where nothing stands before it. The compiler's own
// first line, stdc-predef.h, does not count: it has comments and macros only.
func codeFirst(text string) bool {
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#pragma"):
		case !strings.HasPrefix(line, "#"):
			return true
		case strings.HasSuffix(line, "\" 1") || strings.Contains(line, "\" 1 "): // enters a file
			if !strings.Contains(line, "/stdc-predef.h\"") {
				return false
			}
		}
	}
	return false
}

// hostSteps is what the compiler says that it would run, with the keys of those programs.
func (s *stage) hostSteps(args []string) (string, error) {
	said, err := s.ask(append([]string{"-###"}, args...))
	if err != nil {
		return "", fmt.Errorf("ask %s for its steps: %w", s.tool, err)
	}
	if !strings.Contains(said.errors, "\ngcc version ") {
		return "", fmt.Errorf("%s is not GCC", s.tool)
	}
	var programs []string
	for _, line := range strings.Split(said.errors, "\n") {
		command, ok := strings.CutPrefix(line, " ")
		if !ok {
			continue
		}
		program, _, _ := strings.Cut(command, " ")
		if program = toolkit.LookPath(program, s.env.Get("PATH")); program == "" ||
			toolkit.IsScript(program) {
			return "", fmt.Errorf("a step of %s is not to be found, or a script: %s", s.tool, command)
		}
		key, err := s.store.FileKey(program)
		if err != nil {
			return "", err
		}
		programs = append(programs, key)
	}
	if len(programs) != 2 { // cc1plus and as
		return "", fmt.Errorf("%s has %d steps, not two", s.tool, len(programs))
	}
	// between the two steps, another name each time
	passing := regexp.MustCompile(`/cc[A-Za-z0-9]{6}\.s\b`)
	return passing.ReplaceAllString(said.errors, "/cc.s") + strings.Join(programs, "\n"), nil
}

// An answer is what a program printed.
type answer struct{ out, errors string }

// ask runs the tool with other arguments, quietly. Its failing is an error.
func (s *stage) ask(args []string) (answer, error) {
	var out, errors bytes.Buffer
	cmd := &exec.Cmd{Path: s.tool, Args: append([]string{s.words[0]}, args...), Env: s.env.Tool(),
		Stdout: &out, Stderr: &errors}
	end, err := s.watch.Run(cmd, true)
	if err == nil && !end.OK() {
		err = fmt.Errorf("exit code %d: %.200s", end.Code, errors.String())
	}
	return answer{out.String(), errors.String()}, err
}
