package ir

// Computes reports whether an operation's result is a function of its operands alone, the same in
// every thread, at any time.
func Computes(op string) bool {
	switch op {
	case "mov", "cvt", "cvta", "add", "sub", "mul", "mad", "fma", "div", "rem", "abs", "neg",
		"min", "max", "and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "lop3", "prmt",
		"bfe", "bfi", "bfind", "brev", "clz", "popc", "fns", "sad", "mul24", "mad24", "dp4a",
		"dp2a", "setp", "set", "selp", "slct", "testp", "copysign", "rcp", "sqrt", "rsqrt", "sin",
		"cos", "lg2", "ex2", "tanh", "isspacep", "szext", "bmsk":
		return true
	}
	return false
}

// Carries reports whether it leaves or takes a carry, in a register that has no name.
func (x *Inst) Carries() bool {
	return x.Has("cc") || x.Op == "addc" || x.Op == "subc" || x.Op == "madc"
}
