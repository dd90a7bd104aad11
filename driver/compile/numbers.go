package compile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gnvcc/driver/job"
	"gnvcc/rewrite/ptx"
)

// Whether ptxas computed with a number. It folds approximate instructions of constants, with other
// bits than the GPU's, also for one round of a loop that it takes apart: then the instruction is
// there as well, and its line shows nothing. So a text with another number in its place is
// assembled: where the machine code is the same but for that number, nothing was computed with it.

// untouched is an error where ptxas did more with some numbers of single precision than to put them
// into instructions. They are as PTX writes them: 0f3d4ccccd.
func (b *Workbench) untouched(ctx context.Context, j *job.Job, m *ptx.Module, flags []string,
	numbers []string) error {
	text, moved, err := otherNumbers(m.Bytes(), numbers)
	if err != nil {
		return err
	}
	own, _, err := b.ptxas(ctx, j, m.Bytes(), flags)
	if err != nil {
		return err
	}
	other, _, err := b.ptxas(ctx, j, text, flags)
	if err != nil {
		return err
	}
	return sameBut(own, other, moved)
}

var anyNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[-\w$%.]+`)
})

// otherNumbers puts other ones of the same sign and size in place of some numbers, and tells which.
// cicc writes the bits of one that it only moves as an integer.
func otherNumbers(text []byte, numbers []string) (out []byte, moved map[uint32]uint32, err error) {
	const mantissa = 1<<23 - 1
	words := map[string]bool{}
	for _, w := range anyNumber().FindAll(text, -1) {
		words[strings.ToLower(string(w))] = true
	}
	moved = map[uint32]uint32{}
	for _, n := range numbers {
		bits, err := strconv.ParseUint(strings.TrimPrefix(n, "0f"), 16, 32)
		if err != nil {
			return nil, nil, fmt.Errorf("%s is no number of single precision", n)
		}
		was := uint32(bits)
		now := was&^mantissa | (was*2654435761+0x2ad5b3)&mantissa | 1
		for words[spelled(now)[0]] || words[spelled(now)[1]] || words[spelled(now)[2]] || now == was {
			now = now&^mantissa | (now*5+2)&mantissa | 1
		}
		moved[was], moved[was^1<<31] = now, now^1<<31
	}
	for was, now := range moved {
		if _, twice := moved[now]; twice || was == now {
			return nil, nil, errors.New("there is no other number for it")
		}
	}
	out = anyNumber().ReplaceAllFunc(text, func(w []byte) []byte {
		for was, now := range moved {
			for k, s := range spelled(was) {
				if strings.EqualFold(s, string(w)) {
					return []byte(spelled(now)[k])
				}
			}
		}
		return w
	})
	return out, moved, nil
}

// spelled are the ways in which PTX has a number, or its bits.
func spelled(bits uint32) [3]string {
	return [3]string{fmt.Sprintf("0f%08x", bits), strconv.FormatUint(uint64(bits), 10),
		strconv.FormatInt(int64(int32(bits)), 10)}
}

// sameBut is an error where two cubins differ in anything but numbers that were moved.
func sameBut(own, other []byte, moved map[uint32]uint32) error {
	if len(own) != len(other) {
		return errors.New("ptxas does something else for another number")
	}
	for at := 0; at < len(own); at += 4 {
		if at+4 > len(own) {
			if string(own[at:]) != string(other[at:]) {
				return errors.New("ptxas does something else for another number")
			}
			break
		}
		a, b := binary.LittleEndian.Uint32(own[at:]), binary.LittleEndian.Uint32(other[at:])
		if now, ok := moved[a]; a != b && (!ok || now != b) {
			return errors.New("ptxas computes with a number that an approximate instruction begins with")
		}
	}
	return nil
}
