package ptx

import "bytes"

// Traits: what a kernel (with the functions that it reaches) uses that decides which rewrites and measurements are
// allowed.
type Traits struct {
	Calls         bool // calls that are left in the PTX, to any function: printf's too
	Indirect      bool // calls through a register
	Printf        bool
	Malloc        bool // malloc or free on the device
	Assert        bool // assert: __assertfail
	Trap          bool
	DeviceLaunch  bool // launches kernels itself
	SetMaxNReg    bool // setmaxnreg: warps trade registers
	GridSync      bool // waits for the whole grid (reads the workspace that a cooperative launch gives)
	GridControl   bool // griddepcontrol: overlaps with the grid before or behind
	Cluster       bool // cluster barriers, ranks or distributed shared memory
	Barrier       bool // block-wide barriers
	NamedBarrier  bool // barriers other than number 0, or for a part of the block
	Atomic        bool // atomics and reductions on memory
	Ordered       bool // volatile, acquire, release, relaxed or mmio accesses, or fences: may wait for others
	Texture       bool // texture or surface accesses
	Async         bool // asynchronous copies, mbarrier, TMA
	Matrix        bool // tensor cores
	Clock         bool // reads clocks or timers: its results need not repeat
	Placement     bool // reads %warpid, %smid or the like
	SharedStatic  int  // bytes of __shared__ variables with a size, alignment gaps not counted
	SharedDynamic bool // has an extern __shared__ array or reads its size
	Local         int  // bytes of local memory that the source asks for (arrays, stack), the entry's own
}

// Traits looks through an entry and all functions that it reaches.
func (m *Module) Traits(entry string) (Traits, error) {
	r, err := m.Reach(entry)
	if err != nil {
		return Traits{}, err
	}
	var t Traits
	for _, g := range r.Globals {
		t.shared(&g.Variable, g.Linkage)
		t.Texture = t.Texture || g.Type == "texref" || g.Type == "surfref"
	}
	for i, f := range r.Funcs {
		switch f.Name {
		case "vprintf":
			t.Printf = true
		case "malloc", "free":
			t.Malloc = true
		case "__assertfail", "__assert_fail":
			t.Assert = true
		case "cudaCGGetIntrinsicHandle", "cudaCGSynchronize", "cudaCGSynchronizeGrid":
			t.GridSync = true
		}
		switch {
		case bytes.HasPrefix([]byte(f.Name), []byte("__cudaCDP2")), bytes.HasPrefix([]byte(f.Name), []byte("cudaLaunchDevice")):
			t.DeviceLaunch = true
		case i > 0 && f.Entry:
			t.DeviceLaunch = true
		}
		if i == 0 || !f.Entry {
			if err := t.body(f); err != nil {
				return Traits{}, err
			}
		}
	}
	return t, nil
}

func (t *Traits) shared(v *Variable, linkage string) {
	if v.Space != "shared" {
		return
	}
	if linkage == "extern" || v.Size() == 0 {
		t.SharedDynamic = true
	} else {
		t.SharedStatic += v.Size()
	}
}

func (t *Traits) body(f *Func) error {
	for i, s := range f.Stmts {
		switch s.Kind {
		case Decl:
			switch op := f.Opcode(i); {
			case string(op) == ".shared", string(op) == ".local" && f.Entry:
				vars, err := f.Declared(i)
				if err != nil {
					return err
				}
				for k := range vars {
					t.shared(&vars[k], "")
					if vars[k].Space == "local" {
						t.Local += vars[k].Size()
					}
				}
			}
		case Inst:
			t.instruction(f, i)
		}
	}
	return nil
}

func (t *Traits) instruction(f *Func, i int) {
	op, s := f.Opcode(i), f.Stmts[i]
	t.Async = t.Async || HasModifier(op, "async")
	switch string(f.Base(i)) {
	case "call":
		t.Calls = true
		t.Indirect = t.Indirect || f.CallsByPointer(i)
	case "trap", "brkpt":
		t.Trap = true
	case "setmaxnreg":
		t.SetMaxNReg = true
	case "griddepcontrol":
		t.GridControl = true
	case "bar", "barrier":
		if HasModifier(op, "cluster") {
			t.Cluster = true
		} else if !HasModifier(op, "warp") {
			t.Barrier = true
			ops := f.Operands(i, nil)
			first := 0
			if HasModifier(op, "red") {
				first = 1
			}
			if HasModifier(op, "arrive") || len(ops) > first && string(f.Bytes(ops[first])) != "0" || !HasModifier(op, "red") && len(ops) > 1 {
				t.NamedBarrier = true
			}
		}
	case "mapa", "getctarank":
		t.Cluster = true
	case "clusterlaunchcontrol":
		t.Cluster, t.Async = true, true
	case "atom", "red", "multimem":
		t.Atomic = true
	case "membar", "fence":
		t.Ordered = true
	case "ld", "st":
		for _, w := range []string{"volatile", "acquire", "release", "relaxed", "mmio"} {
			t.Ordered = t.Ordered || HasModifier(op, w)
		}
	case "tex", "tld4", "txq", "suld", "sust", "sured", "suq":
		t.Texture = true
	case "cp":
		t.Async = true
	case "mbarrier", "tensormap":
		t.Async = true
	case "wmma", "mma", "wgmma", "tcgen05":
		t.Matrix = true
	}
	if bytes.IndexByte(f.text[s.OpEnd:s.End], '%') < 0 {
		return
	}
	if string(f.Base(i)) != "mov" { // special registers are read by mov, and by little else
		return
	}
	ops := f.Operands(i, nil)
	if len(ops) != 2 {
		return
	}
	switch name := string(f.Bytes(ops[1])); name {
	case "%envreg1", "%envreg2":
		t.GridSync = true
	case "%clock", "%clock64", "%clock_hi", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi":
		t.Clock = true
	case "%warpid", "%smid", "%nwarpid", "%nsmid":
		t.Placement = true
	case "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size":
		t.SharedDynamic = true
	default:
		if len(name) > 8 && name[:8] == "%cluster" {
			t.Cluster = true
		}
	}
}

// CallsByPointer tells whether a call instruction gets its target from a register.
func (f *Func) CallsByPointer(i int) bool {
	for _, o := range f.Operands(i, nil) {
		if f.text[o.Start] == '%' {
			return true
		}
	}
	return false
}
