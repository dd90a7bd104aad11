// Package ir reads a PTX body as values. It changes nothing: a pass asks it, and edits the text by
// package ptx, so that bytes which nothing touches stay. A Func is void once its body is edited.
//
//	.reg .b32 %r<4>;             Groups: one declaration, four registers, numbered 0 to 3
//	mov.u32 %r1, %tid.x;         Inst: Op "mov", Words ["u32"], Args [%r1 (Reg 1), %tid.x (None)]
//	setp.ge.s32 %p1, %r1, %r2;
//	@%p1 bra DONE;               Guard: the register %p1; Branch: the block's last statement
//	ld.global.f32 %f1, [%rd1+8]; Args[1]: Address, Reg %rd1, Offset 8
//	DONE:                        Meet: where the ways of the branch come together again
//	ret;
//
// A *value* is what one statement writes to one register: Defs lists the statements that write a
// register, Sole gives the only one. Registers are numbered over all scopes, since inline assembly
// declares the same names over and over. An operand is a register, or a name that is none (a special
// register, a variable, a label), or a number.
//
// A *block* is a run of statements that is entered at its beginning only (ptx.Block).
//
// What it answers, each in one file:
//
//   - func.go: what a statement is (Inst), and what it reads and writes (Accesses)
//   - graph.go: Dominates, Meet (postdominators), Reaches, Loops, Depth, Apart (what a branch decides
//     about)
//   - live.go: which registers hold a value that is still needed (Live, Pressure, Range)
//   - value.go: the constant in a register (Constant), the variable or parameter that an address
//     points into (Origin, Parameter), the expression that it is (Expression, Location); Forward, by
//     which properties of registers are worked out
//   - uniform.go: what follows from some statements (Spread), what differs between a block's threads
//   - affine.go: integers as a constant and coefficients; compute.go: instructions on numbers;
//     induction.go: what a turn of a loop adds to registers (Loop.Counter, Turn.Step)
//   - shape.go: whether a kernel sees its blocks' size; walk.go and spin.go: code followed with the
//     constants in registers; spin loops
//   - ops.go: classes of operations
//
// Everything is worked out when it is first asked for, and kept with the body as long as it is not
// edited (ptx.Once). Several goroutines may ask.
package ir
