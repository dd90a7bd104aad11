package tuner

import (
	"os/exec"
	"strings"
	"testing"
)

// TestShell: whatever a command line is, further arguments come behind it, each as it is.
func TestShell(t *testing.T) {
	for text, want := range map[string]string{
		`printf %s-`:            "one-two three-",
		`echo 'a  b' "c d"`:     "a  b c d one two three\n",
		`echo a | tr a b; echo`: "b\none two three\n",
	} {
		if err := CheckCommand(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		argv := shell(text, "one", "two three")
		if got, err := exec.Command(argv[0], argv[1:]...).Output(); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"": "empty", "  ": "empty", `echo "a`: "no command line",
		`echo 'a`: "no command line", "nosuchjudge -x": "nosuchjudge"} {
		if err := CheckCommand(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
