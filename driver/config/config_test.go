package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOf: the project's file goes before one's own, the nearest one alone counts, and each value
// is what the variable would have.
func TestOf(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", "")
	write(t, filepath.Join(dir, fileName), "device = 'H100'\n")
	write(t, filepath.Join(dir, "p", fileName),
		"# a project\n\nlock = \"a b.lock\" # beside it\npredict=true\nstrict = 0\r\n")
	write(t, filepath.Join(dir, "home/.config/gnvcc", fileName),
		"store = \"~/s:/theirs:more\"\npredict = false\nnvcc = \"mynvcc\"\nlog = 'l\\og'\nmaxsize = 0\n")
	c := Of(filepath.Join(dir, "p/src/deep"))
	if c.Err != nil || len(c.Files) != 2 {
		t.Fatalf("%+v", c)
	}
	for key, want := range map[string]string{"lock": dir + "/p/a b.lock", "predict": "1", "strict": "0",
		"store": dir + "/home/s:/theirs:" + dir + "/home/.config/gnvcc/more", "nvcc": "mynvcc",
		"log": dir + `/home/.config/gnvcc/l\og`, "maxsize": "0", "device": ""} {
		if v, ok := c.Get(key); v.Text != want || ok != (want != "") {
			t.Errorf("%s: %+v, want %q", key, v, want)
		}
	}
	if v, _ := c.Get("predict"); v.File != filepath.Join(dir, "p", fileName) || v.Line != 4 {
		t.Errorf("%+v", v)
	}
	write(t, filepath.Join(dir, "home", fileName), "predict = true\n") // above a project at home: not read
	if c := Of(filepath.Join(dir, "home/p")); len(c.Files) != 1 {
		t.Errorf("%+v", c)
	}
	if c := Of(dir); len(c.Files) != 2 || c.Values[0].Text != "H100" {
		t.Errorf("%+v", c)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "none"))
	if c := Of(t.TempDir()); len(c.Files) != 0 || c.Err != nil {
		t.Errorf("without files: %+v", c)
	}
}

// TestBad: each mistake is named with its place, and nothing of such a file counts.
func TestBad(t *testing.T) {
	for text, want := range map[string]string{
		"lock":                            `gnvcc.toml:1: "lock": expected key = value`,
		"device = 'x'\nlokc = 'a'":        `gnvcc.toml:2: unknown setting "lokc" (there are nvcc, `,
		"lock = a.lock":                   `expected a text in quotes`,
		"lock = 'a":                       "not closed",
		"lock = \"a\\q\"":                 "not closed, or a backslash",
		"lock = 'a' 'b'":                  "stands behind",
		"lock = true":                     "expected a path in quotes",
		"[build]":                         "expected key = value",
		"device = [1]":                    "expected a text",
		"predict = 'yes'":                 "expected true or false",
		"predict = 2":                     "expected true or false",
		"lock = 'a'\nlock = 'b'":          "set twice",
		"device = \"a\\nb\"":              "line break",
		"device = \"a\\x1b[2Jb\"":         "control character",
		"lock = 'a\u009b2Jb'":             "control character",
		"device = '''a'''":                "several lines",
		"store = '/x'":                    "store is for your own file",
		"log = '~/.bashrc'":               "log is for your own file",
		"nvcc = './evil'":                 "nvcc is for your own file",
		"keep = '/x'":                     "keep is for your own file",
		"# " + strings.Repeat("x", 1<<17): "is no file of settings",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, fileName), text)
		c := Of(dir)
		if c.Err == nil || !strings.Contains(c.Err.Error(), want) || len(c.Values) > 0 {
			t.Errorf("%.40s: %+v, want %q", text, c, want)
		}
	}
}

// TestTrusted: what others can write is not read, and what is no regular file holds nobody up.
func TestTrusted(t *testing.T) {
	dir := t.TempDir()
	os.Chmod(write(t, filepath.Join(dir, "open", fileName), "predict = true\n"), 0o666)
	os.MkdirAll(filepath.Join(dir, "folder", fileName), 0o755)
	cases := map[string]string{"open": "everybody may write", "folder": "no regular file"}
	if os.Geteuid() == 0 {
		if err := os.Chown(write(t, filepath.Join(dir, "others", fileName), "predict = true\n"), 65534,
			65534); err == nil {
			cases["others"] = "belongs to another user"
		}
	}
	for name, want := range cases {
		c := Of(filepath.Join(dir, name))
		if c.Err == nil || !strings.Contains(c.Err.Error(), want) || len(c.Values) > 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestSet: a file counts where the environment says nothing, also an empty value; and not below a
// gnvcc that has read it already.
func TestSet(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Chdir(dir)
	write(t, filepath.Join(dir, fileName), "predict = true\ndevice = 'H100'\nstrict = true\n")
	for _, c := range []struct{ name, value, device string }{
		{"NOTHING", "", "H100"}, {"GNVCC_OFF", "1", ""}, {"GNVCC_OFF", "0", "H100"},
		{"GNVCC_DEPTH", "1", ""}, {"GNVCC_APPLY", "/f", ""}, {"GNVCC_DEVICE", "A100", "A100"},
		{"GNVCC_DEVICE", "", ""}} {
		t.Run(c.name+c.value, func(t *testing.T) {
			for _, s := range Settings {
				t.Setenv(s.Variable(), "")
				os.Unsetenv(s.Variable())
			}
			t.Setenv(c.name, c.value)
			if err := Set(); err != nil || os.Getenv("GNVCC_DEVICE") != c.device {
				t.Errorf("%v, device %q, want %q", err, os.Getenv("GNVCC_DEVICE"), c.device)
			}
		})
	}
}

// BenchmarkSet is what a build pays where there is no file: a failing open a folder.
func BenchmarkSet(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "one/two/three")
	os.MkdirAll(dir, 0o755)
	b.Chdir(dir)
	b.Setenv("HOME", filepath.Dir(filepath.Dir(dir)))
	for b.Loop() {
		if err := Set(); err != nil {
			b.Fatal(err)
		}
	}
}
