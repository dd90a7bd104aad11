package environment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileName: kernels of templates have names that no file can have.
func TestFileName(t *testing.T) {
	long := strings.Repeat("N7cutlass", 400)
	a, b := FileName("_Z1"+long+".ptx"), FileName("_Z2"+long+".ptx")
	if len(a) > maxFileName || !strings.HasPrefix(a, "_Z1N7cutlass") || filepath.Ext(a) != ".ptx" ||
		a == b {
		t.Errorf("%s, %s", a, b)
	}
	if a, b := FileName(long+"1.ptx"), FileName(long+"2.ptx"); a == b {
		t.Errorf("%s for two names", a)
	}
	for name, want := range map[string]string{"_Z1kv.ii": "_Z1kv.ii", "../../x": "x",
		"x." + strings.Repeat("y", 251): "x." + strings.Repeat("y", 251)} {
		if got := FileName(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
	e := Of([]string{"GNVCC_KEEP=" + t.TempDir()})
	e.Keep("group", "_Z1"+long+".ptx", []byte("x"))
	if _, err := os.Stat(filepath.Join(e.KeepIn, "group", a)); err != nil {
		t.Error(err)
	}
}
