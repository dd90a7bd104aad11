package lowered

// A Unit is the device code of one translation unit as cicc's front end lowered it.

import (
	"errors"
	"fmt"
)

// A Unit is read-only once it is parsed, and may be used from several goroutines.
type Unit struct {
	text    []byte
	tokens  []token
	words   []string         // by number
	numbers map[string]int32 // of words
	marks   []position
	files   map[string]string
	toolkit string // the toolkit's include folder, with a slash; "" unknown
	foreign bool   // nothing says that cicc wrote it

	separate bool // compiled for a device link (-rdc=true): functions are visible outside

	decls []decl
	by    map[int32][]int32 // what declares a name: indices of decls, in order
}

// errForeign is said of a text that is no lowered device code.
var errForeign = errors.New("lowered: it is not what cicc's front end writes as device code")

// maxText bounds the text, bytes: offsets are 32 bits wide.
const maxText = 1 << 30

// Parse reads the text that cicc writes with --gen_device_file_name. An error means that it is not
// what this reader understands, and that the unit is to be left alone.
func Parse(text []byte) (*Unit, error) {
	u, err := read(text)
	if err == nil && u.foreign {
		err = errForeign
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

// read is Parse for any text of that language, our own header too.
func read(text []byte) (*Unit, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("lowered: a text of %d bytes", len(text))
	}
	u := &Unit{text: text, numbers: map[string]int32{}, files: map[string]string{}, foreign: true,
		by: map[int32][]int32{}}
	if err := u.lex(); err != nil {
		return nil, err
	}
	if err := u.split(); err != nil {
		return nil, err
	}
	return u, nil
}

// A refusal says why a kernel, a loop or a value is left as nvcc makes it. It is an answer, not a
// failure of ours.
type refusal struct {
	Kernel string // the entry
	Reason string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("source: kernel %s is left alone: %s", r.Kernel, r.Reason)
}

func refuse(kernel, format string, args ...any) error {
	return &refusal{Kernel: kernel, Reason: fmt.Sprintf(format, args...)}
}
