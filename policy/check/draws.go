package check

const (
	// Kinds are those of varied data (profile/replay/source/vary.c); variations count through them.
	Kinds = 10
	// draws of each kind. One where time is short; a second one where the budget allows it: it refuses
	// none of 2,145 variants that the first accepts (bench/results/2026-11-28-keep), and found two of
	// three that the first had missed of 34 known ones.
	draws = 2
	// A launch of few threads shows few numbers: it gets draws until so many threads have computed,
	// mostDraws at most. A thread that differs in one of 4,096 cases is missed by 64 of them.
	threads   = 4096
	mostDraws = 16
	fewDraws  = 4 // of these, whatever time they take
)

// Draws is how many draws of each kind a launch of so many threads gets, and how many of them, the
// first, whether or not there is time.
func Draws(of int) (all, due int) {
	wanted := (threads + of - 1) / max(of, 1)
	return min(max(draws, wanted), mostDraws), min(max(1, wanted), fewDraws)
}
