package compile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/job"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim/cubin"
	"gnvcc/sim/sass"
)

// What ptxas did with each floating-point statement of a kernel. With -lineinfo it notes of every
// instruction the .loc that its statement stood behind, and of one that it contracted from a
// product and a sum the sum's. So the PTX gets a .loc of its own before each of these statements,
// and the machine code at its line tells. It is the same code, byte for byte, as without; that is
// compared each time.

// An outcome is what ptxas did with a statement.
type outcome uint8

const (
	unclear    outcome = iota // it isn't known
	gone                      // no instruction is there: ptxas computed it, or has another one for it
	alone                     // an addition or a multiplication of its own
	contracted                // a sum, with a product
	looked                    // an approximate function, by the GPU's table
	scaled                    // a product, with a power of two that it is multiplied with
	partly                    // in some places scaled, and not in others
)

func (d outcome) String() string {
	return [...]string{"something else", "nothing", "rounded by itself", "contracted",
		"computed on the GPU", "scaled", "scaled in some places"}[d]
}

// statedIn lists the floating-point statements that a compiler may do more than one thing with, of
// all that an entry reaches, in the order of the text. The same code in another module has the same
// list.
func statedIn(m *ptx.Module, entry string) ([]same.Statement, error) {
	reach, err := m.Reach(entry)
	if err != nil {
		return nil, err
	}
	var out []same.Statement
	for n, f := range reach.Funcs {
		if !f.Body || n > 0 && f.Entry {
			continue
		}
		for i, st := range f.Stmts {
			if st.Kind == ptx.Inst && arithmetic[string(f.Base(i))] &&
				inTypes(f.Opcode(i), "f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2") {
				out = append(out, same.Statement{Func: f, Index: i})
			}
		}
	}
	return out, nil
}

var arithmetic = map[string]bool{"add": true, "sub": true, "mul": true, "fma": true, "mad": true,
	"div": true, "rcp": true, "sqrt": true, "rsqrt": true, "sin": true, "cos": true, "ex2": true,
	"lg2": true, "tanh": true}

func inTypes(op []byte, types ...string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return ptx.HasModifier(op, t) })
}

// firstLine is the line of the first statement of a list; the one before it is that of everything
// else.
const firstLine = 2

var (
	fileNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*\.file[ \t]+(\d+)`)
	})
	addressSize = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*\.address_size[ \t]+\d+`)
	})
)

// withLines gives a module's text with a .loc before each of the statements.
func withLines(from *ptx.Module, list []same.Statement) ([]byte, error) {
	m, number := from.Clone(), 1
	for _, found := range fileNumber().FindAllSubmatch(from.Bytes(), -1) {
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			return nil, fmt.Errorf("a .file of number %s", found[1])
		}
		number = max(number, n+1)
	}
	lines := map[*ptx.Func]map[int]int{} // by statement
	for n, s := range list {
		if lines[s.Func] == nil {
			lines[s.Func] = map[int]int{}
		}
		lines[s.Func][s.Index] = firstLine + n
	}
	for n, f := range from.Funcs {
		of, line := lines[f], 0
		if of == nil {
			continue
		}
		for i, st := range f.Stmts {
			switch {
			case st.Kind == ptx.Line && string(f.Opcode(i)) == ".loc":
				m.Funcs[n].Delete(i)
			case st.Kind == ptx.Inst:
				now := max(of[i], firstLine-1)
				if now != line {
					m.Funcs[n].Insert(i, fmt.Sprintf(".loc %d %d 1", number, now))
					line = now
				}
			}
		}
		if err := m.Funcs[n].Commit(); err != nil {
			return nil, err
		}
	}
	text := m.Bytes()
	at := addressSize().FindIndex(text)
	if at == nil {
		return nil, errors.New("the PTX has no .address_size")
	}
	file := fmt.Sprintf("\n.file %d \"statements\"", number)
	return slices.Concat(text[:at[1]], []byte(file), text[at[1]:]), nil
}

// keptOutcomes is the memo of what ptxas did: by statement (statedIn).
type keptOutcomes struct {
	Did     []outcome
	Addends []int
}

const memoOutcomes cache.Memos[keptOf[keptOutcomes]] = "outcomes"

// outcomes gives what ptxas does with each of an entry's statements, under a job's options and more
// flags; and the addend of each that is contracted (readOutcomes). It is kept: what ptxas did with
// the kernel itself all its variants ask.
func (b *Workbench) outcomes(ctx context.Context, j *job.Job, m *ptx.Module, entry string,
	flags []string) (did []outcome, addends []int, err error) {
	list, err := statedIn(m, entry)
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	id, err := cache.FileKey(j.Tool)
	if err != nil {
		return nil, nil, fmt.Errorf("look at ptxas: %w", err)
	}
	key := cache.HashOf("outcomes 1", string(m.Bytes()), entry, id,
		strings.Join(j.Call.Template(), "\x00"), strings.Join(flags, "\x00"), cache.OwnKey())
	of, err := recall(ctx, b.Store, b.flights, memoOutcomes, key, func(k keptOutcomes) bool {
		return len(k.Did) == len(list) && len(k.Addends) == len(list)
	}, func() (k keptOutcomes, err error) {
		k.Did, k.Addends, err = b.lookAtOutcomes(ctx, j, m, entry, list, flags)
		return k, err
	})
	return of.Did, of.Addends, err
}

// lookAtOutcomes is outcomes where nothing is kept. list is statedIn's.
func (b *Workbench) lookAtOutcomes(ctx context.Context, j *job.Job, m *ptx.Module, entry string,
	list []same.Statement, flags []string) (did []outcome, addends []int, err error) {
	text, err := withLines(m, list)
	if err != nil {
		return nil, nil, fmt.Errorf("number the statements of %s: %w", entry, err)
	}
	if !j.Call.Reloc && len(m.Entries()) > 1 {
		flags = append(slices.Clone(flags), "--entry", entry)
	}
	more := flags
	if !j.Call.Lineinfo {
		more = append(slices.Clone(flags), "-lineinfo")
	}
	var plain, lined []byte
	if err := b.beside(func() (err error) {
		plain, _, err = b.assemble(ctx, j, m.Bytes(), b.telling(j, flags))
		return err
	}, func() (err error) {
		lined, _, err = b.ptxas(ctx, j, text, more)
		return err
	}); err != nil {
		return nil, nil, err
	}
	if err := sameCode(plain, lined); err != nil {
		return nil, nil, fmt.Errorf("look what ptxas did with %s: %w", entry, err)
	}
	if did, addends, err = readOutcomes(lined, list); err != nil {
		return nil, nil, fmt.Errorf("look what ptxas did with %s: %w", entry, err)
	}
	return did, addends, nil
}

// beside runs both, for the tuner at the same time: who waits for a proof measures nothing. A build
// has other files for its processors. The first one's error comes before the second one's.
func (b *Workbench) beside(one, two func() error) error {
	if b.flights == nil {
		if err := one(); err != nil {
			return err
		}
		return two()
	}
	second := make(chan error, 1)
	go func() { second <- two() }()
	return cmp.Or(one(), <-second)
}

// sameCode is an error where two cubins have other machine code.
func sameCode(a, b []byte) error {
	one, _, err := cubin.ReadCode(a)
	if err != nil {
		return err
	}
	other, _, err := cubin.ReadCode(b)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(one, other, func(x, y cubin.Code) bool {
		return x.Name == y.Name && bytes.Equal(x.Data, y.Data)
	}) {
		return errors.New("with line information its machine code is another")
	}
	return nil
}

// readOutcomes reads them from a cubin of a text withLines. Of a contracted statement it gives also
// the one whose product, rounded by itself, all its instructions add: -1 where that isn't known.
func readOutcomes(lined []byte, list []same.Statement) (did []outcome, addends []int, err error) {
	rows, err := cubin.ReadLines(lined)
	if err != nil {
		return nil, nil, err
	}
	functions, err := sass.Read(lined)
	if err != nil {
		return nil, nil, err
	}
	own := map[string]bool{}
	for _, s := range list {
		own[s.Func.Name] = true
	}
	found := make([]map[sass.Act]bool, len(list))
	added := make([]map[int]bool, len(list))
	for _, f := range functions {
		if !own[f.Name] {
			continue
		}
		of, flow := statements(f, rows[f.Name], len(list)), f.Flow()
		for i, n := range of {
			if n < 0 {
				continue
			}
			if found[n] == nil {
				found[n], added[n] = map[sass.Act]bool{}, map[int]bool{}
			}
			act := f.Insts[i].Act()
			found[n][act] = true
			if act == sass.Contracts {
				added[n][productOf(f, flow, i, of)] = true
			}
		}
	}
	did, addends = make([]outcome, len(list)), make([]int, len(list))
	for n, s := range list {
		did[n], addends[n] = judge(s, found[n]), -1
		if did[n] == contracted && len(added[n]) == 1 {
			for m := range added[n] {
				addends[n] = m
			}
		}
	}
	return did, addends, nil
}

// statements gives of each instruction the statement at whose line it is, -1 where it is at none's.
func statements(f *sass.Function, rows []cubin.Row, count int) []int {
	out := make([]int, len(f.Insts))
	row := 0
	for i := range f.Insts {
		for row < len(rows) && rows[row].Offset <= f.Insts[i].Offset {
			row++
		}
		out[i] = -1
		if row > 0 {
			if n := rows[row-1].Line - firstLine; n >= 0 && n < count {
				out[i] = n
			}
		}
	}
	return out
}

// productOf is the statement whose product a multiply-add adds; -1: none, or not known.
func productOf(f *sass.Function, flow *sass.Flow, i int, of []int) int {
	if k := f.Addend(flow, i); k >= 0 && f.Insts[k].Act() == sass.Multiplies {
		return of[k]
	}
	return -1
}

// judge says what was done with a statement by the kinds of instructions at its line. Of halves
// nothing is known: their units serve for conversions and constants, too.
func judge(s same.Statement, acts map[sass.Act]bool) outcome {
	delete(acts, sass.NoAct)
	single := func(own sass.Act) bool { return len(acts) == 1 && acts[own] }
	op, base := s.Func.Opcode(s.Index), string(s.Func.Base(s.Index))
	sum := base == "add" || base == "sub"
	switch {
	case inTypes(op, "f16", "f16x2", "bf16", "bf16x2", "f32x2"):
		return unclear
	case len(acts) == 0:
		return gone
	case sum && single(sass.Adds), base == "mul" && single(sass.Multiplies):
		return alone
	case sum && single(sass.Contracts):
		return contracted
	case !sum && acts[sass.LooksUp]:
		return looked
	case base == "mul" && single(sass.Scales):
		return scaled
	case acts[sass.Scales]:
		return partly
	}
	return unclear
}

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
