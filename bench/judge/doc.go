// Command judge edits the kernels of the examples, wrongly and harmlessly, and counts what gnvcc
// judge --emulate says of them: no wrong edit may be called equal, no harmless one different.
//
//	go run ./bench/judge -out bench/results/DATE-judge/judge.jsonl
//	go run ./bench/judge -wrong 12 -harmless 6 -seed 7
//
// Wrong edits are made by six rules (edits.go): off by one, a barrier left out, operands swapped or
// their operator, a race (an atomic operation that is none any more), a store left out, a constant.
// An edit that does not compile is none. One whose machine code is the original's, byte for byte
// but for its addresses, is equivalent, whatever judge says of it, and is left out: that is the one
// criterion that a program applies. What is equivalent though its code is another was looked at by
// hand and stands in equivalent.go with the reason, before it is judged.
//
// Harmless edits are renamed variables, comments, declarations in another order, integer sums in
// another order, comparisons turned round, and unroll pragmas; those with other machine code come
// first.
//
//	-wrong 200, -harmless 50  how many of each
//	-seed 1                   which of all that there are
//	-kernel TEXT              only kernels whose names hold it
//	-out FILE                 raw results, a JSON value a line
//	-gpu GNVCC                judge on a GPU, on the launches of the examples, which that gnvcc captures
//	-rate N                   N judgements by one judge --serve instead, and how long they take (rate.go)
//	-emulate GNVCC            with -rate and without a GPU: that gnvcc judges
//	-nvcc NVCC                the real nvcc (default: that of GNVCC_NVCC, else of PATH)
//
// The exit code is 1 where one verdict is wrong.
package main
