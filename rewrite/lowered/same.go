package lowered

// The rule that makes slices safe: the PTX of the untouched slice must be nvcc's own.

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"gnvcc/rewrite/ptx"
)

// ErrOther is said of a slice that cicc makes other code of than of the whole file.
var ErrOther = errors.New("cicc makes other code of the kernel alone")

// Read parses the PTX that cicc made of a slice, and gives everything in it the linkage that it has
// in nvcc's own PTX: in a slice nothing is static, so that names stay what they are.
func Read(own *ptx.Module, content []byte) (*ptx.Module, error) {
	m, err := ptx.Parse(content)
	if err != nil {
		return nil, err
	}
	mended := false
	mend := func(text []byte, old, linkage string) {
		at := bytes.Index(content, text)
		rest, ok := bytes.CutPrefix(text, []byte(dotted(old)))
		if at < 0 || !ok || old == linkage {
			return
		}
		mended = true
		content = slices.Concat(content[:at], []byte(dotted(linkage)), rest, content[at+len(text):])
	}
	for _, f := range m.Funcs {
		if o := own.Func(f.Name); o != nil && f.Body && o.Body {
			mend(f.Text(), f.Linkage, o.Linkage)
		}
	}
	for _, g := range m.Globals {
		if o := own.Global(g.Name); o != nil {
			mend(m.GlobalText(g), g.Linkage, o.Linkage)
		}
	}
	if !mended {
		return m, nil
	}
	return ptx.Parse(content)
}

func dotted(linkage string) string {
	if linkage == "" {
		return ""
	}
	return "." + linkage + " "
}

// Same returns nil if the kernel is the same in nvcc's own PTX and in that of its untouched slice (as
// Read has it):
// equal normal forms, but for the numbers of registers and the order of copies that stand in a row.
// Now and then these alone differ, since LLVM orders the phi nodes of a block by where their
// variables were declared.
func Same(own, slice *ptx.Module, entry string) error {
	a, err := own.Normal(entry)
	if err != nil {
		return err
	}
	b, err := slice.Normal(entry)
	if err != nil {
		return fmt.Errorf("in the PTX of the slice: %w", err)
	}
	if !bytes.Equal(renumbered(a), renumbered(b)) {
		return ErrOther
	}
	return nil
}

// renumbered is a normal form with registers numbered by first mention in their function, runs of
// copies sorted, and without the declarations of how many registers there are.
func renumbered(normal []byte) []byte {
	var out []byte
	var lines [][]byte
	for line := range bytes.Lines(normal) {
		if len(line) > 1 && line[0] == '@' && class[line[1]] == '0' { // a function or variable begins
			out = append(out, renumberedBody(lines)...)
			lines = lines[:0]
		}
		if !bytes.HasPrefix(line, []byte(".reg ")) || !bytes.Contains(line, []byte("%")) {
			lines = append(lines, line)
		}
	}
	return append(out, renumberedBody(lines)...)
}

// renumberedBody is renumbered for one function. A run of copies is read as one that happens at once;
// registers in it get their numbers where they are mentioned elsewhere, so that the order in the run
// does not count.
func renumberedBody(lines [][]byte) (out []byte) {
	run := make([]int, len(lines)) // the number of its run, 0: in none
	values := map[string]string{}  // of the run's targets, before the run
	last := 0
	for i, line := range lines {
		head, target, value, ok := move(line)
		if _, again := values[target]; !ok || again {
			clear(values)
			last++
		}
		if !ok {
			continue
		}
		if was, ok := values[value]; ok {
			value = was
			lines[i] = []byte(head + target + "," + value + ";\n")
		}
		values[target] = value
		run[i] = last + 1
	}
	r := registers{numbers: map[string]int{}, next: map[string]int{}}
	for i, line := range lines {
		if run[i] == 0 {
			r.line(nil, line)
		}
	}
	for i := 0; i < len(lines); {
		var copies [][]byte
		n := i
		for ; n < len(lines) && run[n] == run[i]; n++ {
			copies = append(copies, r.line(nil, lines[n]))
		}
		if run[i] > 0 {
			slices.SortFunc(copies, bytes.Compare)
		}
		out = append(out, bytes.Join(copies, nil)...)
		i = n
	}
	return out
}

// move reads a plain copy, mov.u32 %r1,%r2 or mov.u32 %r1,0.
func move(line []byte) (head, target, value string, ok bool) {
	if !bytes.HasPrefix(line, []byte("mov.")) || bytes.Count(line, []byte(",")) != 1 {
		return
	}
	n, comma := bytes.IndexByte(line, ' ')+1, bytes.IndexByte(line, ',')
	stop := bytes.IndexByte(line, ';')
	if n == 0 || n >= comma || stop < comma || line[n] != '%' {
		return
	}
	return string(line[:n]), string(line[n:comma]), string(line[comma+1 : stop]), true
}

// registers are those of a function, with their new numbers.
type registers struct {
	numbers map[string]int
	next    map[string]int // by kind: %r, %rd
}

// commutes are the operations whose first two operands may change places.
var commutes = map[string]bool{"add": true, "mul": true, "mad": true, "fma": true, "and": true, "or": true,
	"xor": true, "min": true, "max": true}

// line appends a line with its registers numbered, and operands in order that may change places.
func (r *registers) line(out, line []byte) []byte {
	line = r.number(nil, line)
	head, rest, _ := bytes.Cut(line, []byte(" "))
	if len(head) > 0 && head[0] == '@' {
		head, rest, _ = bytes.Cut(rest, []byte(" "))
	}
	op, _, _ := bytes.Cut(head, []byte("."))
	operands := bytes.SplitN(bytes.TrimSuffix(rest, []byte(";\n")), []byte(","), 4)
	if !commutes[string(op)] || len(operands) < 3 || bytes.Compare(operands[1], operands[2]) <= 0 {
		return append(out, line...)
	}
	operands[1], operands[2] = operands[2], operands[1]
	out = append(out, line[:len(line)-len(rest)]...)
	return append(append(out, bytes.Join(operands, []byte(","))...), ";\n"...)
}

// number appends a line with its registers numbered.
func (r *registers) number(out, line []byte) []byte {
	for {
		n := bytes.IndexByte(line, '%')
		if n < 0 {
			return append(out, line...)
		}
		out = append(out, line[:n]...)
		line = line[n:]
		stop := 1
		for stop < len(line) && class[line[stop]] == 'a' {
			stop++
		}
		kind := string(line[:stop])
		digits := stop
		for stop < len(line) && class[line[stop]] == '0' {
			stop++
		}
		name := string(line[:stop])
		switch _, known := r.numbers[name]; {
		case stop == digits || stop < len(line) && wordByte(line[stop]): // %tid, %SP
			out = append(out, name...)
		case !known:
			r.numbers[name] = r.next[kind]
			r.next[kind]++
			fallthrough
		default:
			out = fmt.Appendf(out, "%s%d", kind, r.numbers[name])
		}
		line = line[stop:]
	}
}
