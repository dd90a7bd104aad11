package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// The kinds of trouble that callers tell apart (errors.Is). For a build all of them mean the same:
// no recipe.
var (
	ErrNone     = errors.New("no decisions have been published")
	ErrOwned    = errors.New("another gnvcc is the store's owner")
	errCorrupt  = errors.New("damaged")
	ErrVersion  = errors.New("written by another version of gnvcc")
	errUnsafe   = errors.New("not safely yours")
	errNetwork  = errors.New("on a network file system")
	errFull     = errors.New("no space")
	errReadOnly = errors.New("not writable")
)

// localAdvice is for file systems without reliable locks.
const localAdvice = "set GNVCC_STORE to a folder on a local disk"

// An Error says what was being done, to what, why it failed, and what to do.
type Error struct {
	Doing  string // "publish the decisions"
	Path   string
	Kind   error // one of the kinds above, or nil
	Err    error // the cause
	Advice string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s: %v", e.Doing, e.Path, e.Err)
	if e.Advice != "" {
		s += ": " + e.Advice
	}
	return s
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// failed wraps what the system said about path, with advice for what users meet in practice. An
// error that is an *Error already knows better and stays.
func failed(doing, path string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	e := &Error{Doing: doing, Path: path, Err: bare(err)}
	is := func(numbers ...syscall.Errno) bool {
		return slices.ContainsFunc(numbers, func(n syscall.Errno) bool {
			return errors.Is(err, n) || strings.HasSuffix(err.Error(), ": "+n.Error()) // bbolt quotes some as text
		})
	}
	switch {
	case is(syscall.ENOSPC, syscall.EDQUOT):
		e.Kind, e.Advice = errFull, "free some space there, or set GNVCC_STORE to a folder elsewhere"
	case is(syscall.EFBIG):
		e.Kind, e.Advice = errFull, "the limit on file sizes (ulimit -f) is too low for the store"
	case is(syscall.EROFS):
		e.Kind, e.Advice = errReadOnly,
			"the file system is mounted read-only; set GNVCC_STORE to a folder that can be written"
	case is(syscall.EACCES, syscall.EPERM):
		e.Kind, e.Advice = errReadOnly,
			"give yourself access to it, or set GNVCC_STORE to a folder of yours"
	case is(syscall.EMFILE, syscall.ENFILE):
		e.Advice = "too many files are open (ulimit -n)"
	case is(syscall.ENOTDIR):
		e.Kind, e.Advice = errUnsafe,
			"something in this path is a file where a folder should be; set GNVCC_STORE to a folder"
	}
	return e
}

// bare drops the operation and the path that package os puts before the system's words: ours stand
// there already.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// corrupt is a file whose content can't be what was written.
func corrupt(doing, path, format string, args ...any) error {
	return &Error{Doing: doing, Path: path, Kind: errCorrupt, Err: fmt.Errorf("%w: %w", errCorrupt,
		fmt.Errorf(format, args...)),
		Advice: "gnvcc doctor says more; the next gnvcc tune repairs it"}
}
