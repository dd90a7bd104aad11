package cache

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Writing files so that they are there completely or not at all, and sealing what is written with a
// checksum.

const (
	dirMode  = 0o700
	fileMode = 0o600
	// tempMark stands in the names of files that are being written. A process that is killed leaves
	// one behind; whoever tidies the folder removes those that are older than tempAge, which no write
	// takes.
	tempMark = ".tmp-"
	tempAge  = time.Hour
)

// writeFile makes dir/name with content b in one step for all readers, replacing what was there.
// dir is made when it is missing. With sync the content is on the disk before the name is.
func writeFile(dir, name string, b []byte, sync bool) (err error) {
	f, err := os.CreateTemp(dir, tempMark+"*")
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, dirMode); err != nil {
			return err
		}
		f, err = os.CreateTemp(dir, tempMark+"*")
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(b)
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}

// WriteFile is writeFile for other packages' own files in a store.
func WriteFile(dir, name string, b []byte) error { return writeFile(dir, name, b, false) }

// syncDir puts a folder's entries on the disk: a rename is not there for good before that.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

var errIrregular = errors.New("not a regular file")

// openRegular opens a file of the store to read. Only regular files written by gnvcc belong there:
// a pipe would have a build wait for ever, a device give it bytes for ever, and a link lead it
// elsewhere.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	return open(path, syscall.O_NOFOLLOW)
}

// OpenRegular opens a user's regular file to read, which a link may lead to.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	f, info, err := open(path, 0)
	if errors.Is(err, errIrregular) {
		err = fmt.Errorf("%s is %w", path, err)
	}
	return f, info, err
}

// ReadRegular reads a user's regular file of at most limit bytes.
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, info, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	return readOpen(f, info, limit)
}

func open(path string, more int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|more, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, errIrregular
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

var errTooLarge = errors.New("too large")

// readLimited reads a file that has at most limit bytes.
func readLimited(path string, limit int64) ([]byte, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	return readOpen(f, info, limit)
}

func readOpen(f *os.File, info fs.FileInfo, limit int64) ([]byte, error) {
	defer f.Close()
	if info.Size() > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken here", errTooLarge, info.Size(), limit)
	}
	b := make([]byte, info.Size())
	_, err := io.ReadFull(f, b)
	return b, err
}

// removeTemps removes what killed writers left in dir.
func removeTemps(dir string, age time.Duration) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), tempMark) {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) >= age {
				os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
}

// A sealed text is a line `gnvcc1 <checksum> <stamp>` and the body. The checksum (CRC-32C, which
// finds every change of up to 32 neighbouring bits) covers where the text belongs, so that a record
// under a damaged key is not taken for another one's. The stamp is the time of writing, nanoseconds
// since 1970.
const sealMark = "gnvcc1 "

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(where string, stamp int64, body []byte) uint32 {
	c := crc32.Checksum([]byte(where), castagnoli)
	c = crc32.Update(c, castagnoli, strconv.AppendInt([]byte{0}, stamp, 10))
	return crc32.Update(c, castagnoli, body)
}

func seal(where string, stamp int64, body []byte) []byte {
	b := make([]byte, 0, len(sealMark)+32+len(body))
	b = append(b, sealMark...)
	b = fmt.Appendf(b, "%08x %d\n", checksum(where, stamp, body), stamp)
	return append(b, body...)
}

// unseal gives the body, a part of b.
func unseal(where string, b []byte) (body []byte, stamp int64, err error) {
	line, body, ok := bytes.Cut(b, []byte("\n"))
	if !ok || !bytes.HasPrefix(line, []byte(sealMark)) || len(line) > len(sealMark)+32 {
		return nil, 0, errors.New("no seal")
	}
	sum, when, _ := strings.Cut(string(line[len(sealMark):]), " ")
	stamp, err = strconv.ParseInt(when, 10, 64)
	// As text: one spelling only is right.
	if err != nil || when != strconv.FormatInt(stamp, 10) || sum != fmt.Sprintf("%08x",
		checksum(where, stamp, body)) {
		return nil, 0, errors.New("wrong checksum")
	}
	return body, stamp, nil
}
