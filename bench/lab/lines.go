// Reading and appending.

package lab

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ReadLines reads a file of results (gzipped, where its name ends in .gz), of those with the same key
// the last one in the place of the first; no file: none. A last line that was cut short is passed
// by: it will be made anew.
func ReadLines[T any](path string, key func(T) string) ([]T, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []T
	at := map[string]int{}
	in := bufio.NewReader(f)
	if strings.HasSuffix(path, ".gz") {
		whole, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		in = bufio.NewReader(whole)
	}
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if err != nil { // io.EOF, or a line without an end
			return out, nil
		}
		var r T
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		k := key(r)
		if i, again := at[k]; again {
			out[i] = r
			continue
		}
		at[k] = len(out)
		out = append(out, r)
	}
}

// WriteLines makes a file of results anew; path "" means none.
func WriteLines[T any](path string, rows []T) error {
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for _, r := range rows {
		if err := lines.Encode(r); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// AppendLine adds a line; one that was cut short is taken off first. Several processes may append to
// one file.
func AppendLine(path string, r any) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err := add(f, append(text, '\n')); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// add writes behind the last complete line, under the file's lock, which goes with it when it is
// closed.
func add(f *os.File, text []byte) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	old, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if n := bytes.LastIndexByte(old, '\n') + 1; n < len(old) {
		if err := f.Truncate(int64(n)); err != nil {
			return err
		}
	}
	_, err = f.Write(text)
	return err
}
