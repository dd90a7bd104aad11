package source

// Edits: insertions at byte offsets. Behind each stands a line marker and blanks up to the old
// column, so that what follows has the position that it had: line information, messages, __LINE__
// stay what they were.

import (
	"bytes"
	"fmt"
	"sort"
)

// An insertion puts lines before the token at off. blank > 0 overwrites so many bytes from off with
// blanks instead.
type insertion struct {
	off   int
	text  string
	blank int
}

// render returns the bytes of [from, stop) with the insertions that fall into it, which must be
// sorted.
func (u *Unit) render(out *bytes.Buffer, from, stop int, edits []insertion) {
	i := sort.Search(len(edits), func(i int) bool { return edits[i].off >= from })
	for ; i < len(edits) && edits[i].off < stop; i++ {
		e := edits[i]
		out.Write(u.text[from:e.off])
		from = e.off
		if e.blank > 0 {
			for _, c := range u.text[e.off : e.off+e.blank] {
				if c != '\n' {
					c = ' '
				}
				out.WriteByte(c)
			}
			from += e.blank
			continue
		}
		out.WriteString(e.text)
		u.restore(out, e.off)
	}
	out.Write(u.text[from:stop])
}

// restore ends the line and puts a marker, so that the byte at off keeps its line and column.
func (u *Unit) restore(out *bytes.Buffer, off int) {
	p := u.at(off)
	fmt.Fprintf(out, "\n# %d %s%s\n", p.line, u.files[p.file].quoted, p.flags)
	for range p.column {
		out.WriteByte(' ')
	}
}
