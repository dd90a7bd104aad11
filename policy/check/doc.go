// Package check states the rule by which a recipe's results count as the same.
//
// A recipe is exact by construction (register caps, cache hints: no arithmetic instruction changes),
// or it is checked. A compiler that is given a known value, or an unrolled loop, may fuse other
// products with their sums, or compute a constant itself, and then round otherwise. Whether it did
// can't be told from its input, so results are compared:
//
//  1. Launches. Every byte of memory that the captured launches of the program leave is the same as
//     with nvcc's own code. A launch whose own results differ from run to run compares nothing; such
//     kernels get recipes that are exact by construction alone.
//  2. Varied data. In the same process the launch runs again on other floating-point numbers, of ten
//     kinds (Kinds): full mantissas, the program's numbers in other places, magnitudes far apart,
//     zeros of both signs, cancelling pairs, subnormals, few distinct values (two kinds), infinities,
//     NaN. There are up to three draws of each kind (Draws), the second and third as long as all of
//     them take no more than a fifth of the configuration's time. One differing byte refuses the
//     recipe. Only memory that the kernel reads as float or double alone is varied; where there is
//     none, the report says so.
//  3. Coverage. What did not run in a checked launch was not checked. A build that counts (package
//     rewrite/counters) tells which basic blocks with floating-point arithmetic no warp ran; the
//     report and the decision's evidence say how many. It is no reason to refuse: half of all
//     kernels have a loop's remainder or a slow path that a given launch does not take.
//  4. Constants that the compiler computed (powf of two known arguments, say) need no rule of their
//     own. They are the same number in every launch of the code, so that one launch checks them for
//     all. A second entry is launched only for the values that it was compiled for.
//  5. Refused without a check is what depends on a rare value or on timing: package rewrite/refuse.
//  6. What was checked is what is built. A build gives ptxas the PTX that was checked, in normal form
//     (Evidence.Normals), or nvcc's own; a kernel's identity holds ptxas' version, target and flags.
//
// Why three draws: of 34 variants known to have other bits (random kernels in the emulator, 128 and
// 1,024 threads), one draw of each kind missed three, and two draws missed one.
//
// So "checked" does not mean proved. A path that did not run, or a number that no draw had, may give
// other bits; `gnvcc tune --exact=construction` takes no such recipe.
//
// Callers: policy/tuner for how much data is varied, policy/search for what ran, policy/report for
// what is said of it.
package check
