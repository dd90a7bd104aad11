// Package stats decides from samples of noisy times which of several builds of a kernel is the
// fastest and whether it is worth having. It knows neither GPUs nor recipes: an arm is a number,
// and a Sampler gives times for it. Only policy calls it.
//
// # The rule
//
// Kernel times are right-skewed (a launch can be late, never early), have outliers, and drift with
// the clock. So:
//
//  1. Times are compared in blocks. A block is k launches of the baseline and k of the candidate
//     directly after one another; the order changes from block to block (AB, BA, AB, ...), so that
//     what drifts slowly cancels and neither side is always the first one. A block gives one
//     figure: the ratio of its two medians, candidate over baseline. Medians and not minima or low
//     quantiles: the minimum of n launches rewards luck more the more candidates there are, and low
//     quantiles of the *user's* launches are not what the user waits for. Medians and not means:
//     one late launch would decide.
//  2. The estimate is the median of the blocks' ratios. Its interval is that of order statistics
//     (the sign test turned round): no distribution is assumed, only that a block's ratio is as
//     often above the true ratio as below it; nothing random is in it, so that equal samples give
//     equal decisions.
//  3. A candidate is Better when the estimate shows a speed-up of at least MinEffect (3 %) and the
//     whole interval (confidence 0.995, so one chance in 400 on that side) lies below 1.
//  4. What the race among many candidates says is never believed: its winner was chosen for its
//     luck too. A winner is compared once more, on fresh samples only, by (1) to (3), and these are
//     the figures that are reported. At most three candidates of a kernel configuration come so
//     far, which bounds the chance that an equally fast one is adopted by 3/400; the minimum effect
//     makes it smaller still.
//  5. A candidate is Harmful when it is estimated to be more than 1 % slower. When the interval is
//     too wide to see 1 %, more is measured first (up to four times the blocks).
//  6. The number of samples comes from the noise: so many that the interval's half-width is about
//     half the minimum effect, within a limit of time. Kernels under 10 microseconds get at least
//     four times as many blocks.
//
// The race (Race) is successive halving: everybody gets few samples, the better third gets twice as
// many, and so on; who is clearly slower at the first launch is not launched again. Groups (the
// levers) keep their own best alive as long as it looks worth combining.
//
// Files: rule.go the rule's figures, order.go medians and their intervals, compare.go two builds,
// race.go many.
package stats
