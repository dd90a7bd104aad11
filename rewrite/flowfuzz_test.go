package rewrite

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/recipe"
)

// TestFlowFuzz: what the reader of control flow says of random programs holds on every run of them:
// accesses, scopes, blocks and their successors, live registers, loops, definitions, constants, the
// variables behind addresses; and where a thread goes round for ever unless another block writes to
// memory, its kernel waits (await.Why). Recipes are carried out on them.
//
// GNVCC_FLOW_SECONDS is how long it goes on, with a seed from the clock (2,000 programs of a fixed
// seed without it), GNVCC_FLOW_SEED the seed; GNVCC_FLOW_PROGRAM is the number behind a program that
// failed, which is tried alone.
func TestFlowFuzz(t *testing.T) {
	seed, seconds := int64(1), 0
	if text := os.Getenv("GNVCC_FLOW_SECONDS"); text != "" {
		seconds, _ = strconv.Atoi(text)
		seed = time.Now().UnixNano() ^ int64(os.Getpid())<<32
	}
	if n, err := strconv.ParseInt(os.Getenv("GNVCC_FLOW_SEED"), 10, 64); err == nil {
		seed = n
	}
	again, _ := strconv.ParseInt(os.Getenv("GNVCC_FLOW_PROGRAM"), 10, 64)
	t.Logf("seed %d, %d s", seed, seconds)
	rng := rand.New(rand.NewSource(seed))
	begun := time.Now()
	var c flowCounts
	for n := 0; ; n++ {
		if seconds > 0 && time.Since(begun) > time.Duration(seconds)*time.Second || seconds == 0 &&
			n >= kits.Rounds(2000) {
			break
		}
		own := rng.Int63()
		if again != 0 {
			own = again
		}
		one := rand.New(rand.NewSource(own))
		p := newFlowProgram(one)
		if err := c.check(p, one); err != nil {
			t.Fatalf("seed %d, program %d (%d): %v\n%s", seed, n, own, err, p.Text())
		}
		if err := c.rewrite(p, one); err != nil {
			t.Fatalf("seed %d, program %d (%d): %v\n%s", seed, n, own, err, p.Text())
		}
		if again != 0 {
			return
		}
	}
	t.Logf("programs %d steps %d reads %d constants %d roots %d spins %d waits %d of which need others %d applied %d",
		c.programs, c.steps, c.reads, c.constants, c.roots, c.spins, c.waits, c.needed, c.applied)
	if c.steps < 10*c.programs || c.constants == 0 || c.roots == 0 || c.needed == 0 ||
		c.waits == c.programs || c.applied == 0 {
		t.Error("the programs show too little")
	}
}

type flowCounts struct {
	programs, steps, reads, constants, roots, spins, waits, needed, applied int
}

// A flowReading is what the reader says of a program.
type flowReading struct {
	*ir.Func
	inst  []int          // operation -> statement
	reg   map[int]ir.Reg // our register -> the reader's
	live  []map[ir.Reg]bool
	waits string
}

func readFlow(p *flowProgram) (*flowReading, error) {
	m, err := ptx.Parse(p.Text())
	if err != nil {
		return nil, err
	}
	r := &flowReading{reg: map[int]ir.Reg{}}
	if r.Func, err = ir.Of(m.Entry("k")); err != nil {
		return nil, err
	}
	if r.waits, err = await.Why(m, "k"); err != nil {
		return nil, err
	}
	r.live = make([]map[ir.Reg]bool, len(r.Stmts))
	pressure := r.Pressure(nil)
	for i, s := range r.Stmts {
		if s.Kind == ptx.Inst {
			r.inst = append(r.inst, i)
		}
		r.live[i] = map[ir.Reg]bool{}
		words := 0
		for _, x := range r.Live(i) {
			r.live[i][x] = true
			words += r.Words(x)
		}
		if int(pressure[i]) != words {
			return nil, fmt.Errorf("statement %d: pressure %d, live %d", i, pressure[i], words)
		}
	}
	if len(r.inst) != len(p.ops) {
		return nil, fmt.Errorf("%d instructions read, %d written", len(r.inst), len(p.ops))
	}
	return r, r.accesses(p)
}

// accesses compares reads and writes, and finds which of the reader's registers are ours.
func (r *flowReading) accesses(p *flowProgram) error {
	back := map[ir.Reg]int{}
	for k := range p.ops {
		o := &p.ops[k]
		type access struct {
			reg         int
			read, write bool
		}
		var want []access
		if o.guard >= 0 {
			want = append(want, access{o.guard, true, false})
		}
		for _, x := range o.writes {
			want = append(want, access{x, false, true})
		}
		for _, x := range o.reads {
			want = append(want, access{x, true, false})
		}
		got := slices.Clone(r.Accesses(r.inst[k]))
		for _, x := range want {
			i := slices.IndexFunc(got, func(a ir.Access) bool {
				return string(r.Bytes(a.At)) == p.names[x.reg] && a.Read == x.read && a.Write == x.write &&
					a.Kept == (x.write && o.guard >= 0)
			})
			if i < 0 {
				return fmt.Errorf("%s: no access to %s (read %v)", o.text, p.names[x.reg], x.read)
			}
			if theirs, ok := r.reg[x.reg]; ok && theirs != got[i].Reg {
				return fmt.Errorf("%s: %s is another register than before", o.text, p.names[x.reg])
			}
			if ours, ok := back[got[i].Reg]; ok && ours != x.reg {
				return fmt.Errorf("%s: %s is taken for another one of that name", o.text, p.names[x.reg])
			}
			r.reg[x.reg], back[got[i].Reg] = got[i].Reg, x.reg
			got = slices.Delete(got, i, i+1)
		}
		if len(got) > 0 {
			return fmt.Errorf("%s: %d accesses too many", o.text, len(got))
		}
	}
	return nil
}

// check runs a program a few times.
func (c *flowCounts) check(p *flowProgram, rng *rand.Rand) error {
	c.programs++
	r, err := readFlow(p)
	if err != nil {
		return err
	}
	if r.waits != "" {
		c.waits++
	}
	for range 4 {
		m := newFlowMachine(p, rng)
		if rng.Intn(2) == 0 {
			m.change = changing(rng, m)
		}
		if err := c.trace(p, r, m); err != nil {
			return err
		}
		if err := c.spin(p, r, newFlowMachine(p, rng), rng); err != nil {
			return err
		}
	}
	return nil
}

// changing is what other blocks may do: now and then a word has another value.
func changing(rng *rand.Rand, m *flowMachine) func(int, *uint32) {
	return func(_ int, word *uint32) {
		switch rng.Intn(3) {
		case 0:
			*word = uint32(rng.Intn(6))
		case 1:
			*word = uint32(m.r[flowR+rng.Intn(6)])
		}
	}
}

// trace follows one run and compares.
func (c *flowCounts) trace(p *flowProgram, r *flowReading, m *flowMachine) error {
	var ran []int          // statements, in order
	since := map[int]int{} // register -> how many had run when it was written
	seen := map[int]bool{} // blocks
	last := -1             // statement
	for on := true; on && len(ran) < 300; {
		k := m.at
		o, i := &p.ops[k], r.inst[k]
		c.steps++
		b := r.Block(i)
		if last >= 0 {
			if err := r.follows(last, i, seen); err != nil {
				return err
			}
		}
		seen[b] = true
		ran = append(ran, i)
		guard := o.guard >= 0 && (m.r[o.guard] != 0) == o.negated // off
		reads := o.reads
		if guard {
			reads = nil
		}
		if o.guard >= 0 {
			reads = append([]int{o.guard}, reads...)
		}
		for _, x := range reads {
			c.reads++
			for _, at := range ran[since[x]:] {
				if !r.live[at][r.reg[x]] {
					return fmt.Errorf("%s reads %s, which is not live in front of statement %d", o.text,
						p.names[x], at)
				}
			}
			if w := m.written[x]; w >= 0 {
				if !slices.Contains(r.Defs(r.reg[x]), r.inst[w]) {
					return fmt.Errorf("%s reads %s, written by statement %d, which is no definition", o.text,
						p.names[x], r.inst[w])
				}
				if n, known := r.Constant(ir.Operand{Reg: r.reg[x]}); known {
					c.constants++
					if uint32(n) != uint32(m.r[x]) {
						return fmt.Errorf("%s: %s is %d, said to be always %d", o.text, p.names[x], m.r[x], n)
					}
				}
			}
		}
		if o.shared && !guard && m.written[o.base] >= 0 {
			if root := r.Origin(ir.Operand{Reg: r.reg[o.base]}).Root; root != "" {
				c.roots++
				if want := fmt.Sprintf("S%d", m.r[o.base]/flowShared-1); root != want {
					return fmt.Errorf("%s is in %s, said to be in %s", o.text, want, root)
				}
			}
		}
		did := false
		if did, on = m.step(p); did {
			for _, x := range o.writes {
				since[x] = len(ran)
			}
		}
		last = i
	}
	return nil
}

// follows checks the way from one instruction to the next. Between them stand labels, declarations
// and braces, and blocks that hold nothing else.
func (r *flowReading) follows(last, i int, seen map[int]bool) error {
	from, to := r.Block(last), r.Block(i)
	if from == to && i > last { // in the block, or all the way round
		for s := last + 1; s < i; s++ {
			if r.Stmts[s].Kind == ptx.Inst {
				return fmt.Errorf("statement %d behind %d, within a block", i, last)
			}
		}
		return nil
	}
	passed := map[int]bool{}
	todo := []int{from}
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, s := range r.Blocks[b].Succs {
			if s == to {
				for at := r.Blocks[to].First; at < i; at++ {
					if r.Stmts[at].Kind == ptx.Inst {
						return fmt.Errorf(
							"statement %d is come to from outside, and is not the first one of its block", i)
					}
				}
				if seen[to] && r.Depth(to) == 0 {
					return fmt.Errorf("statement %d runs again, and stands in no loop", i)
				}
				return nil
			}
			if r.empty(s) && !passed[s] {
				passed[s] = true
				todo = append(todo, s)
			}
		}
	}
	return fmt.Errorf("statement %d runs behind %d, and its block is no successor", i, last)
}

func (r *flowReading) empty(b int) bool {
	for i := r.Blocks[b].First; i < r.Blocks[b].Last; i++ {
		if r.Stmts[i].Kind == ptx.Inst {
			return false
		}
	}
	return true
}

// spin looks for a thread that comes back to a state in which it was, alone; if other blocks can
// end that, the kernel waits.
func (c *flowCounts) spin(p *flowProgram, r *flowReading, m *flowMachine, rng *rand.Rand) error {
	states := map[string]int{}
	var ran []int
	for steps := 0; steps < 600; steps++ {
		key := fmt.Sprint(m.at, m.r, m.global, m.shared)
		begun, again := states[key]
		if !again {
			states[key] = len(ran)
			ran = append(ran, m.at)
			if _, on := m.step(p); !on {
				return nil
			}
			continue
		}
		c.spins++
		turn := ran[begun:]
		synced := slices.ContainsFunc(turn, func(k int) bool { return p.ops[k].orders })
		moves := map[int]bool{} // registers that a turn writes
		for _, k := range turn {
			for _, x := range p.ops[k].writes {
				moves[x] = true
			}
		}
		for range 8 {
			x := m.clone()
			other := changing(rng, x)
			x.change = func(kind int, word *uint32) {
				if kind > 1 || synced || !moves[p.ops[x.at].base] {
					other(kind, word)
				}
			}
			for range 400 {
				if _, on := x.step(p); !on {
					c.needed++
					if r.waits == "" {
						return fmt.Errorf(
							"a thread goes round for ever (%d operations from %q) unless another block writes: said to wait for nobody", len(turn), p.ops[turn[0]].text)
					}
					return nil
				}
			}
		}
		return nil
	}
	return nil
}

// rewrite carries out a recipe.
func (c *flowCounts) rewrite(p *flowProgram, rng *rand.Rand) error {
	text := p.Text()
	list := []string{"maxnreg=40", "hint@ld=L2::128B", "hint@st=cs maxnreg=32", "bypass=2", "demote=3:loops",
		"demote=9:conflicts maxnreg=24", "demote=5:static", "spin=test,backoff",
		"bypass=4 demote=2:loops hint@st=cs"}
	r, err := recipe.Parse(list[rng.Intn(len(list))])
	if err != nil {
		return err
	}
	out, refused, err := Options{Dynamic: map[string]int{"k": 0}, ReadBack: true}.apply(text,
		map[string]recipe.Recipe{"k": r})
	switch {
	case err != nil:
		return err
	case refused["k"] != nil && strings.Contains(refused["k"].Error(), "not sound"):
		return refused["k"]
	case refused["k"] != nil && !bytes.Equal(out, text):
		return fmt.Errorf("%s is refused (%w), and the text is another one", r, refused["k"])
	case refused["k"] == nil:
		c.applied++
		if _, err := ptx.Parse(out); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	return nil
}
