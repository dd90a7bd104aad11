// Package check states the rule by which a recipe's results count as the same.
//
// A recipe is exact by construction (register caps, cache hints: no arithmetic instruction changes),
// or it is checked. A compiler that is given a known value, or an unrolled loop, may fuse other
// products with their sums, or compute a constant itself, and then round otherwise. Whether it did
// can't be told from its input, so results are compared:
//
//  1. Launches. Every byte of memory that the captured launches of the program leave is the same as
//     with nvcc's own code. A launch whose own results differ from run to run compares nothing: where
//     atomics or clocks are the reason, its kernel gets recipes that are exact by construction alone,
//     by their times (policy/search, unsteady.go); else it keeps nvcc's own code.
//  2. Varied data. In the same process the launch runs again on other floating-point numbers, of ten
//     kinds (Kinds): full mantissas, the program's numbers in other places, magnitudes far apart,
//     zeros of both signs, cancelling pairs, subnormals, few distinct values (two kinds), infinities,
//     NaN. There is one draw of each kind, and a second one as long as all of them take no
//     more than a fifth of the configuration's time; launches of few threads get more (Draws). One differing byte refuses the recipe.
//     What is varied: memory that the kernel reads as float, double, half or bfloat16 alone; its
//     module's tables and device variables that it reads so, and textures; integers that only scale
//     or select, on which no address and no loop's end depends; of numbers that are also cut to
//     integers, the low bits. In an allocation of several arrays, as of a pool, each goes to where
//     the next one begins, where nothing is read by other pointers. Arguments that are floating
//     point vary in every second variation, where they keep sign and magnitude; in one kind they get
//     another magnitude, and one that is 0, and hides what it is multiplied with, another number.
//     The report says in how many of the arrays there was other data.
//  3. Coverage. What did not run in a checked launch was not checked. Builds that count (package
//     rewrite/counters) tell what ran of nvcc's own code and of the recipe's, each by its own PTX: an
//     unrolled body is code that nvcc's has not. There have to run (Counted): each block that
//     computes in floating point, stores, or moves what was computed; both outcomes of a selection
//     between computed numbers; each outcome of a branch that brings a computed number to a place
//     where ways meet, or to the next turn. What the other of the two codes has in the same form
//     (form.go) need not run: a slow path of a sine that unrolling copies. Where all else ran, the
//     recipe serves all launches. Where some did not, or nothing was counted, it becomes a second entry for launches whose
//     integer arguments (and fields, and what the source does not name), grid, block and dynamic
//     shared memory are those of a checked launch, and whose floating-point arguments are, where
//     they decide what runs. A kernel that can have no second entry, or in which an address decides
//     (null, aligned or not), keeps nvcc's own code, and the report says why. So does one in which
//     what did not run could with the same arguments: where data decides, also by a trip count or a
//     counter, no guard helps. Counting goes on while data is varied, so that a comparison of
//     numbers mostly comes out both ways.
//  4. Places. A number that another one overwrites, or that an index passes by, is not compared. The
//     integer arguments by which the addresses of two stores differ, that index a local array, or a
//     shared one that several stores fill, are compared by the second entry (places.go), and no
//     others where all ran.
//  5. Constants that the compiler computed (powf of two known arguments, say) need no rule of their
//     own. They are the same number in every launch of the code, so that one launch checks them for
//     all. A second entry is launched only for the values that it was compiled for.
//  6. Refused without a check is what depends on a rare value or on timing: package rewrite/refuse.
//  7. What was checked is what is built. A build gives ptxas the PTX that was checked, in normal form
//     (Evidence.Normals), or nvcc's own; a kernel's identity holds ptxas' version, target and flags.
//
// Measured (bench/results/2026-11-28-keep, 2,145 accepted variants of random kernels and examples):
// 26 have other bits on launches with other arguments, 12 in 1,000; 24 of these in kernels of which
// some block had not run. With rule 3 two are left, 0.9 in 1,000, and both passed because float
// arguments were not varied. On launches with the same integer arguments none differs. The first
// draw refuses 117 variants, the second and third none of the others; of 34 variants with other bits
// known from before (128 and 1,024 threads) one draw missed three, two missed one.
//
// So "checked" does not mean proved. A path that data alone decides and no checked launch took, or a
// number that no draw had, may give other bits; `gnvcc tune --exact=construction` takes no such recipe.
//
// Callers: policy/tuner for how much data is varied, policy/search for what ran, policy/decide for
// which launches a recipe may serve, policy/report for what is said of it.
//
// Files: flow.go what a value depends on, decides.go what arguments decide, counted.go what has to run
// in a checked launch, form.go what is the same in both codes, places.go which arguments decide where something lies, coverage.go which
// launches a recipe may serve.
package check
