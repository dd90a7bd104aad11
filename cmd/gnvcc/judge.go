package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/policy/judge"
)

const judgeAbout = `Judges an edited kernel: FILE.cu is compiled by the recorded command (of the file itself, or of --of SOURCE), in a scratch folder, and its
kernels are run on the captured launches, next to the originals: the same bytes or not, on captured and on varied data, and how fast. Nothing of
yours is written. Without a GPU, or with --emulate, both run in the emulator (sm_90 alone), on small captured launches and on launches made up;
then the speed is a prediction. Exit code 0: equal and faster, 1: not equal,
2: it can't be judged, 3: equal, and not faster.

With --serve it stays, reads JSON lines from its input ({"file": "k.cu", "of": "kernels.cu", "kernel": "k"}) and answers each with one.`

// judgeOptions are what the user may say.
type judgeOptions struct {
	of, kernel, within    string
	emulate, asJSON, stay bool
}

// judgeVerb judges an edited kernel.
func judgeVerb() *cobra.Command {
	var o judgeOptions
	c := newVerb("judge [OPTIONS] FILE.cu", "is an edited kernel still the original, and is it faster? For people and programs that edit kernels", judgeAbout, arguments(0, 1))
	fs := c.Flags()
	fs.StringVar(&o.of, "of", "", "the recorded `source` that FILE.cu is an edit of (default: FILE.cu itself, or the recorded file of its name)")
	fs.StringVar(&o.kernel, "kernel", "", "judge this `kernel` alone (default: all that differ)")
	fs.StringVar(&o.within, "within", "", "numbers may differ by `ABS,REL`: absolutely or relatively, one is enough")
	fs.BoolVar(&o.emulate, "emulate", false, "run both in the emulator, though there may be a GPU")
	fs.BoolVar(&o.asJSON, "json", false, "as JSON")
	fs.BoolVar(&o.stay, "serve", false, "stay, and judge what comes as JSON lines")
	return onStore(c, 2, func(ctx context.Context, store *cache.Store, args []string) error {
		switch {
		case o.stay && len(args) > 0:
			return errors.New("--serve reads the files' names from its input")
		case !o.stay && len(args) == 0:
			return errors.New("which file? gnvcc judge FILE.cu")
		}
		return judgeMain(ctx, store, o, args)
	})
}

// longestJudgement is how long one may take.
const longestJudgement = time.Minute

// A request is a line of --serve.
type request struct {
	File, Of, Kernel string
}

func judgeMain(ctx context.Context, store *cache.Store, o judgeOptions,
	args []string) (err error) {
	options := judge.Options{Store: store, Emulate: o.emulate || !driverHere(), GPU: gpu,
		Stays: o.stay, Tools: watchTools}
	if options.Within, err = readWithin(o.within); err != nil {
		return fmt.Errorf("--within: %w", err)
	}
	j, err := judge.NewJudging(ctx, options)
	if err != nil {
		return err
	}
	defer j.Close()
	one := func(r request) (*judge.Judgement, error) {
		ctx, cancel := context.WithTimeout(ctx, longestJudgement)
		defer cancel()
		file, err := filepath.Abs(r.File)
		if err != nil {
			return nil, err
		}
		if r.Of != "" {
			if r.Of, err = filepath.Abs(r.Of); err != nil {
				return nil, err
			}
		}
		return j.Judge(ctx, file, r.Of, r.Kernel)
	}
	if o.stay {
		return serveJudge(ctx, one)
	}
	got, err := one(request{args[0], o.of, o.kernel})
	if err != nil {
		return err
	}
	if o.asJSON {
		err = tellJSON("judge", got)
	} else {
		printJudgement(got)
	}
	switch {
	case err != nil:
		return err
	case !got.Equal:
		return exit(1)
	case !got.Faster:
		return exit(3)
	}
	return nil
}

// serveJudge answers one line by one, until its input ends.
func serveJudge(ctx context.Context, one func(request) (*judge.Judgement, error)) error {
	in := bufio.NewReader(os.Stdin)
	var broken error
	next := make(chan string) // read meanwhile: who ends us does not wait for a line
	go func() {
		defer close(next)
		for {
			text, err := readRequest(in)
			if err == nil || text != "" {
				next <- text
			}
			if err != nil {
				if err != io.EOF {
					broken = err
				}
				return
			}
		}
	}()
	for {
		text, more := "", false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case text, more = <-next:
		}
		if !more {
			return broken
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		var r request
		var got *judge.Judgement
		err := errLong
		if len(text) <= longestRequest {
			err = json.Unmarshal([]byte(text), &r)
		}
		if err == nil && r.File == "" {
			err = errors.New(`a line names a file: {"file": "k.cu"}`)
		}
		if err == nil {
			got, err = one(r)
		}
		if err != nil {
			got = &judge.Judgement{File: r.File, Of: r.Of, Error: err.Error()}
		}
		line, err := formattedLine("judge", got)
		if err != nil {
			return err
		}
		if _, err := console.Write(line); err != nil {
			return err
		}
	}
}

const longestRequest = 1 << 20

var errLong = fmt.Errorf("a line has more than %d bytes", longestRequest)

// readRequest reads a line, of which it keeps a little more than it may have.
func readRequest(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), longestRequest+2-len(line))]...)
		if err != bufio.ErrBufferFull {
			return string(line), err
		}
	}
}

// readWithin reads ABS,REL.
func readWithin(text string) (w judge.Within, err error) {
	if text == "" {
		return w, nil
	}
	abs, rel, both := strings.Cut(text, ",")
	if w.Absolute, err = strconv.ParseFloat(abs, 64); err == nil && both {
		w.Relative, err = strconv.ParseFloat(rel, 64)
	}
	if err != nil || !both || !(w.Absolute >= 0) || !(w.Relative >= 0) {
		return w, fmt.Errorf("%q is not ABS,REL, as 0,1e-6 is", text)
	}
	return w, nil
}

func printJudgement(j *judge.Judgement) {
	for _, k := range j.Kernels {
		fmt.Fprintf(console, "%s: %s\n", k.Short, k.Sentence())
		for _, line := range k.Lines() {
			fmt.Fprintln(console, "  "+line)
		}
	}
	for _, note := range j.Notes {
		fmt.Fprintln(console, note)
	}
}
