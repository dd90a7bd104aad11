package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// An idle is what a watch with nothing to do costs.
type idle struct {
	Files    int
	Seconds  float64 // that were looked at
	CPU      float64 // processor time in them, seconds
	Resident float64 // MB, at the end
	Most     float64 // and at most
}

// idle builds a program that includes so many headers, and looks at the watch for a minute.
func (b *bench) idle(p *project, files int) error {
	var all strings.Builder
	for i := range files {
		name := filepath.Join("headers", strconv.Itoa(i/100), fmt.Sprintf("h%d.h", i))
		if err := os.MkdirAll(filepath.Dir(filepath.Join(p.dir, name)), 0o755); err != nil {
			return err
		}
		if err := p.write(name, fmt.Sprintf("#define H%d %d\n", i, i)); err != nil {
			return err
		}
		fmt.Fprintf(&all, "#include \"%s\"\n", name)
	}
	if err := p.write("all.h", all.String()); err != nil {
		return err
	}
	if err := p.replace("#include \"scale.h\"\n",
		"#include \"all.h\"\n#include \"scale.h\"\n"); err != nil {
		return err
	}
	if err := p.build(); err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	s, err := p.until(func(s status) bool { return s.Files >= files && s.Idle })
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
	return p.stop()
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
