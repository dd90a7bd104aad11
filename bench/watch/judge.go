package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gnvcc/bench/lab"
)

// A judged is one edit of kernel 2, judged by gnvcc judge --serve on the captured launch.
type judged struct {
	Harmless bool    // the edit changes no result
	Seconds  float64 // from the line to the answer
	Answer   json.RawMessage
}

// judge asks one gnvcc judge --serve for so many judgements, as a program does that edits a kernel:
// each when the verdict on the last is there, an edit without and one with another result in turn.
// The first makes the original ready and is left out of the figure.
func (b *bench) judge(ctx context.Context, p *project, times int) error {
	if err := b.captured(p); err != nil {
		return err
	}
	serve := exec.CommandContext(ctx, p.gnvcc, "judge", "--serve")
	serve.Dir, serve.Env, serve.Stderr = p.dir, p.env, os.Stderr
	to, err := serve.StdinPipe()
	if err != nil {
		return err
	}
	out, err := serve.StdoutPipe()
	if err != nil {
		return err
	}
	if err := serve.Start(); err != nil {
		return err
	}
	from := bufio.NewReader(out)
	original := source()
	var seconds []float64
	for i := range times + 1 {
		harmless := i%2 == 0
		body := fmt.Sprintf("#pragma unroll %d\n  for (int round = 0; round < 64", 2+i%7)
		if !harmless {
			body = fmt.Sprintf("sum += %d; for (int round = 0; round < 64", i)
		}
		at := strings.Index(original, "void k2(")
		edited := original[:at] + strings.Replace(original[at:], "for (int round = 0; round < 64", body, 1)
		if err := p.write("edited.cu", edited); err != nil {
			return err
		}
		line, err := json.Marshal(map[string]string{"file": filepath.Join(p.dir, "edited.cu"),
			"of": filepath.Join(p.dir, "many.cu"), "kernel": "k2"})
		if err != nil {
			return err
		}
		begun := time.Now()
		if _, err := fmt.Fprintf(to, "%s\n", line); err != nil {
			return err
		}
		text, err := from.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("judge --serve gave no answer: %w", err)
		}
		j := judged{harmless, time.Since(begun).Seconds(), text}
		var answer struct {
			Equal bool
			Error string
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return fmt.Errorf("read %s: %w", text, err)
		}
		if answer.Error != "" || answer.Equal != harmless {
			fmt.Printf("FAIL an edit that is %sharmless: %s\n", map[bool]string{false: "not "}[harmless], text)
			b.wrong++
		}
		if b.Judged = append(b.Judged, j); i > 0 {
			seconds = append(seconds, j.Seconds)
		}
	}
	fmt.Printf("FIGURE %d judgements, %.3f s each in the median: %.0f a minute\n", len(seconds),
		lab.Median(seconds), 60/lab.Median(seconds))
	if err := to.Close(); err != nil {
		return err
	}
	return serve.Wait()
}
