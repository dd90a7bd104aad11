package ptx

// Reading a function again after edits, without reading all of it: only the statements that an edit
// touches are parsed, the others keep what is known of them and move. With four passes over a
// kernel this is most of their time.

// splice returns the statements of the text that f becomes by edits, which are in order and do not
// overlap, and where its body is to begin. nil: the text has to be read as a whole, since an edit
// moves a brace, hides what stands behind it in a comment or leaves a statement open, or there is
// no body.
func (f *Func) splice(edits []edit, text []byte) (stmts []Stmt, open int) {
	if !f.Body || edits[len(edits)-1].end > f.close {
		return nil, 0
	}
	p := &parser{b: text, stmts: make([]Stmt, 0, len(f.Stmts)+2*len(edits))}
	shift := 0 // what a position behind the edits seen so far has moved by
	next := 0  // the first statement that is not in p.stmts yet
	for len(edits) > 0 && edits[0].start <= f.open {
		if edits[0].end > f.open {
			return nil, 0
		}
		shift += edits[0].grows()
		edits = edits[1:]
	}
	open = int(f.open) + shift
	keep := func(to int) { // statements up to that one stay as they are
		from := len(p.stmts)
		p.stmts = append(p.stmts, f.Stmts[next:to]...)
		if shift != 0 {
			for i := from; i < len(p.stmts); i++ {
				p.stmts[i].move(shift)
			}
		}
		next = to
	}
	for len(edits) > 0 {
		// The statements that lie wholly in front of the edit stay. Behind the last of them begins what
		// is to be read.
		to := next
		for to < len(f.Stmts) && (f.Stmts[to].End < edits[0].start || f.Stmts[to].End == edits[0].start &&
			f.Stmts[to].Kind != Line) {
			to++
		}
		keep(to)
		from := int(f.open) + 1
		if to > 0 {
			from = int(f.Stmts[to-1].End)
		}
		from += shift
		// It ends at the first statement behind the edit that no other edit touches.
		end := int(f.close)
		for {
			if len(edits) > 0 && (next == len(f.Stmts) || edits[0].start <= f.Stmts[next].Start) {
				for next < len(f.Stmts) && f.Stmts[next].Start <= edits[0].end { // a guard may be put in front
					next++
				}
				shift += edits[0].grows()
				edits = edits[1:]
				continue
			}
			if len(edits) > 0 && (edits[0].start < f.Stmts[next].End ||
				edits[0].start == f.Stmts[next].End && f.Stmts[next].Kind == Line) {
				next++ // inside this statement
				continue
			}
			if next < len(f.Stmts) {
				end = int(f.Stmts[next].Start)
			}
			break
		}
		if !p.piece(from, end+shift, f.openAt(to), f.openAt(next)) {
			return nil, 0
		}
	}
	keep(len(f.Stmts))
	return p.stmts, open
}

// openAt is how many scopes are open in front of a statement.
func (f *Func) openAt(i int) uint16 {
	switch {
	case i == len(f.Stmts):
		return 0
	case f.Stmts[i].Kind == Close:
		return f.Stmts[i].Depth + 1
	}
	return f.Stmts[i].Depth
}

// grows is what an edit adds to the text's length.
func (e edit) grows() int { return len(e.text) - int(e.end-e.start) }

func (s *Stmt) move(by int) {
	s.Start, s.End = uint32(int(s.Start)+by), uint32(int(s.End)+by)
	if s.OpEnd > 0 {
		s.Op, s.OpEnd = uint32(int(s.Op)+by), uint32(int(s.OpEnd)+by)
	}
}

// piece reads the statements between two places of a body, where so many scopes are open, into
// p.stmts. At the end a statement, or the body's closing brace, must begin. False: it is no run of
// whole statements.
func (p *parser) piece(from, end int, depth, after uint16) bool {
	b := p.b
	p.b = b[:end+1] // a comment that is left open would run over this one byte
	defer func() { p.b = b }()
	at, open := from, int(depth)
	for {
		if at = skip(p.b, at); at >= end {
			return at == end && open == int(after)
		}
		if p.b[at] == '}' && open == 0 {
			return false
		}
		s, next, err := p.statement(at, 0, &open)
		if err != nil || next > end {
			return false
		}
		p.stmts = append(p.stmts, s)
		at = next
	}
}
