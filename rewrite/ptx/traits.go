package ptx

import "bytes"

// Traits: what a kernel (with the functions that it reaches) uses that decides which rewrites and
// measurements are allowed.
type Traits struct {
	Calls        bool // calls that are left in the PTX, to any function: printf's too
	Functions    bool // some of them to functions other than the driver's (OfDriver)
	Indirect     bool // calls through a register
	DeviceLaunch bool // launches kernels itself
	SetMaxNReg   bool // setmaxnreg: warps trade registers
	// waits for the whole grid (reads the workspace that a cooperative launch gives)
	GridSync      bool
	GridControl   bool // griddepcontrol: overlaps with the grid before or behind
	Cluster       bool // barriers, ranks, shared memory or tensor cores of a cluster
	SharedStatic  int  // bytes of __shared__ variables with a size, alignment gaps not counted
	SharedDynamic bool // has an extern __shared__ array or reads its size
	// bytes of local memory that the source asks for (arrays, stack), the entry's own
	Local int
}

// Traits looks through an entry and all functions that it reaches.
func (m *Module) Traits(entry string) (Traits, error) {
	type traits struct{ entry string }
	return OnceIn(m, traits{entry}, func() (Traits, error) { return m.traits(entry) })
}

func (m *Module) traits(entry string) (Traits, error) {
	r, err := m.Reach(entry)
	if err != nil {
		return Traits{}, err
	}
	var t Traits
	for _, g := range r.Globals {
		t.shared(&g.Variable, g.Linkage)
	}
	for i, f := range r.Funcs {
		switch f.Name {
		case "cudaCGGetIntrinsicHandle", "cudaCGSynchronize", "cudaCGSynchronizeGrid":
			t.GridSync = true
		}
		t.Functions = t.Functions || i > 0 && !f.Entry && !OfDriver(f.Name)
		switch {
		case bytes.HasPrefix([]byte(f.Name), []byte("__cudaCDP2")), bytes.HasPrefix([]byte(f.Name),
			[]byte("cudaLaunchDevice")):
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
	s := f.Stmts[i]
	op, rest := f.Opcode(i), f.text[s.OpEnd:s.End]
	t.Cluster = t.Cluster || HasAny(op, "multicast::cluster", "cta_group::2") ||
		bytes.Contains(rest, []byte("%cluster"))
	switch string(f.Base(i)) {
	case "call":
		t.Calls = true
		t.Indirect = t.Indirect || f.CallsByPointer(i)
		t.Functions = t.Functions || t.Indirect
	case "setmaxnreg":
		t.SetMaxNReg = true
	case "griddepcontrol":
		t.GridControl = true
	case "bar", "barrier":
		t.Cluster = t.Cluster || HasModifier(op, "cluster")
	case "mapa", "getctarank", "clusterlaunchcontrol":
		t.Cluster = true
	}
	if string(f.Base(i)) != "mov" || bytes.IndexByte(rest, '%') < 0 {
		return // special registers are read by mov, and by little else
	}
	ops := f.Operands(i, nil)
	if len(ops) != 2 {
		return
	}
	switch name := string(f.Bytes(ops[1])); name {
	case "%envreg1", "%envreg2":
		t.GridSync = true
	case "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size":
		t.SharedDynamic = true
	}
}

// CallsByPointer reports whether a call instruction gets its target from a register.
func (f *Func) CallsByPointer(i int) bool {
	for _, o := range f.Operands(i, nil) {
		if f.text[o.Start] == '%' {
			return true
		}
	}
	return false
}
