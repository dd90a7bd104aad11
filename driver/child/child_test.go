package child

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestFullOutput has a tool say something twice where nothing can be written: it ends as it does
// without us. A shell is the tool, since ptxas is often through before the first failure is known.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("LOUD SKIP: no /dev/full: %v", err)
	}
	defer full.Close()
	closed, err := os.Open(os.DevNull) // not for writing, and closed
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	for name, to := range map[string]*os.File{"full": full, "closed": closed} {
		os.Stdout, os.Stderr = to, to
		tool := NewTee()
		cmd := exec.Command("/bin/sh", "-c",
			"echo first >&2; sleep 0.2; echo second >&2; sleep 0.2; echo third; exit 3")
		cmd.Stdout, cmd.Stderr = tool.Outputs()
		end, err := (&Watch{}).Run(cmd, false)
		os.Stdout, os.Stderr = stdout, stderr
		if err != nil || end != (Ending{Code: 3}) {
			t.Errorf("%s: ended with %+v, %v", name, end, err)
		}
		text := ""
		for _, m := range tool.Messages {
			text += m.Text
		}
		if text != "first\nsecond\nthird\n" || !tool.Whole {
			t.Errorf("%s: kept %q, whole %v", name, text, tool.Whole)
		}
	}
}

// TestUnread: a pipe counts from the moment in which its last reader closes it.
func TestUnread(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	test := func() string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestUnreadHere$", "-test.v")
		cmd.Env = append(os.Environ(), "UNREAD=1")
		cmd.Stderr = write
		out, _ := cmd.Output()
		return string(out)
	}
	if got := test(); !strings.Contains(got, "unread: false") {
		t.Errorf("with a reader: %s", got)
	}
	read.Close()
	if got := test(); !strings.Contains(got, "unread: true") {
		t.Errorf("without one: %s", got)
	}
}

// TestUnreadHere is what TestUnread runs.
func TestUnreadHere(t *testing.T) {
	if os.Getenv("UNREAD") != "" {
		fmt.Println("unread:", Unread())
	}
}
