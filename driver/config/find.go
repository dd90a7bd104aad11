package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gnvcc/driver/environment"
)

// fileName is what a file of settings is called.
const fileName = "gnvcc.toml"

// A Config is what files say, the project's before the user's own.
type Config struct {
	Files  []string // that were read
	Values []Value  // of each setting the first that counts
	Err    error    // of a file that can't be used: nothing of that one counts
}

// Of reads the files for a working directory: the nearest gnvcc.toml in it or above it, below the
// user's home where it is there, and the user's own. Without one it costs a failing open for each
// of these folders and one for the user's: three for ~/project/build.
func Of(dir string) (c Config) {
	home := filepath.Clean(os.Getenv("HOME"))
	for at := dir; filepath.IsAbs(at) && at != home; at = filepath.Dir(at) {
		if c.read(filepath.Join(at, fileName), true) || at == filepath.Dir(at) {
			break
		}
	}
	if path := own(); path != "" {
		c.read(path, false)
	}
	return c
}

// own is the user's own file, "" where there can be none.
func own() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gnvcc", fileName)
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "gnvcc", fileName)
	}
	return ""
}

// read reads a file, and reports whether there is one.
func (c *Config) read(path string, project bool) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold a build up
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	var list []Value
	if err == nil {
		defer f.Close()
		if err = trusted(f); err == nil {
			var text []byte
			if text, err = io.ReadAll(io.LimitReader(f, maxFile+1)); err == nil {
				list, err = parse(path, string(text), project)
			}
		}
	}
	if err != nil {
		c.Err = errors.Join(c.Err, fmt.Errorf("settings: %w", err))
		return true
	}
	c.Files = append(c.Files, path)
	for _, v := range list {
		if _, had := c.Get(v.Key); !had {
			c.Values = append(c.Values, v)
		}
	}
	return true
}

// trusted refuses a file that somebody else has put above the working directory, in /tmp say.
func trusted(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", f.Name())
	case ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user, and is not read", f.Name())
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("everybody may write to %s: it is not read", f.Name())
	}
	return nil
}

// Get is what the files say of a setting.
func (c Config) Get(key string) (Value, bool) {
	for _, v := range c.Values {
		if v.Key == key {
			return v, true
		}
	}
	return Value{}, false
}

// Set puts into this process's environment what the files for its working directory say, where the
// environment says nothing, and gives what is wrong with a file. GNVCC_OFF ends it before; so does
// a gnvcc above us, which has done it (for a recorded command apply has, by Over).
func Set() error {
	if v := os.Getenv("GNVCC_OFF"); v != "" && v != "0" || os.Getenv("GNVCC_DEPTH") != "" ||
		os.Getenv("GNVCC_APPLY") != "" {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil // nvcc will say so
	}
	c := Of(dir)
	var set []string
	for _, v := range c.Values {
		s, _ := settingOf(v.Key)
		if _, had := os.LookupEnv(s.Variable()); !had {
			os.Setenv(s.Variable(), v.Text)
			set = append(set, s.Variable())
		}
	}
	if len(set) > 0 {
		os.Setenv(environment.Filed, strings.Join(set, ","))
	}
	return c.Err
}

// Over is a recorded command's environment with what the files for its folder say now, where it
// says nothing.
func Over(env []string, dir string) []string {
	recorded := environment.Of(env)
	over := recorded.All()
	for _, v := range Of(dir).Values {
		s, _ := settingOf(v.Key)
		if _, had := recorded.Lookup(s.Variable()); !had {
			over = append(over, s.Variable()+"="+v.Text)
		}
	}
	return over
}
