package profile

import (
	"bufio"
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What a program's time is in that is no kernel: calls of the driver's that copy, allocate and wait,
// and the time between launches that follow each other.

// A Call is one kind of these, over a process' life.
type Call struct {
	What    string  `json:"what"`
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"` // that the program is in them; kernels that they wait for are part of it
	Bytes   int64   `json:"bytes,omitempty"`
	Sites   []Site  `json:"sites,omitempty"` // where they come from, the longest first; estimated
}

// A Site is a place in the program.
type Site struct {
	Where   string  `json:"where"` // "solve (cg.cu:112)", "solve" without debug information
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
}

// A Follow is launches of one kernel that followed those of another on their stream, with none of
// the calls above between.
type Follow struct {
	First string `json:"first"` // mangled
	Then  string `json:"then"`
	Count int    `json:"count"`
	Timed int    `json:"timed"`
	// of these: less than 5 us were between, with two events of ours there
	Close int     `json:"close"`
	Gap   float64 `json:"gap"` // seconds between those that were timed, all of them
}

// Each is seconds between two, at the most: two events are there, too. 0: none was timed.
func (f Follow) Each() float64 { return f.Gap / float64(max(f.Timed, 1)) }

// calls are the agent's kinds, from 1 on (agent/source/agent.h).
var calls = []string{"read back", "written", "copied on the device", "set", "allocated", "freed", "waited"}

const mostSites = 3 // of a kind

// between reads what a summary has of it.
func (p *process) between(in *Reader) error {
	n := int(in.U32())
	if n != len(calls) {
		return fmt.Errorf("the agent counts %d kinds of calls, not %d", n, len(calls))
	}
	all := make([]Call, n)
	for i := range all {
		all[i] = Call{calls[i], int(in.U64()), in.f64(), int64(in.U64()), nil}
	}
	for n := in.U32(); n > 0 && in.err == nil; n-- {
		kind := int(in.U8()) - 1
		s := Site{Count: int(in.U64()), Seconds: in.f64()}
		frames := make([]uint64, min(int(in.U32()), len(in.b)/8))
		for i := range frames {
			frames[i] = in.U64()
		}
		if s.Where = p.places.of(frames); kind >= 0 && kind < len(all) && s.Where != "" {
			all[kind].Sites = addSite(all[kind].Sites, s)
		}
	}
	p.summary.Calls = nil
	for _, c := range all {
		if c.Count > 0 {
			p.summary.Calls = append(p.summary.Calls, c)
		}
	}
	p.summary.Follows = nil
	for n := in.U32(); n > 0 && in.err == nil; n-- {
		first, then := p.shapes[in.U32()], p.shapes[in.U32()]
		f := Follow{Count: int(in.U64()), Timed: int(in.U64()), Close: int(in.U64()), Gap: in.f64()}
		if first != nil && then != nil {
			f.First, f.Then = first.Launch.Kernel, then.Launch.Kernel
			p.summary.Follows = AddFollow(p.summary.Follows, f)
		}
	}
	return nil
}

func addSite(list []Site, s Site) []Site {
	if i := slices.IndexFunc(list, func(x Site) bool { return x.Where == s.Where }); i >= 0 {
		list[i].Count, list[i].Seconds = list[i].Count+s.Count, list[i].Seconds+s.Seconds
	} else {
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b Site) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return list[:min(len(list), mostSites)]
}

// AddFollow adds launches to those of the same two kernels.
func AddFollow(list []Follow, f Follow) []Follow {
	i := slices.IndexFunc(list, func(x Follow) bool { return x.First == f.First && x.Then == f.Then })
	if i < 0 {
		return append(list, f)
	}
	x := &list[i]
	x.Count, x.Timed, x.Close, x.Gap = x.Count+f.Count, x.Timed+f.Timed, x.Close+f.Close, x.Gap+f.Gap
	return list
}

// AddCalls adds what another process did.
func AddCalls(list, more []Call) []Call {
	for _, c := range more {
		i := slices.IndexFunc(list, func(x Call) bool { return x.What == c.What })
		if i < 0 {
			list = append(list, c)
			continue
		}
		x := &list[i]
		x.Count, x.Seconds, x.Bytes = x.Count+c.Count, x.Seconds+c.Seconds, x.Bytes+c.Bytes
		for _, s := range c.Sites {
			x.Sites = addSite(x.Sites, s)
		}
	}
	return list
}

// places names places in a process: of what it has mapped, read while it waits for us.
type places struct {
	maps  []mapped
	files map[string]*symbols
}

type mapped struct {
	from, to, offset uint64
	path             string
}

// look reads what a process has mapped now.
func (p *places) look(pid int) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return
	}
	defer f.Close()
	p.maps = p.maps[:0]
	for s := bufio.NewScanner(f); s.Scan(); {
		var m mapped
		var how, device string
		var inode uint64
		n, _ := fmt.Sscanf(s.Text(), "%x-%x %s %x %s %d %s", &m.from, &m.to, &how, &m.offset, &device, &inode, &m.path)
		if n == 7 && strings.Contains(how, "x") && filepath.IsAbs(m.path) {
			p.maps = append(p.maps, m)
		}
	}
}

// ours are libraries that calls go through, not where they come from.
var ours = []string{"libcuda.", "libcudart", "libcupti", "agent-", "libnvidia"}

// of names the first place of a stack that is the program's own, "": there is none that has a name.
func (p *places) of(frames []uint64) string {
	for _, at := range frames {
		i := slices.IndexFunc(p.maps, func(m mapped) bool { return at >= m.from && at < m.to })
		if i < 0 {
			continue
		}
		m := p.maps[i]
		base := filepath.Base(m.path)
		if slices.ContainsFunc(ours, func(s string) bool { return strings.HasPrefix(base, s) }) {
			continue
		}
		if p.files[m.path] == nil {
			if p.files == nil {
				p.files = map[string]*symbols{}
			}
			p.files[m.path] = readSymbols(m.path)
		}
		// The call is before the address at which it returns.
		name := p.files[m.path].name(at - 1 - m.from + m.offset)
		if name == "" || strings.HasPrefix(name, "cuda") || strings.Contains(name, "cudart") {
			continue // the runtime may be linked in
		}
		return name
	}
	return ""
}

// symbols are a file's functions, and its lines where it has debug information.
type symbols struct {
	loads     []*elf.Prog
	functions []elf.Symbol // by address
	lines     *dwarf.Data
}

func readSymbols(path string) *symbols {
	s := &symbols{}
	f, err := elf.Open(path)
	if err != nil {
		return s
	}
	defer f.Close()
	list, _ := f.Symbols()
	more, _ := f.DynamicSymbols()
	for _, x := range slices.Concat(list, more) {
		if elf.ST_TYPE(x.Info) == elf.STT_FUNC && x.Size > 0 {
			s.functions = append(s.functions, x)
		}
	}
	slices.SortFunc(s.functions, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	for _, x := range f.Progs {
		if x.Type == elf.PT_LOAD {
			s.loads = append(s.loads, x)
		}
	}
	s.lines, _ = f.DWARF()
	return s
}

// name gives the function and, if it is known, the line of a place in the file.
func (s *symbols) name(offset uint64) string {
	i := slices.IndexFunc(s.loads, func(x *elf.Prog) bool { return offset >= x.Off && offset < x.Off+x.Filesz })
	if i < 0 {
		return ""
	}
	at := offset - s.loads[i].Off + s.loads[i].Vaddr
	n, found := slices.BinarySearchFunc(s.functions, at, func(x elf.Symbol, at uint64) int { return cmp.Compare(x.Value, at) })
	if !found {
		n--
	}
	if n < 0 || at >= s.functions[n].Value+s.functions[n].Size {
		return ""
	}
	if line := s.line(at); line != "" {
		return fmt.Sprintf("%s (%s)", s.functions[n].Name, line)
	}
	return s.functions[n].Name
}

func (s *symbols) line(at uint64) string {
	if s.lines == nil {
		return ""
	}
	unit, err := s.lines.Reader().SeekPC(at)
	if err != nil {
		return ""
	}
	lines, err := s.lines.LineReader(unit)
	if err != nil || lines == nil {
		return ""
	}
	var e dwarf.LineEntry
	if lines.SeekPC(at, &e) != nil || e.File == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(e.File.Name), e.Line)
}
