package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"gnvcc/install/kits"
)

// terminal makes a pseudo terminal of so many columns; what is written to the second file is read
// from the first.
func terminal(t *testing.T, columns uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("SKIPPED: no pseudo terminals here:", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip("SKIPPED: no pseudo terminal can be set up here:", err)
	}
	return master, slave
}

// TestTerminal: on a terminal of 40 columns every line of every verb that prints text for people
// fits, with the recipes of the examples in the store; without UTF-8 all of it is ASCII; and there
// are no colours or control characters, neither there nor in a pipe.
func TestTerminal(t *testing.T) {
	v := newSite(t, kits.Any(t).Nvcc(), "NO_COLOR=1", "LC_ALL=")
	recorded, err := filepath.Abs("../../examples/recorded-h200.json")
	v.must(err)
	run := func(out *os.File, locale, kind string, args ...string) (string, error) {
		cmd := v.command(v.exe, args...)
		cmd.Env = append(cmd.Env, "LANG="+locale, "TERM="+kind)
		if out != nil {
			cmd.Stdout, cmd.Stderr = out, out
			return "", cmd.Run()
		}
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	if text, err := run(nil, "C", "dumb", "lock", "--take", recorded); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	v.write("k.cu", "__global__ void k(float *p) { p[threadIdx.x] *= 2; }\n")
	if text, err := run(nil, "C", "dumb", "-arch=sm_90", "-c", "k.cu", "-o", "k.o"); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	lines := [][]string{{"help"}, {"report", "--all"},
		{"explain", "median"}, {"status"}, {"doctor", "--store"}, {"doctor"}, {"apply"},
		{"doctor", "--captures"}, {"doctor", "--config"}, {"predict", "k"}}
	for _, c := range root().Commands() {
		lines = append(lines, []string{c.Name(), "--help"})
	}
	for _, args := range lines {
		for _, kind := range []string{"dumb", "xterm"} {
			master, slave := terminal(t, 40)
			seen := make(chan string)
			go func() {
				text, _ := io.ReadAll(master) // ends by an error when the other end is closed
				seen <- string(text)
			}()
			_, err := run(slave, "C", kind, args...)
			slave.Close()
			text := strings.ReplaceAll(<-seen, "\r\n", "\n")
			if err != nil {
				t.Errorf("gnvcc %s: %v\n%s", strings.Join(args, " "), err, text)
			}
			if kind == "xterm" { // a line that is overwritten while something is done
				text = text[strings.LastIndex(text, "\r\x1b[K")+1:]
				text = strings.TrimPrefix(text, "\x1b[K")
			}
			judgeText(t, args, text, 40)
		}
		text, err := run(nil, "C", "xterm", args...)
		if err != nil {
			t.Errorf("gnvcc %s: %v", strings.Join(args, " "), err)
		}
		judgeText(t, args, text, 1<<20)
	}
	if text, _ := run(nil, "en_GB.UTF-8", "xterm", "report", "--all"); !strings.Contains(text, "±") {
		t.Error("with UTF-8 the report does without it")
	}
}

// judgeText fails on lines that are too wide, on control characters and on what is not ASCII.
func judgeText(t *testing.T, args []string, text string, columns int) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > columns {
			t.Errorf("gnvcc %s: %d columns: %q", strings.Join(args, " "), n, line)
			return
		}
		for _, c := range line {
			if c < ' ' || c > '~' {
				t.Errorf("gnvcc %s: %q", strings.Join(args, " "), line)
				return
			}
		}
	}
}

// TestNvccsHelp: on a terminal nvcc's help ends with one line of gnvcc's; in a pipe, with one of both
// outputs elsewhere, and under nvcc's name it is nvcc's to the byte.
func TestNvccsHelp(t *testing.T) {
	kit := kits.Any(t)
	v := newSite(t, kit.Nvcc())
	want, err := v.command(kit.Nvcc(), "--help").Output()
	v.must(err)
	onTerminal := func(name string, both bool) string {
		master, slave := terminal(t, 80)
		seen := make(chan string)
		go func() {
			text, _ := io.ReadAll(master) // ends by an error when the other end is closed
			seen <- strings.ReplaceAll(string(text), "\r\n", "\n")
		}()
		cmd := v.command(v.exe, "--help")
		cmd.Args[0] = name
		cmd.Env = append(cmd.Env, "TERM=xterm")
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, slave
		if both {
			cmd.Stdout = slave
		}
		err := cmd.Run()
		slave.Close()
		v.must(err)
		return out.String() + <-seen
	}
	const line = "gnvcc: this is nvcc's help; gnvcc help is gnvcc's\n"
	if got := onTerminal("gnvcc", true); got != string(want)+line {
		t.Errorf("on a terminal: %d bytes, nvcc's help has %d; the end is %q", len(got), len(want), got[max(0, len(got)-100):])
	}
	if onTerminal("gnvcc", false) != string(want) {
		t.Error("with standard output elsewhere it is not nvcc's help")
	}
	if onTerminal("nvcc", true) != string(want) {
		t.Error("under nvcc's name it is not nvcc's help")
	}
	if got, err := v.command(v.exe, "--help").CombinedOutput(); err != nil || string(got) != string(want) {
		t.Errorf("in a pipe it is not nvcc's help: %v", err)
	}
}
