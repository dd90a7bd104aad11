package toolcmd

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The names of nvcc's temporary files: tmpxft_0000abcd_00000000-12_, of the number of its process,
// what counts its runs, and the file's number. They stand in command lines and in what the tools
// write.

// Temporary begins the names of nvcc's own files; what is called otherwise was asked for by the
// user (--keep) and is his.
const Temporary = "tmpxft_"

const hexadecimal = "0123456789abcdef"

// Regular expressions are compiled when they are needed: most stages are over in less time than
// that takes.
var (
	temporaryName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`tmpxft_[0-9a-f]+_[0-9a-f]+-[0-9]+_`)
	})
	temporaryNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`tmpxft_[0-9a-f]{8}_`)
	})
)

// BlotTemporary leaves tmpxft_ of all temporary names in a text.
func BlotTemporary(text string) string { return temporaryName().ReplaceAllString(text, Temporary) }

// EvenTemporary blots the process' number out of nvcc's temporary names. The length stays.
func EvenTemporary(text []byte) []byte {
	return temporaryNumber().ReplaceAll(text, []byte("tmpxft_--------_"))
}

// CutTemporary takes the names of nvcc's temporary files out of a text:
// tmpxft_0000abcd_00000000-12_ leaves tmpxft_. The error is for what begins like such a name and
// goes on otherwise.
func CutTemporary(text string) (short string, names []string, err error) {
	var out strings.Builder
	for {
		at := strings.Index(text, Temporary)
		if at < 0 {
			out.WriteString(text)
			return out.String(), names, nil
		}
		name := temporaryAt(text[at:])
		if name == "" {
			return "", nil, fmt.Errorf("%q: not a name as nvcc gives to its temporary files", text)
		}
		names = append(names, name)
		out.WriteString(text[:at] + Temporary)
		text = text[at+len(name):]
	}
}

// temporaryAt gives the name that a text begins with, up to the user's part of it; "" if it is
// none.
func temporaryAt(text string) string { return temporaryWith(text, '-') }

// temporaryWith is temporaryAt for names with another character in the middle.
func temporaryWith(text string, middle byte) string {
	// tmpxft_ 8 digits _ 8 digits - number _
	at := len(Temporary)
	for _, end := range []byte{'_', middle} {
		if len(text) < at+9 || strings.Trim(text[at:at+8], hexadecimal) != "" || text[at+8] != end {
			return ""
		}
		at += 9
	}
	start := at
	for at < len(text) && text[at] >= '0' && text[at] <= '9' {
		at++
	}
	if at == start || at == len(text) || text[at] != '_' {
		return ""
	}
	return text[:at+1]
}

// RenameTemporary replaces temporary names in a tool's output. A name that is not among the old
// ones is an error: it is not known what it should be called now.
func RenameTemporary(content []byte, old, now []string) ([]byte, error) {
	if !bytes.Contains(content, []byte(Temporary)) {
		return content, nil
	}
	var out []byte
	for rest := string(content); ; {
		at := strings.Index(rest, Temporary)
		if at < 0 {
			return append(out, rest...), nil
		}
		name := temporaryAt(rest[at:])
		which, middle := slices.Index(old, name), "-"
		if name == "" {
			// In a symbol (GCC's _GLOBAL__sub_I_tmpxft_..., which constructs static objects) the name has no
			// -.
			name, middle = temporaryWith(rest[at:], '_'), "_"
			which = slices.IndexFunc(old, func(o string) bool {
				return strings.Replace(o, "-", middle, 1) == name
			})
		}
		if which < 0 {
			return nil, fmt.Errorf("a temporary name that is not among the arguments: %q",
				rest[at:min(len(rest), at+60)])
		}
		out = append(append(out, rest[:at]...), strings.Replace(now[which], "-", middle, 1)...)
		rest = rest[at+len(name):]
	}
}

// CutProcess cuts the number of cudafe++'s process off a module id that ends in one, with the hash
// of the file's time before it; "" for other ids. Process numbers have 7 digits at most
// (PID_MAX_LIMIT); other ids end in a hash of 8 digits, or in a name.
func CutProcess(id string) string {
	at := strings.LastIndexByte(id, '_')
	if at < 10 || id[at-9] != '_' || strings.Trim(id[at-8:at], hexadecimal) != "" {
		return ""
	}
	if digits := id[at+1:]; digits == "" || len(digits) > 7 ||
		strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	for _, c := range []byte(id) { // it becomes part of names in code
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return ""
		}
	}
	return id[:at-9]
}
