package toolcmd

import (
	"fmt"
	"strings"
)

// One reader for the words of all tools. They differ in which options they have, which of these
// take a value, and how a value may be written; a table says it.

// An option is one of a tool's options.
type option struct {
	name  string // as the tool's reader calls it: the long name without dashes
	value bool   // it takes one
	does  does   // what the tool's reader makes of it
}

// does says what a reader makes of an option. 0: nothing but what the reader does by the option's
// name.
type does int

// A table is how a tool's command line is read.
type table struct {
	rows   []row
	joined bool   // a value may stand behind '=' in the option's own word
	glued  string // letters of options whose value may follow at once: -O3
	dashes bool   // one dash or two before a name are the same
	lax    bool   // an option with no value at the line's end is no error
}

// A row is one option.
type row struct {
	option
	short string // the other name; the long one where there is none
	whole bool   // the name has its dashes
}

// add puts options into the table: name/short, or name where both are the same. Long names stand
// behind two dashes, short ones behind one.
func (t *table) add(o option, names string) { t.put(o, names, false) }

// exactly puts options into the table that stand as they are written, and are called so.
func (t *table) exactly(o option, names string) { t.put(o, names, true) }

func (t *table) put(o option, names string, whole bool) {
	for _, name := range strings.Fields(names) {
		long, short, two := strings.Cut(name, "/")
		if o.name = long; !two {
			short = long
		}
		t.rows = append(t.rows, row{o, short, whole})
	}
}

// option finds an option by its word.
func (t *table) option(text string) (option, bool) {
	name := strings.TrimPrefix(text[1:], "-")
	dashes := len(text) - len(name)
	for i := range t.rows {
		r := &t.rows[i]
		if r.whole && text == r.name || !r.whole && (name == r.name && (t.dashes || dashes == 2) ||
			name == r.short && (t.dashes || dashes == 1)) {
			return r.option, true
		}
	}
	return option{}, false
}

// A word is an option with its value, or an input.
type word struct {
	option
	text  string // as it stands in the line
	value string
	index int  // of text in the line
	at    int  // index of the word that the value stands in
	from  int  // where in that word it begins
	known bool // it is in the table
	has   bool // it has a value
}

// input reports whether it is no option, but (as a rule) a file's name.
func (w word) input() bool { return !strings.HasPrefix(w.text, "-") }

// next is the index of the first word behind it.
func (w word) next() int { return max(w.index, w.at) + 1 }

// read takes a command line apart, without the tool's own word.
func (t *table) read(args []string) ([]word, error) {
	words := make([]word, 0, len(args))
	for i := 0; i < len(args); i++ {
		w := word{text: args[i], index: i, at: i}
		if !w.input() {
			t.look(&w)
		}
		if w.known && w.option.value && !w.has {
			switch {
			case i+1 < len(args):
				i++
				w.value, w.at, w.has = args[i], i, true
			case !t.lax:
				return nil, fmt.Errorf("%s has no value: %w", w.text, ErrAside)
			}
		}
		words = append(words, w)
	}
	return words, nil
}

// look finds an option in the table, and the value that stands in the same word.
func (t *table) look(w *word) {
	if w.option, w.known = t.option(w.text); w.known || !t.joined {
		return
	}
	name, value, has := strings.Cut(w.text, "=")
	if has {
		if w.option, w.known = t.option(name); w.known {
			w.value, w.from, w.has = value, len(name)+1, true
			return
		}
	}
	// A word with '=' that no table has is an option that we don't know, and not -m with a value.
	if !has && len(w.text) > 2 && strings.IndexByte(t.glued, w.text[1]) >= 0 {
		if w.option, w.known = t.option(w.text[:2]); w.known {
			w.value, w.from, w.has = w.text[2:], 2, true
		}
	}
}
