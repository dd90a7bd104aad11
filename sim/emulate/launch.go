package emulate

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A Launch is how a kernel is started.
type Launch struct {
	Grid, Block [3]int
	Dynamic     int    // bytes of shared memory beside the static
	Params      []byte // as they stand behind each other in the constant bank
	Limit       int    // instructions of warps; 0: as many as a minute has
	// Done ends the launch, with an error, when it is closed.
	Done <-chan struct{}
	// Order has warps run by turns, of several blocks at a time, each a few instructions: another
	// number is another order. 0: a block after the other, each warp as far as it comes.
	Order int64
	Fill  byte // what shared memory holds at first
	// Ran gets, if it is not nil, true for each instruction (Program.Instructions) that a thread ran.
	Ran []bool
}

// A Result is what a launch gives beside what it left in memory.
type Result struct {
	Steps       int  // instructions that warps have run
	Approximate bool // some were of the special function units, whose results are not known
}

const usualLimit = 1 << 26

// mostShared is what a block may have of shared memory on sm_90.
const mostShared = 227 << 10

// Where the windows of shared and local memory begin in generic addresses. Neither meets a buffer.
const (
	sharedWindow = 0x7f01_0000_0000
	localWindow  = 0x7f02_0000_0000
	windowSize   = 1 << 32
)

// descriptor is what a kernel finds in its bank for accesses to global memory: a number of ours,
// so that a word that is read with another one shows.
const descriptor = 0xdec0_de5c_0000_0001

// A running is a launch on its way.
type running struct {
	*Launch
	program *Program
	memory  *Memory
	bank0   []byte
	stack   int // bytes of local memory of each thread
	Result
}

// Run does a launch, block after block, and leaves what it stores in the memory.
func (p *Program) Run(m *Memory, l Launch) (Result, error) {
	r := &running{Launch: &l, program: p, memory: m}
	if l.Limit == 0 {
		l.Limit = usualLimit
	}
	threads := l.Block[0] * l.Block[1] * l.Block[2]
	if threads < 1 || threads > 1024 || l.Grid[0] < 1 || l.Grid[1] < 1 || l.Grid[2] < 1 {
		return Result{}, fmt.Errorf("emulate %s: a grid of %v blocks of %v threads can't be launched",
			p.Name, l.Grid, l.Block)
	}
	if l.Dynamic < 0 || p.Facts.Shared+l.Dynamic > mostShared {
		return Result{}, fmt.Errorf("emulate %s: %d bytes of dynamic shared memory can't be had beside %d",
			p.Name, l.Dynamic, p.Facts.Shared)
	}
	if k := p.Facts; k.MaxThreads > 0 && threads > k.MaxThreads || k.Cluster != [3]int{} {
		return Result{}, fmt.Errorf("emulate %s: it is not for blocks of %d threads, or for clusters",
			p.Name, threads)
	}
	if len(l.Params) < p.Facts.ParamBytes {
		return Result{}, fmt.Errorf("emulate %s: its parameters have %d bytes, not %d", p.Name,
			p.Facts.ParamBytes, len(l.Params))
	}
	r.fill()
	var err error
	count := l.Grid[0] * l.Grid[1] * l.Grid[2]
	if l.Order != 0 {
		err = r.mixed(count)
	}
	for n := 0; n < count && l.Order == 0 && err == nil; n++ {
		b := newBlock(r, n)
		err = b.failed(b.run())
	}
	return r.Result, err
}

// fill makes bank 0: the sizes of block and grid, the window of local memory, the end of the stack,
// the descriptor, the parameters.
func (r *running) fill() {
	const leastStack = 1 << 12
	r.stack = max(leastStack, (r.program.Facts.StackAll+r.program.Facts.Stack+255)&^255)
	r.bank0 = make([]byte, parameters+len(r.Params))
	for n := range 3 {
		binary.LittleEndian.PutUint32(r.bank0[4*n:], uint32(r.Block[n]))
		binary.LittleEndian.PutUint32(r.bank0[12+4*n:], uint32(r.Grid[n]))
	}
	binary.LittleEndian.PutUint64(r.bank0[0x20:], localWindow)
	binary.LittleEndian.PutUint32(r.bank0[0x28:], uint32(r.stack))
	binary.LittleEndian.PutUint64(r.bank0[0x208:], descriptor)
	copy(r.bank0[parameters:], r.Params)
}

// known lists places in front of the parameters whose meaning is known.
func known(at, size int) bool {
	return at+size <= 24 || at >= 0x20 && at+size <= 0x2c || at >= 0x208
}

// stopped reports whether the launch is no longer waited for.
func (r *running) stopped() bool {
	select {
	case <-r.Done:
		return true
	default:
		return false
	}
}

func (r *running) bank(n int) []byte {
	if n == 0 {
		return r.bank0
	}
	return r.program.code.Banks[n]
}

// A block is one on its way.
type block struct {
	launch  *running
	at      [3]int
	shared  []byte
	warps   []*warp
	arrived [16]int // threads that have come to a barrier and gone on
}

// newBlock is the block of a number.
func newBlock(r *running, number int) *block {
	k, threads := r.program.Facts, r.Block[0]*r.Block[1]*r.Block[2]
	b := &block{launch: r, at: within(r.Grid, number),
		shared: bytes.Repeat([]byte{r.Fill}, k.Reserved+k.Shared+r.Dynamic)}
	for n := 0; n < threads; n += 32 {
		w := &warp{block: b, first: n, up: 1 << 7}
		for l := range min(32, threads-n) {
			w.alive |= 1 << l
		}
		for l := range w.p {
			w.p[l] = 1 << 7
		}
		w.groups = []*group{{on: w.alive}}
		b.warps = append(b.warps, w)
	}
	return b
}

// within is the place of a number in a block or a grid.
func within(size [3]int, n int) [3]int {
	return [3]int{n % size[0], n / size[0] % size[1], n / size[0] / size[1]}
}

// failed says in which block an error was.
func (b *block) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("emulate %s, block %d %d %d: %w", b.launch.program.Name, b.at[0], b.at[1], b.at[2],
		err)
}

// run runs all warps until they have ended: each as far as it comes, then those that waited for one
// another.
func (b *block) run() error {
	for {
		moved, alive := false, false
		for _, w := range b.warps {
			m, err := w.run()
			if err != nil {
				return err
			}
			moved, alive = moved || m, alive || w.alive != 0
		}
		if !alive {
			return nil
		}
		if opened, err := b.open(); err != nil {
			return err
		} else if !opened && !moved {
			return b.stuck()
		}
	}
}

func (b *block) stuck() error {
	for _, w := range b.warps {
		for _, g := range w.groups {
			i := b.launch.program.insts[g.pc]
			return fmt.Errorf("%s at %#x: threads %08x of warp %d wait for others that never come", i.name,
				i.offset, g.on, w.first/32)
		}
	}
	return nil
}
