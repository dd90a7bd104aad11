package same

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// An interpreter for a kernel's PTX, one thread after the other: IEEE arithmetic for what is
// rounded so, and a function of the operands' bits for what is approximate, so that a compiler that
// computes one gets something else.

type machine struct {
	f      *ptx.Func
	params map[string]uint64
	mem    map[uint64]uint32 // by address / 4
	tid    uint64
	reg    map[string]uint64
	labels map[string]int
	ops    [][]string
	// sums that ptxas would contract, by statement, each with its product's, and those with what
	// their factors were
	contracted map[int]int
	factors    map[int][]uint64
}

func newMachine(f *ptx.Func) *machine {
	m := &machine{f: f, labels: map[string]int{}}
	for i, st := range f.Stmts {
		if st.Kind == ptx.Label {
			m.labels[string(f.Opcode(i))] = i
		}
		var ops []string
		if st.Kind == ptx.Inst {
			for _, o := range f.Operands(i, nil) {
				ops = append(ops, string(f.Bytes(o)))
			}
		}
		m.ops = append(m.ops, ops)
	}
	return m
}

const localBase = 1 << 50

// run executes one thread, or says what it does not know.
func (m *machine) run() error {
	m.reg = map[string]uint64{"%tid.x": m.tid, "%ntid.x": 4}
	m.factors = map[int][]uint64{}
	for _, p := range m.contracted {
		m.factors[p] = nil
	}
	for at, steps := 0, 0; at < len(m.f.Stmts); at++ {
		st := m.f.Stmts[at]
		if st.Kind != ptx.Inst {
			continue
		}
		if steps++; steps > 200000 {
			return fmt.Errorf("it does not end")
		}
		if st.Guarded {
			reg, not := m.f.Guard(at)
			if (m.reg[string(reg)] != 0) == not {
				continue
			}
		}
		op := strings.Split(string(m.f.Opcode(at)), ".")
		ops := m.ops[at]
		switch op[0] {
		case "ret":
			return nil
		case "bra":
			at = m.labels[ops[0]]
			continue
		case "bar":
			continue
		}
		if p, ok := m.contracted[at]; ok {
			if err := m.contract(op, ops, p); err != nil {
				return err
			}
			continue
		}
		if _, ok := m.factors[at]; ok {
			m.factors[at] = []uint64{m.value(ops[1]), m.value(ops[2])}
		}
		if err := m.step(op, ops); err != nil {
			return fmt.Errorf("%s: %w", line(m.f, at), err)
		}
	}
	return nil
}

// contract does a sum with one of its products, rounded once.
func (m *machine) contract(op, ops []string, product int) error {
	const sign = 1 << 31
	x, y, z := m.factors[product][0], m.factors[product][1], m.value(ops[2])
	if m.ops[product][0] == ops[2] {
		if z = m.value(ops[1]); op[0] == "sub" {
			x ^= sign
		}
	} else if op[0] == "sub" {
		z ^= sign
	}
	out, err := floating(append([]string{"fma"}, op[1:]...), "f32", []uint64{x, y, z})
	m.reg[ops[0]] = out
	return err
}

func (m *machine) value(text string) uint64 {
	switch {
	case strings.HasPrefix(text, "%"):
		return m.reg[text]
	case strings.HasPrefix(text, "0f"), strings.HasPrefix(text, "0d"):
		n, _ := strconv.ParseUint(text[2:], 16, 64)
		return n
	case strings.HasPrefix(text, "__local_depot"):
		return localBase
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		u, _ := strconv.ParseUint(text, 0, 64)
		return u
	}
	return uint64(n)
}

func (m *machine) address(text string) uint64 {
	name, offset := base(text)
	return m.value(name) + uint64(int64(offset))
}

func has(op []string, words ...string) bool {
	for _, o := range op[1:] {
		for _, w := range words {
			if o == w {
				return true
			}
		}
	}
	return false
}

func (m *machine) step(op, ops []string) error {
	typ := op[len(op)-1]
	switch op[0] {
	case "ld":
		if has(op, "param") {
			name, _ := base(ops[1])
			m.reg[ops[0]] = m.params[name]
			return nil
		}
		words := uint64(1)
		if strings.HasSuffix(typ, "64") {
			words = 2
		}
		addr := m.address(ops[1]) / 4
		for k, r := range parts(ops[0]) {
			v := uint64(m.mem[addr+uint64(k)*words])
			if words == 2 {
				v |= uint64(m.mem[addr+uint64(k)*2+1]) << 32
			}
			m.reg[r] = v
		}
		return nil
	case "st":
		if strings.HasSuffix(typ, "64") {
			addr, v := m.address(ops[0])/4, m.value(ops[1])
			m.mem[addr], m.mem[addr+1] = uint32(v), uint32(v>>32)
			return nil
		}
		addr := m.address(ops[0]) / 4
		for k, r := range parts(ops[1]) {
			m.mem[addr+uint64(k)] = uint32(m.value(r))
		}
		return nil
	case "cvta":
		m.reg[ops[0]] = m.value(ops[1])
		return nil
	case "mov":
		if strings.HasPrefix(ops[0], "{") || strings.HasPrefix(ops[1], "{") {
			return fmt.Errorf("a vector")
		}
		m.reg[ops[0]] = m.value(ops[1])
		return nil
	case "selp":
		v := ops[2]
		if m.value(ops[3]) != 0 {
			v = ops[1]
		}
		m.reg[ops[0]] = m.value(v)
		return nil
	}
	in := make([]uint64, 0, 4)
	for _, o := range ops[1:] {
		in = append(in, m.value(o))
	}
	var out uint64
	var err error
	switch {
	case op[0] == "cvt":
		out, err = convert(op, in[0])
	case typ == "f32" || typ == "f64":
		out, err = floating(op, typ, in)
	default:
		out, err = whole(op, typ, in)
	}
	if err != nil {
		return err
	}
	m.reg[ops[0]] = out
	return nil
}

func f32(b uint64) float64 { return float64(math.Float32frombits(uint32(b))) }

func bits32(v float64) uint64 {
	if v != v {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(float32(v)))
}

// rounded is x*y + z, rounded once to a float.
func rounded(x, y, z float64, down bool) float64 {
	p := x * y // exact, as both have 24 bits
	s := p + z
	if s != s || math.IsInf(s, 0) || s == 0 || math.IsInf(p, 0) {
		return s
	}
	var a, b big.Float
	a.SetPrec(2000).SetFloat64(p)
	b.SetPrec(2000).SetFloat64(z)
	a.Add(&a, &b)
	if down {
		a.SetMode(big.ToNegativeInf)
	}
	r, acc := a.Float32()
	if down && acc == big.Above {
		r = math.Nextafter32(r, float32(math.Inf(-1)))
	}
	return float64(r)
}

func floating(op []string, typ string, in []uint64) (uint64, error) {
	if typ == "f64" {
		return double(op, in)
	}
	flush := func(b uint64) uint64 {
		if has(op, "ftz") && b&0x7f800000 == 0 {
			return b & 0x80000000
		}
		return b
	}
	v := make([]float64, len(in))
	for k := range in {
		in[k] = flush(in[k])
		v[k] = f32(in[k])
	}
	var r float64
	switch {
	case has(op, "approx", "full") || op[0] == "tanh":
		h := fnv.New32a()
		fmt.Fprint(h, op[0], in)
		return uint64(h.Sum32()>>3 | 0x20000000), nil
	case op[0] == "setp":
		return compare(op[1], v[0], v[1])
	case op[0] == "add":
		r = v[0] + v[1] // of floats in double: twice rounded is once rounded
	case op[0] == "sub":
		r = v[0] - v[1]
	case op[0] == "mul":
		r = v[0] * v[1]
	case op[0] == "fma":
		r = rounded(v[0], v[1], v[2], has(op, "rm"))
	case op[0] == "div":
		r = v[0] / v[1]
	case op[0] == "rcp":
		r = 1 / v[0]
	case op[0] == "sqrt":
		r = math.Sqrt(v[0])
	case op[0] == "neg":
		return in[0] ^ 0x80000000, nil
	case op[0] == "abs":
		return in[0] &^ 0x80000000, nil
	case op[0] == "min" || op[0] == "max":
		switch {
		case v[0] != v[0]:
			r = v[1]
		case v[1] != v[1]:
			r = v[0]
		case op[0] == "min":
			r = math.Min(v[0], v[1])
		default:
			r = math.Max(v[0], v[1])
		}
	case op[0] == "copysign":
		return in[0]&0x80000000 | in[1]&^0x80000000, nil
	default:
		return 0, fmt.Errorf("unknown")
	}
	if has(op, "sat") {
		if r = math.Min(math.Max(r, 0), 1); r != r {
			r = 0
		}
	}
	return flush(bits32(r)), nil
}

func double(op []string, in []uint64) (uint64, error) {
	v := make([]float64, len(in))
	for k := range in {
		v[k] = math.Float64frombits(in[k])
	}
	var r float64
	switch op[0] {
	case "setp":
		return compare(op[1], v[0], v[1])
	case "add":
		r = v[0] + v[1]
	case "sub":
		r = v[0] - v[1]
	case "mul":
		r = v[0] * v[1]
	case "fma":
		r = math.FMA(v[0], v[1], v[2])
	case "div":
		r = v[0] / v[1]
	case "neg":
		r = -v[0]
	case "abs":
		r = math.Abs(v[0])
	default:
		return 0, fmt.Errorf("unknown")
	}
	if r != r {
		return math.Float64bits(math.NaN()), nil
	}
	return math.Float64bits(r), nil
}

func compare(how string, a, b float64) (uint64, error) {
	unordered := a != a || b != b
	if strings.HasSuffix(how, "u") && len(how) == 3 {
		if unordered {
			return 1, nil
		}
		how = how[:2]
	}
	switch how {
	case "num":
		unordered = !unordered
		fallthrough
	case "nan":
		return truth(unordered), nil
	}
	var r bool
	switch how {
	case "lt":
		r = a < b
	case "le":
		r = a <= b
	case "gt":
		r = a > b
	case "ge":
		r = a >= b
	case "eq":
		r = a == b
	case "ne":
		r = a != b && !unordered
	default:
		return 0, fmt.Errorf("unknown comparison")
	}
	return truth(r), nil
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// cut gives an integer as its type holds it.
func cut(typ string, v uint64) uint64 {
	switch typ[1:] {
	case "32":
		if typ[0] == 's' {
			return uint64(int64(int32(v)))
		}
		return uint64(uint32(v))
	case "16":
		if typ[0] == 's' {
			return uint64(int64(int16(v)))
		}
		return uint64(uint16(v))
	case "8":
		return uint64(uint8(v))
	}
	return v
}

func convert(op []string, v uint64) (uint64, error) {
	to, from := op[len(op)-2], op[len(op)-1]
	if from[0] != 'f' && to[0] != 'f' {
		return cut(to, cut(from, v)), nil
	}
	var x float64
	switch from {
	case "f32":
		x = f32(v)
	case "f64":
		x = math.Float64frombits(v)
	default:
		if x = float64(int64(cut(from, v))); from[0] == 'u' {
			x = float64(cut(from, v))
		}
	}
	switch {
	case has(op, "rni"):
		x = math.RoundToEven(x)
	case has(op, "rzi"):
		x = math.Trunc(x)
	case has(op, "rmi"):
		x = math.Floor(x)
	case has(op, "rpi"):
		x = math.Ceil(x)
	}
	switch to {
	case "f32":
		return bits32(x), nil
	case "f64":
		return math.Float64bits(x), nil
	}
	if x != x {
		x = 0
	}
	return cut(to, uint64(int64(math.Max(math.Min(x, 1<<31-1), -1<<31)))), nil
}

func whole(op []string, typ string, in []uint64) (uint64, error) {
	raw := slices.Clone(in)
	for k := range in {
		in[k] = cut(typ, in[k])
	}
	var r uint64
	switch op[0] {
	case "setp":
		if typ == "pred" {
			return 0, fmt.Errorf("unknown")
		}
		return order(op[1], typ, in[0], in[1])
	case "add":
		r = in[0] + in[1]
	case "sub":
		r = in[0] - in[1]
	case "mul":
		if r = in[0] * in[1]; has(op, "wide") {
			return r, nil
		}
	case "mad":
		if has(op, "wide") {
			return in[0]*in[1] + raw[2], nil
		}
		r = in[0]*in[1] + in[2]
	case "shl":
		r = in[0] << raw[1]
	case "shr":
		if r = in[0] >> raw[1]; typ[0] == 's' {
			r = uint64(int64(in[0]) >> raw[1])
		}
	case "and":
		r = in[0] & in[1]
	case "or":
		r = in[0] | in[1]
	case "xor":
		r = in[0] ^ in[1]
	case "not":
		if typ == "pred" {
			return 1 - in[0]&1, nil
		}
		r = ^in[0]
	case "neg":
		r = -in[0]
	case "min", "max":
		less, _ := order("lt", typ, in[0], in[1])
		if r = in[1]; (less == 1) == (op[0] == "min") {
			r = in[0]
		}
	default:
		return 0, fmt.Errorf("unknown")
	}
	if typ == "pred" {
		return r & 1, nil
	}
	return cut(typ, r), nil
}

func order(how, typ string, a, b uint64) (uint64, error) {
	less := a < b
	if typ[0] == 's' {
		less = int64(a) < int64(b)
	}
	switch how {
	case "lt", "lo":
		return truth(less), nil
	case "ge", "hs":
		return truth(!less), nil
	case "eq":
		return truth(a == b), nil
	case "ne":
		return truth(a != b), nil
	case "gt", "hi":
		return truth(!less && a != b), nil
	case "le", "ls":
		return truth(less || a == b), nil
	}
	return 0, fmt.Errorf("unknown comparison")
}
