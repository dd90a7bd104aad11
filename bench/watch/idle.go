package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gnvcc/bench/watch/script"
)

// An idle is what a watch with nothing to do costs.
type idle struct {
	Files    int
	Seconds  float64 // that were looked at
	CPU      float64 // processor time in them, seconds
	Resident float64 // MB, at the end
	Most     float64 // and at most
}

// idle builds a program of which so many headers are watched, and looks at the watch for a minute.
func (b *bench) idle(gnvcc, nvcc string, files int) error {
	p, err := project(gnvcc, nvcc)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(p.Dir))
	if err := manyHeaders(p, files); err != nil {
		return err
	}
	if err := p.Build(); err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	s, err := p.Until(func(s script.Status) bool { return s.Files >= files && s.Idle })
	if err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	dir := fmt.Sprintf("/proc/%d", s.PID)
	before, begun := processorTime(dir), time.Now()
	time.Sleep(time.Minute)
	b.Idle = &idle{Files: s.Files, Seconds: time.Since(begun).Seconds(),
		CPU:      processorTime(dir) - before,
		Resident: memory(dir, "VmRSS:"), Most: memory(dir, "VmHWM:")}
	fmt.Printf(
		"FIGURE an idle watch of %d files: %.2f %% of a processor, %.1f MB resident (at most %.1f)\n",
		b.Idle.Files, 100*b.Idle.CPU/b.Idle.Seconds, b.Idle.Resident, b.Idle.Most)
	return p.Stop()
}

// manyHeaders spreads headers over folders, and includes them all.
func manyHeaders(p *script.Project, files int) error {
	var all strings.Builder
	for i := range files {
		name := filepath.Join("headers", strconv.Itoa(i/100), fmt.Sprintf("h%d.h", i))
		path := filepath.Join(p.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "#define H%d %d\n", i, i), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&all, "#include \"%s\"\n", name)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "all.h"), []byte(all.String()), 0o644); err != nil {
		return err
	}
	return p.Replace("many.cu", "#include \"scale.h\"\n", "#include \"all.h\"\n#include \"scale.h\"\n")
}

// processorTime is what a process has used, seconds: fields 14 and 15 of stat, in hundredths
// (USER_HZ).
func processorTime(dir string) float64 {
	text, _ := os.ReadFile(filepath.Join(dir, "stat"))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// memory is a line of status, MB.
func memory(dir, line string) float64 {
	text, _ := os.ReadFile(filepath.Join(dir, "status"))
	_, rest, _ := strings.Cut(string(text), line)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.ParseFloat(fields[0], 64)
	return kb / 1000
}
