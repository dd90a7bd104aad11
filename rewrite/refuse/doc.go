// Package refuse holds what is refused for a kernel without running anything: changes after which a
// compiler may give wrong results that a check on launches could miss. It reads PTX only.
//
// All other recipes that are not exact by construction are compared on launches (policy/check says
// by which rule). Rounding is one of the things that are compared, and not looked at here: whether
// a product and a sum are fused, and which constants a compiler computes itself, is the same in
// every launch of the code. What is refused here is different, since it depends on a rare value, or
// on when a thread gets to run:
//
//   - Undefined: a value that a recipe fixes makes an integer operation one that C++ leaves
//     undefined (a division by 0, a shift by the width or more). The GPU gives a number; cicc, once
//     it sees the value, deletes what depends on the result, stores included.
//   - Misfolded: ptxas up to 13.3 computes some bit-field instructions of known numbers otherwise
//     than the GPU does. Which of them it knows depends on the loops that it unrolls.
//   - Rereads: a kernel that loads through the read-only cache what it stores itself. The GPU may
//     give the old value or the new one, a compiler that unrolls may forward the new one.
//
// Not refused is signed overflow (docs/limits.md): where a recipe fixes m, cicc may turn
// `x > a - m` into a comparison that is true for other a near INT_MIN.
//
// Callers: driver/compile for variants of the source, rewrite for passes on PTX.
package refuse
