package recipe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Second is the lever whose terms have braces: a second entry next to the kernel, which the host
// launches where the conditions hold; Unroll and FastMath are the other levers on the source.
const (
	Second   = "spec"
	Unroll   = "unroll"
	FastMath = "fastmath"
)

// A Guard is what stands between the braces of such a term: the conditions, all of which must hold,
// and behind a bar the recipe that a second entry alone is built with.
//
//	#1=1024,blockDim.x=256,align(#0)=16,host(dynamic)=0|maxnreg=96
type Guard struct {
	Conditions []Condition
	Own        Recipe
}

// Kind says what a condition looks at.
type Kind uint8

// The host alone looks at what is host(...); nothing in the copy's code depends on it.
const (
	// #1=1024, #2+8=3: the value of an argument, or of what lies 8 bytes into it
	Argument    Kind = iota + 1
	Alignment        // align(#0)=16: a pointer is a multiple of so many bytes
	BlockDim         // blockDim.x=256
	GridDim          // gridDim.x=80
	HostBlock        // host(block)=256x1x1
	HostGrid         // host(grid)=80x1x1
	HostDynamic      // host(dynamic)=0: bytes of dynamic shared memory
	// host(#1:4)=1024, host(#2+8:8)=3: the integer in so many bytes of an argument
	HostArgument
)

// A Condition is one of a guard's.
type Condition struct {
	Kind   Kind
	Of     Place  // Argument, Alignment, HostArgument
	Value  string // Argument: as its type is written, "1024", "-3", "2.5"; HostArgument: signed
	Bytes  int    // HostArgument: 1, 2, 4 or 8
	Axis   int    // BlockDim, GridDim: 0 to 2
	Number int    // BlockDim, GridDim, Alignment (bytes), HostDynamic (bytes)
	Size   [3]int // HostBlock, HostGrid
}

// A Place is where an argument's value lies. A recipe may be written with a name ("n", "s.rows");
// what is kept is the index of the argument, from 0 and with packs expanded, and the offset in
// bytes, which no renaming changes.
type Place struct {
	Name          string // "" once it is resolved
	Index, Offset int
}

func (p Place) String() string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Offset > 0:
		return fmt.Sprintf("#%d+%d", p.Index, p.Offset)
	}
	return fmt.Sprintf("#%d", p.Index)
}

// Bounds: the CUDA programming guide's technical specifications; a kernel's parameters have 32,764
// bytes at most.
const (
	maxIndex     = 1 << 12
	maxOffset    = 1 << 15
	maxDynamic   = 1 << 20
	maxAlignment = 128
)

// limits are the largest sizes of a block and of a grid.
var limits = [...][3]int{
	BlockDim: {1024, 1024, 64}, HostBlock: {1024, 1024, 64},
	GridDim: {1<<31 - 1, 65535, 65535}, HostGrid: {1<<31 - 1, 65535, 65535},
}

var words = [...]string{BlockDim: "blockDim.", GridDim: "gridDim.", HostBlock: "host(block)",
	HostGrid: "host(grid)", HostDynamic: "host(dynamic)"}

func parsePlace(text string) (Place, error) {
	if digits, ok := strings.CutPrefix(text, "#"); ok {
		var p Place
		var err error
		index, offset, deeper := strings.Cut(digits, "+")
		if p.Index, err = Number(index, 0, maxIndex); err == nil && deeper {
			p.Offset, err = Number(offset, 1, maxOffset)
		}
		if err != nil {
			return p, fmt.Errorf("%s: an argument is #INDEX or #INDEX+BYTES: %w", text, err)
		}
		return p, nil
	}
	if text == "" || strings.ContainsAny(text, " #+()|") {
		return Place{}, fmt.Errorf("%q is no name of a parameter", text)
	}
	return Place{Name: text}, nil
}

// Number reads a decimal number within bounds, as recipes write it: no sign, no zero in front.
func Number(s string, low, high int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(n) != s || n < low || n > high {
		return 0, fmt.Errorf("%q is not a number from %d to %d", s, low, high)
	}
	return n, nil
}

// ParseGuard reads the text between the braces.
func ParseGuard(text string) (Guard, error) {
	var g Guard
	conditions, own, bar := strings.Cut(text, "|")
	for _, item := range strings.Split(conditions, ",") {
		c, err := parseCondition(strings.TrimSpace(item))
		if err != nil {
			return Guard{}, err
		}
		if slices.ContainsFunc(g.Conditions, func(o Condition) bool { return o.Key() == c.Key() }) {
			return Guard{}, fmt.Errorf("%s is given twice", c.Key())
		}
		g.Conditions = append(g.Conditions, c)
	}
	if block := g.Block(); slices.ContainsFunc(g.Conditions, func(c Condition) bool {
		return c.Kind == BlockDim && block[c.Axis] != c.Number
	}) {
		return Guard{}, errors.New("two sizes of a block")
	}
	if grid := g.Grid(); slices.ContainsFunc(g.Conditions, func(c Condition) bool {
		return c.Kind == GridDim && grid[c.Axis] != c.Number
	}) {
		return Guard{}, errors.New("two sizes of a grid")
	}
	if !bar {
		return g, nil
	}
	var err error
	if g.Own, err = Parse(own); err != nil {
		return Guard{}, fmt.Errorf("behind the bar: %w", err)
	}
	for _, t := range g.Own.Terms {
		if t.Brace {
			return Guard{}, fmt.Errorf("%s can't stand behind a bar", t)
		}
	}
	return g, nil
}

func parseCondition(item string) (c Condition, err error) {
	key, value, ok := strings.Cut(item, "=")
	if !ok || key == "" || value == "" {
		return c, fmt.Errorf("%q is not name=value", item)
	}
	if strings.ContainsAny(value, " =#|") {
		return c, fmt.Errorf("%s: %q is no value", item, value)
	}
	inner, isAlign := strings.CutPrefix(key, "align(")
	switch {
	case strings.HasPrefix(key, words[BlockDim]), strings.HasPrefix(key, words[GridDim]):
		c.Kind = BlockDim
		if strings.HasPrefix(key, words[GridDim]) {
			c.Kind = GridDim
		}
		axis := strings.TrimPrefix(key, words[c.Kind])
		if c.Axis = strings.Index("xyz", axis); len(axis) != 1 || c.Axis < 0 {
			return c, fmt.Errorf("%s: %s has x, y and z", item, words[c.Kind])
		}
		c.Number, err = Number(value, 1, limits[c.Kind][c.Axis])
	case isAlign && strings.HasSuffix(inner, ")"):
		c.Kind = Alignment
		if c.Of, err = parsePlace(strings.TrimSuffix(inner, ")")); err == nil {
			if c.Number, err = Number(value, 2, maxAlignment); err == nil && c.Number&(c.Number-1) != 0 {
				err = fmt.Errorf("an alignment is a power of two from 2 to %d", maxAlignment)
			}
		}
	case key == words[HostBlock], key == words[HostGrid]:
		c.Kind = HostBlock
		if key == words[HostGrid] {
			c.Kind = HostGrid
		}
		c.Size, err = parseSize(value, limits[c.Kind])
	case key == words[HostDynamic]:
		c.Kind = HostDynamic
		c.Number, err = Number(value, 0, maxDynamic)
	case strings.HasPrefix(key, "host(#"):
		c, err = parseHostArgument(key, value)
	case strings.HasPrefix(key, "host("):
		err = errors.New("the host knows host(block), host(grid), host(dynamic) and host(#INDEX:BYTES)")
	default:
		c.Kind, c.Value = Argument, value
		c.Of, err = parsePlace(key)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", item, err)
	}
	return c, err
}

// parseHostArgument reads host(#1:4)=1024.
func parseHostArgument(key, value string) (c Condition, err error) {
	place, size, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(key, "host("), ")"), ":")
	c = Condition{Kind: HostArgument, Value: value}
	if c.Of, err = parsePlace(place); err != nil {
		return c, err
	}
	if c.Bytes, err = Number(size, 1, 8); err != nil || c.Bytes&(c.Bytes-1) != 0 || c.Key() != key {
		return c, errors.New("an integer of the host's is host(#INDEX:BYTES), of 1, 2, 4 or 8 bytes")
	}
	if n, err := strconv.ParseInt(value, 10, 8*c.Bytes); err != nil || strconv.FormatInt(n, 10) != value {
		return c, fmt.Errorf("%q is no signed integer of %d bytes", value, c.Bytes)
	}
	return c, nil
}

// Raw is the value of a HostArgument as it lies in memory.
func (c Condition) Raw() []byte {
	n, _ := strconv.ParseInt(c.Value, 10, 64)
	return binary.LittleEndian.AppendUint64(nil, uint64(n))[:c.Bytes]
}

func parseSize(text string, most [3]int) (size [3]int, err error) {
	parts := strings.Split(text, "x")
	if len(parts) != 3 {
		return size, fmt.Errorf("a size is XxYxZ")
	}
	for i, p := range parts {
		if size[i], err = Number(p, 1, most[i]); err != nil {
			return size, err
		}
	}
	return size, nil
}

// Key is what a condition looks at, as text: "#1", "blockDim.x", "align(#0)", "host(block)".
func (c Condition) Key() string {
	switch c.Kind {
	case Argument:
		return c.Of.String()
	case Alignment:
		return "align(" + c.Of.String() + ")"
	case BlockDim, GridDim:
		return words[c.Kind] + "xyz"[c.Axis:c.Axis+1]
	case HostArgument:
		return fmt.Sprintf("host(%s:%d)", c.Of, c.Bytes)
	}
	return words[c.Kind]
}

// Text is the value that it wants.
func (c Condition) Text() string {
	switch c.Kind {
	case Argument, HostArgument:
		return c.Value
	case HostBlock, HostGrid:
		return fmt.Sprintf("%dx%dx%d", c.Size[0], c.Size[1], c.Size[2])
	}
	return strconv.Itoa(c.Number)
}

func (c Condition) String() string { return c.Key() + "=" + c.Text() }

// Host reports whether the host alone looks at it.
func (c Condition) Host() bool { return c.Kind >= HostBlock }

func (g Guard) String() string {
	var b strings.Builder
	for i, c := range g.Conditions {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(c.String())
	}
	if !g.Own.IsDefault() {
		b.WriteString("|" + g.Own.String())
	}
	return b.String()
}

// HostOnly reports whether the host alone looks at the conditions: the copy is the kernel's own code.
func (g Guard) HostOnly() bool {
	return !slices.ContainsFunc(g.Conditions, func(c Condition) bool { return !c.Host() })
}

// Block is the size of the blocks that fulfil the guard; a dimension that it leaves open is 0.
func (g Guard) Block() [3]int { return g.size(BlockDim, HostBlock) }

// Grid is the same for the grid.
func (g Guard) Grid() [3]int { return g.size(GridDim, HostGrid) }

func (g Guard) size(axis, whole Kind) (size [3]int) {
	for _, c := range g.Conditions {
		switch c.Kind {
		case axis:
			size[c.Axis] = c.Number
		case whole:
			return c.Size
		}
	}
	return size
}

// Dynamic is the dynamic shared memory that a launch must have, bytes; false: any.
func (g Guard) Dynamic() (int, bool) {
	for _, c := range g.Conditions {
		if c.Kind == HostDynamic {
			return c.Number, true
		}
	}
	return 0, false
}

// Holds reports whether a launch fulfils the guard. have gives the launch's value for a key, false
// where it is not known.
func (g Guard) Holds(have func(key string) (string, bool)) bool {
	return !slices.ContainsFunc(g.Conditions, func(c Condition) bool {
		value, ok := have(c.Key())
		return !ok || value != c.Text()
	})
}

// Excludes reports whether what is known of a launch is enough to say that it does not fulfil the
// guard. Of a pointer more than one alignment holds: an alignment excludes nothing.
func (g Guard) Excludes(have func(key string) (string, bool)) bool {
	return slices.ContainsFunc(g.Conditions, func(c Condition) bool {
		value, ok := have(c.Key())
		return ok && value != c.Text() && c.Kind != Alignment
	})
}

// For returns the guard for the values that another launch has, where they are known; alignments
// stay.
func (g Guard) For(have func(key string) (string, bool)) Guard {
	out := Guard{Own: g.Own}
	for _, c := range g.Conditions {
		if value, ok := have(c.Key()); ok && c.Kind != Alignment {
			if other, err := parseCondition(c.Key() + "=" + value); err == nil {
				c = other
			}
		}
		out.Conditions = append(out.Conditions, c)
	}
	return out
}

// And joins two guards' conditions. One that both have stays as it is in g. The recipe behind the
// bar is g's.
func (g Guard) And(other Guard) Guard {
	out := Guard{Conditions: slices.Clone(g.Conditions), Own: g.Own}
	for _, c := range other.Conditions {
		if !slices.ContainsFunc(g.Conditions, func(o Condition) bool { return o.Key() == c.Key() }) {
			out.Conditions = append(out.Conditions, c)
		}
	}
	return out
}

// LeaveOut returns the guard with each condition left out in turn. The dimensions of the block are
// one, those of the grid, and all alignments; what the host alone looks at stays.
func (g Guard) LeaveOut() []Guard {
	unit := func(c Condition) string {
		switch {
		case c.Host():
			return ""
		case c.Kind == Argument:
			return c.Key()
		}
		return fmt.Sprint(c.Kind)
	}
	var units []string
	for _, c := range g.Conditions {
		if u := unit(c); !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	if len(units) < 2 || len(units) > 8 {
		return nil
	}
	var out []Guard
	for _, u := range units {
		if u != "" {
			left := slices.DeleteFunc(slices.Clone(g.Conditions), func(c Condition) bool {
				return unit(c) == u
			})
			out = append(out, Guard{Conditions: left, Own: g.Own})
		}
	}
	return out
}

// Places returns the guard with its places changed by fn.
func (g Guard) Places(fn func(Place) (Place, error)) (Guard, error) {
	out := Guard{Own: g.Own}
	for _, c := range g.Conditions {
		if c.Kind == Argument || c.Kind == Alignment || c.Kind == HostArgument {
			var err error
			if c.Of, err = fn(c.Of); err != nil {
				return g, err
			}
		}
		out.Conditions = append(out.Conditions, c)
	}
	return out, nil
}

// Named gives the first name in the guard, "" where all places are indices.
func (g Guard) Named() string {
	for _, c := range g.Conditions {
		if c.Of.Name != "" {
			return c.Of.Name
		}
	}
	return ""
}

// Term makes a term of it.
func (g Guard) Term() Term { return Term{Lever: Second, Value: g.String(), Brace: true} }

// IsSecond reports whether it asks for a second entry.
func (t Term) IsSecond() bool { return t.Lever == Second }

// Guard reads the braces of a term that asks for a copy.
func (t Term) Guard() (Guard, error) {
	if !t.IsSecond() || !t.Brace || t.Site != "" {
		return Guard{}, fmt.Errorf("%s: a second entry is %s{conditions}", t, Second)
	}
	g, err := ParseGuard(t.Value)
	if err != nil {
		err = fmt.Errorf("%s: %w", t, err)
	}
	return g, err
}

// HostOnly reports whether a term is for a second entry that is the kernel's own code: what the host
// alone looks at.
func (t Term) HostOnly() bool {
	if t.Lever != Second || !t.Brace {
		return false
	}
	g, err := t.Guard()
	return err == nil && g.HostOnly()
}

// Guards reads all copies of a recipe, in order.
func (r Recipe) Guards() ([]Guard, error) {
	var out []Guard
	for _, t := range r.Terms {
		if t.IsSecond() {
			g, err := t.Guard()
			if err != nil {
				return nil, err
			}
			out = append(out, g)
		}
	}
	return out, nil
}

// HasSecond reports whether a recipe is for second entries.
func (r Recipe) HasSecond() bool { return slices.ContainsFunc(r.Terms, Term.IsSecond) }
