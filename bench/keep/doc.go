// Command keep measures how often a variant that a check on varied data accepts has other bits on
// further data. No proof is asked for. It needs nvcc, python3 and no GPU: nvcc's own code and the
// variant run in sim/emulate, on the same data, and all bytes of memory are compared.
//
//	keep -for 7m -forms examples -out keep.jsonl
//	keep -table -out keep.jsonl
//
// Each seed makes a file of random kernels with random recipes: rounding.py kernels in which
// rounding matters, blocks.py kernels in which it matters which thread is in which block, ways.py
// kernels in which arguments and data decide what is computed, chosen and stored; of every
// eighth seed the kernels are those of the examples. A variant is compiled as a build would compile
// it, and launched with 4,096 threads and more:
//
//   - check: three draws of each of ten kinds of floating-point numbers (policy/judge), with the
//     arguments and integers of one launch, as gnvcc tune varies a captured launch: float arguments
//     have other mantissas in every second one. What a check with one, two or three draws of each
//     kind would have accepted is recorded.
//   - count: builds with counters, of both codes, in the launches of the first draw. By what ran the
//     rule of policy/check says which launches the recipe serves; where it serves none, that is all.
//   - test: ten more, from other seeds.
//   - others: thirty more with other integers and scalars, in arguments and in memory, other tables
//     and other grids, as far as the recipe serves such launches.
//
// The first difference ends a variant. A line of JSON for each says what was accepted, which launch
// differs, and which instructions of floating-point arithmetic ran in the check's launches, in both
// codes. A variant whose machine code is the kernel's own is "identical" and does not count as
// accepted. Overflow of signed integers, which C++ leaves undefined, is not set apart: look at
// what differs.
//
// A run goes on where the results file ends: seeds that it has in full are left out. -first and
// -seeds choose others.
package main
