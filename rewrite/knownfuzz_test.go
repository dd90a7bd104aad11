package rewrite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gnvcc/rewrite/ptx/ptxtest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/emulate"
)

// knownOperations are operations of integers. D32 is a register of 32 bits that is written, R32 one
// that is read, S32 that or a number; 1 is the width of predicates.
func knownOperations() (out []string) {
	add := func(pairs, text string) {
		out = append(out, strings.NewReplacer(strings.Fields(pairs)...).Replace(text))
	}
	for _, w := range []int{16, 32, 64} {
		for _, sign := range []string{"u", "s"} {
			p := fmt.Sprintf("T %s%d W %d B b%d X %d", sign, w, w, w, min(2*w, 64))
			for _, op := range strings.Fields("add sub mul.lo mul.hi min max div div div rem rem rem") {
				add(p, op+".T DW, SW, SW;")
			}
			for _, op := range []string{"mad.lo.T DW, SW, SW, SW;", "mad.hi.T DW, SW, SW, SW;",
				"sad.T DW, RW, SW, SW;", "shr.T DW, SW, S32;", "shl.B DW, SW, S32;", "and.B DW, SW, SW;",
				"xor.B DW, SW, SW;", "or.B DW, SW, SW;", "mov.B DW, SW;", "not.B DW, SW;",
				"selp.B DW, SW, SW, R1;", "setp.ne.T D1, RW, SW;", "setp.lt.T D1|D1, RW, SW;",
				"setp.ge.T D1, RW, SW;", "setp.gt.and.T D1, RW, SW, !R1;", "set.le.u32.T D32, RW, SW;"} {
				add(p, op)
			}
			if w != 32 { // of which ptxas loses what shifts 16 bits (docs/facts.md)
				add(p, "cnot.B DW, SW;")
			}
			if sign == "s" {
				add(p, "abs.T DW, SW;")
				add(p, "neg.T DW, SW;")
			}
			if w > 16 {
				for _, op := range []string{"bfe.T DW, RW, R32, R32;", "bfe.T DW, RW, 3, 9;",
					"bfi.B DW, RW, RW, R32, R32;", "bfi.B DW, RW, RW, R32, 7;", "bfind.T D32, RW;",
					"brev.B DW, RW;", "popc.B D32, RW;", "clz.B D32, RW;",
					"add.cc.T DW, SW, SW; addc.T DW, SW, SW;", "sub.cc.T DW, SW, SW; subc.T DW, SW, SW;",
					"mad.lo.cc.T DW, RW, SW, SW; madc.hi.T DW, RW, SW, SW;"} {
					add(p, op)
				}
			}
			if w < 64 {
				add(p, "mul.wide.T DX, RW, SW;")
				add(p, "mad.wide.T DX, RW, SW, RX;")
				add(p, "mov.bX {DW, DW}, RX;")
				add(p, "mov.bX DX, {RW, RW};")
			}
			for _, to := range []int{8, 16, 32, 64} {
				add(p, fmt.Sprintf("cvt.s%d.T D%d, RW;", to, max(to, 16)))
				add(p, fmt.Sprintf("cvt.u%d.%s8 D%d, R16;", to, sign, max(to, 16)))
			}
		}
	}
	for range 8 {
		out = append(out, "ld.global.u32 D32, [%base+A];", "st.global.u32 [%base+A], R32;")
	}
	for _, mode := range []string{"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"} {
		out = append(out, "prmt.b32"+mode+" D32, R32, R32, S32;")
	}
	for _, mode := range []string{"l.wrap", "l.clamp", "r.wrap", "r.clamp"} {
		out = append(out, "shf."+mode+".b32 D32, R32, R32, S32;")
	}
	return append(out, "lop3.b32 D32, R32, R32, R32, 0x96;", "mul24.lo.s32 D32, R32, S32;",
		"dp4a.u32.s32 D32, R32, R32, R32;", "not.pred D1, R1;", "xor.pred D1, R1, R1;")
}

var (
	knownOps      = knownOperations()
	knownOperand  = regexp.MustCompile(`\b[DRS](1|16|32|64)\b`)
	knownEdges    = divisionEdges(rand.New(rand.NewSource(1)), 0)
	knownPrefixes = map[int]string{1: "%p", 16: "%rs", 32: "%r", 64: "%rd"}
)

const (
	knownRegisters = 10 // of each width
	knownBytes     = 512
)

// A knownProgram is a random kernel of such operations, and what its launches have.
type knownProgram struct {
	*rand.Rand
	name         string
	text         strings.Builder
	depth, label int
	fields       bool     // its arguments are fields of one
	together     bool     // without carries, with which no blocks are joined
	types        []string // of the arguments behind the first
	args         []uint64
}

func (p *knownProgram) line(format string, args ...any) {
	fmt.Fprintf(&p.text, "\t"+format+"\n", args...)
}

func (p *knownProgram) pick(list ...string) string { return list[p.Intn(len(list))] }

func (p *knownProgram) edge() uint64 {
	if p.Intn(2) == 0 {
		return uint64(p.Intn(40))
	}
	return knownEdges[p.Intn(len(knownEdges))]
}

func (p *knownProgram) register(w int) string {
	return fmt.Sprint(knownPrefixes[w], p.Intn(knownRegisters))
}

// operation writes one. No register is written twice by one statement, or read twice: ptxas 11.8
// makes another function of lop3 with the same register in two places.
func (p *knownProgram) operation() {
	text := p.pick(knownOps...)
	for p.together && strings.Contains(text, ".cc.") {
		text = p.pick(knownOps...)
	}
	taken := map[string]bool{}
	text = knownOperand.ReplaceAllStringFunc(text, func(o string) string {
		w, _ := strconv.Atoi(o[1:])
		if v := p.edge(); o[0] == 'S' && p.Intn(5) == 0 {
			return p.pick(fmt.Sprint(cutTo(v, w, false)), fmt.Sprint(int64(cutTo(v, w, true))))
		}
		reg := p.register(w)
		for o[0] == 'D' && taken[reg] || o == "R32" && taken["-"+reg] {
			reg = p.register(w)
		}
		taken[map[bool]string{true: "", false: "-"}[o[0] == 'D']+reg] = true
		return reg
	})
	text = strings.Replace(text, "+A]", fmt.Sprintf("+%d]", 320+4*p.Intn(40)), 1)
	guard := ""
	if !strings.Contains(text, ".cc") {
		guard = p.pick("", "", "", "", "", "", "@"+p.register(1)+" ", "@!"+p.register(1)+" ")
	}
	if strings.HasPrefix(text, "set.le.u32.u16") || strings.HasPrefix(text, "set.le.u32.s16") {
		guard = "" // where it is false ptxas loses what the register has (docs/facts.md)
	}
	p.line("%s%s", guard, text)
}

// some writes statements, some of which are branches around others, or loops.
func (p *knownProgram) some(n int) {
	for range n {
		kind := p.Intn(14)
		if kind > 2 || p.depth > 1 {
			p.operation()
			continue
		}
		p.depth++
		p.label++
		at := p.label
		if kind < 2 {
			p.line("@%s%s bra $L_%d;", p.pick("", "!"), p.register(1), at)
			p.some(1 + p.Intn(5))
			if p.Intn(2) == 0 {
				p.line("bra.uni $L_e%d;\n$L_%d:", at, at)
				p.some(1 + p.Intn(4))
				p.line("\n$L_e%d:", at)
			} else {
				p.line("\n$L_%d:", at)
			}
		} else {
			p.line("mov.u32 %%c%d, 0;\n\tand.b32 %%e%d, %s, 7;\n$L_%d:\n\t%s", at, at, p.register(32), at,
				p.pick("", ".pragma \"nounroll\";"))
			p.some(1 + p.Intn(5))
			p.line("add.u32 %s, %s, %%c%d;", p.register(32), p.register(32), at)
			p.line("add.s32 %%c%d, %%c%d, 1;\n\tsetp.lt.s32 %%q, %%c%d, %%e%d;\n\t@%%q bra $L_%d;",
				at, at, at, at, at)
		}
		p.depth--
	}
}

func newKnownProgram(rng *rand.Rand, name string) *knownProgram {
	p := &knownProgram{Rand: rng, name: name, fields: rng.Intn(2) == 0,
		together: rng.Intn(2) == 0}
	params := ".param .u64 NAME_0"
	var loads []string
	for k := range 2 + p.Intn(4) {
		w := []int{8, 16, 32, 32, 64}[p.Intn(5)]
		typ, place := p.pick("u", "s", "b")+strconv.Itoa(w), fmt.Sprintf("NAME_%d", k+1)
		p.types, p.args = append(p.types, typ), append(p.args, cutTo(p.edge(), w, false))
		if p.fields {
			place = fmt.Sprintf("NAME_1+%d", 8*k)
		} else {
			params += fmt.Sprintf(", .param .%s %s", typ, place)
		}
		for range 1 + p.Intn(2) {
			loads = append(loads, fmt.Sprintf("ld.param.%s %s, [%s];", typ, p.register(max(w, 16)), place))
		}
	}
	if p.fields {
		params += fmt.Sprintf(", .param .align 8 .b8 NAME_1[%d]", 8*len(p.types))
	}
	p.line(".visible .entry NAME(%s)\n{", params)
	p.line(".reg .pred %%p<%d>, %%q; .reg .b16 %%rs<%[1]d>; .reg .b32 %%r<%[1]d>, %%c<50>, %%e<50>;",
		knownRegisters)
	p.line(".reg .b64 %%rd<%d>, %%base; .reg .b32 %%w, %%x, %%y;", knownRegisters)
	p.line("ld.param.u64 %%base, [NAME_0];\n\tmov.u32 %%x, %%ctaid.y;\n\tmov.u32 %%y, %%nctaid.x;")
	p.line("mov.u32 %%w, %%ctaid.x;\n\tmad.lo.u32 %%x, %%x, %%y, %%w;\n\tmov.u32 %%y, %%ntid.x;")
	p.line("mov.u32 %%w, %%tid.x;\n\tmad.lo.u32 %%x, %%x, %%y, %%w;")
	p.line("mad.wide.u32 %%base, %%x, %d, %%base;", knownBytes)
	for k := range knownRegisters {
		p.line("ld.global.u64 %%rd%d, [%%base+%d];", k, 8*k)
		p.line("ld.global.u32 %%r%d, [%%base+%d];", k, 8*k+80)
		p.line("ld.global.u16 %%rs%d, [%%base+%d];", k, 8*k+160)
		p.line("setp.lt.s32 %%p%d, %%r%d, %d;", k, k, p.Intn(3)-1)
	}
	p.line("%s", strings.Join(loads, "\n\t"))
	p.some(8 + p.Intn(20))
	for k := range knownRegisters {
		p.line("st.global.u64 [%%base+%d], %%rd%d;", 8*k, k)
		p.line("st.global.u32 [%%base+%d], %%r%d;", 8*k+80, k)
		p.line("st.global.u16 [%%base+%d], %%rs%d;", 8*k+160, k)
		p.line("selp.u32 %%w, 1, 0, %%p%d;\n\tst.global.u32 [%%base+%d], %%w;", k, 8*k+240)
	}
	p.line("ret;\n}")
	whole := strings.ReplaceAll(p.text.String(), "NAME", name)
	p.text.Reset()
	p.text.WriteString(whole)
	return p
}

// recipe fixes some of the arguments, and perhaps sizes; more are levers beside, by their chance.
func (p *knownProgram) recipe(launch emulate.Launch, more []string) string {
	var list []string
	for k, v := range p.args {
		if p.Intn(4) == 0 && len(list) > 0 {
			continue
		}
		place, shown := fmt.Sprintf("#%d", k+1), fmt.Sprint(v)
		if p.fields {
			place = strings.TrimSuffix(fmt.Sprintf("#1+%d", 8*k), "+0")
		}
		if w, _ := strconv.Atoi(p.types[k][1:]); p.types[k][0] == 's' {
			shown = fmt.Sprint(int64(cutTo(v, w, true)))
		}
		list = append(list, place+"="+shown)
	}
	if p.Intn(3) == 0 {
		list = append(list, fmt.Sprintf("blockDim.x=%d,gridDim.x=%d", launch.Block[0], launch.Grid[0]))
	}
	if strings.Contains(strings.Join(more, ""), "coarsen") {
		list = append(list, "host(block)=32x1x1,host(dynamic)=0")
	}
	return "known{" + strings.Join(list, ",") + "} " + strings.Join(more, " ")
}

// run is what a launch leaves.
func (p *knownProgram) run(code, data []byte, launch emulate.Launch) ([]byte, error) {
	memory := emulate.NewMemory()
	b := memory.Allocate("", bytes.Clone(data))
	program, err := emulate.Load(code, p.name, memory)
	if err != nil {
		return nil, err
	}
	params := binary.LittleEndian.AppendUint64(nil, b.Address)
	for k, v := range p.args {
		size, _ := strconv.Atoi(p.types[k][1:])
		if size /= 8; p.fields {
			size = 8
		}
		for len(params)%size != 0 {
			params = append(params, 0)
		}
		params = append(params, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
	}
	launch.Params = append(params, 0, 0, 0)
	_, err = program.Run(memory, launch)
	return b.Bytes, err
}

// knownBeside are levers that known is joined with.
var knownBeside = []string{"repeat@1=2", "repeat@1=4", "maxnreg=32", "nounroll=off",
	"ld=L1::no_allocate", "st=cs", "demote=2:static", "demote=3:loops", "smemspill=on",
	"coarsen=2x1x1", "early=on", "inorder=on"}

// TestKnownFuzz: random operations of integers, of which some are by known numbers, alone and with
// other levers: ptxas' code for the kernel and for the copy leave the same in the emulator. What
// has no result on one of the ways is refused.
//
// GNVCC_KNOWN_SECONDS is how long it goes on, with a seed from the clock; 6 files of a fixed one
// without it. Others may fail where ptxas from 12.4 on takes what a guarded bfe.s32 finds at other
// places in each thread for one number of the warp (docs/facts.md).
func TestKnownFuzz(t *testing.T) {
	seed, seconds := int64(1), 0
	if n, err := strconv.Atoi(os.Getenv("GNVCC_KNOWN_SECONDS")); err == nil {
		seconds, seed = n, time.Now().UnixNano()
	}
	rng, kits := rand.New(rand.NewSource(seed)), ptxtest.Toolkits(t)
	count := map[string]int{}
	for n, begun := 0, time.Now(); n < 6 && seconds == 0 ||
		time.Since(begun) < time.Duration(seconds)*time.Second; n++ {
		for _, how := range []string{"alone", "joined"} {
			knownFile(t, rng.Int63(), kits[n%len(kits)], how, count)
		}
	}
	t.Log("seed", seed, count)
	if count["alone"] < 10 || count["joined"] < 10 || count["refused"] < 5 {
		t.Error("the programs show too little")
	}
}

// knownFile tries some kernels in one file.
func knownFile(t *testing.T, seed int64, kit ptxtest.Toolkit, how string, count map[string]int) {
	rng := rand.New(rand.NewSource(seed))
	was := emulate.Launch{Grid: [3]int{4, 2, 1}, Block: [3]int{32, 1, 1}, Limit: 1 << 18}
	o := Options{Blocks: map[string][3]int{}, Dynamic: map[string]int{}, Coarse: map[string][3]int{},
		Grids: map[string][3]int{}}
	text := []byte(".version 8.8\n.target sm_90\n.address_size 64\n")
	if major, _, _ := strings.Cut(kit.Version, "."); major < "13" {
		text = bytes.Replace(text, []byte("8.8"), []byte("7.8"), 1)
	} else if rng.Intn(2) == 0 {
		text = bytes.Replace(text, []byte("8.8"), []byte("9.0"), 1)
	}
	var programs []*knownProgram
	recipes, launches := map[string]recipe.Recipe{}, map[string]emulate.Launch{}
	for k := range 12 {
		p := newKnownProgram(rng, fmt.Sprintf("k%d", k))
		launch := was
		var more []string
		for how == "joined" && (len(more) == 0 || rng.Intn(2) == 0) {
			lever := knownBeside[rng.Intn(len(knownBeside))]
			if !strings.Contains(strings.Join(more, " "), lever[:4]) {
				more = append(more, lever)
			}
			if lever[:4] == "coar" {
				launch.Grid[0], o.Coarse[p.name] = 2, [3]int{2, 1, 1}
			}
		}
		o.Blocks[p.name], o.Dynamic[p.name], o.Grids[p.name] = was.Block, 0, was.Grid
		text = append(text, p.text.String()...)
		recipes[p.name], launches[p.name] = mustRecipe(t, p.recipe(was, more)), launch
		programs = append(programs, p)
	}
	out, refused, err := o.apply(text, recipes)
	if err != nil {
		t.Fatal(err)
	}
	before, err := kit.Assemble(t, text, "-arch=sm_90")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	after, err := kit.Assemble(t, out, "-arch=sm_90")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data := make([]byte, knownBytes*256)
	for at := 0; at < len(data); at += 8 {
		binary.LittleEndian.PutUint64(data[at:], knownEdges[rng.Intn(len(knownEdges))])
	}
	for _, p := range programs {
		if refused[p.name] != nil {
			count["refused"]++
			continue
		}
		a, err := p.run(before, data, was)
		b, also := p.run(after, data, launches[p.name])
		switch {
		case emulate.Unknown(err) || emulate.Unknown(also):
			count["not emulated"]++
		case err != nil || also != nil:
			t.Fatalf("ptxas %s, seed %d, %s: %v, %v\n%s", kit.Version, seed, recipes[p.name], err, also,
				p.text.String())
		case !bytes.Equal(a, b):
			at := 0
			for a[at] == b[at] {
				at++
			}
			t.Fatalf("ptxas %s, seed %d, %s: byte %d of thread %d is %x, was %x\n%s", kit.Version, seed,
				recipes[p.name], at%knownBytes, at/knownBytes, b[at], a[at], p.text.String())
		default:
			count[how]++
		}
	}
}
