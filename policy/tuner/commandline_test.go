package tuner

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLine: whatever a command line is, it does what sh does with it.
func TestLine(t *testing.T) {
	for text, direct := range map[string]bool{
		`printf %s-`:               false, // a percent sign is one of job control
		`echo a  b`:                true,
		`echo 'a  b' "c d"`:        true,
		`echo a\ b`:                true,
		`echo "a\"b" c`:            false,
		`echo a | tr a b; echo`:    false,
		`echo $HOME`:               false,
		`X=1 env | grep -c X=1; :`: false,
		`echo # no comment`:        false,
		`echo 'a "b" c'`:           true,
	} {
		l, err := newLine(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if (l.words != nil) != direct {
			t.Errorf("%s: words %q", text, l.words)
		}
		argv := l.argv("one", "two three")
		got, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		want, errSh := exec.Command("sh", "-c", text+` "$@"`, "sh", "one", "two three").CombinedOutput()
		if string(got) != string(want) || (err == nil) != (errSh == nil) {
			t.Errorf("%s: %q, %v; sh: %q, %v", text, got, err, want, errSh)
		}
	}
	for text, want := range map[string]string{"": "empty", "  ": "empty", `echo "a`: "no command line",
		`echo 'a`: "no command line"} {
		if l, err := newLine(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
	if l, _ := newLine("nosuchjudge -x"); l.check() == nil {
		t.Error("a program that is not there passes")
	}
}
