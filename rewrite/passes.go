package rewrite

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/demote"
	"gnvcc/rewrite/early"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/tile"
)

// The list of levers, and the reasons for its order.

// A Pass is one lever.
type Pass struct {
	Lever string
	Stage Stage
	Exact Exactness
	Sites bool   // takes lever@site=value
	Block bool   // its code is for one size of blocks, where that is known
	Doc   string // one sentence, for people

	launch  bool // says how a second entry is launched (MannerOf)
	neutral bool // does nothing but cap registers or give accesses a cache policy (Neutral)

	exact func(t recipe.Term) Exactness // of one term, where it depends on the value; nil: Exact
	check func(t recipe.Term) error     // of a term's site, where the lever takes one; nil: any

	// apply carries out all terms of the lever together; PTX stage only.
	apply func(k *pass.Kernel, terms []recipe.Term) error
}

// passes are all levers: by stage, in the order of a build, and those on PTX in the order in which
// they run. A new lever is a row here, and one in order for each of the others with which it does
// not come out the same both ways.
var passes = []Pass{
	// Package source carries these out, where driver runs cicc again.
	{Lever: recipe.FastMath, Stage: Source, Exact: Approximate,
		Doc: "sin, cos, exp, log, pow in f32 by the special function units"},
	{Lever: recipe.Second, Stage: Source, Exact: Checked,
		Doc: "a second entry for values that launches have, chosen by the host; the recipe is for that entry alone"},
	{Lever: recipe.Unroll, Stage: Source, Exact: Checked, Sites: true, check: loopSite, Doc: "unroll loops by a factor"},

	{Lever: Hint, Stage: PTX, Exact: ByConstruction, Sites: true, check: accessSite, neutral: true, apply: hint,
		Doc: "cache policies of loads from and stores to global memory"},
	{Lever: coarsen.Lever, Stage: PTX, launch: true, Exact: Checked, apply: coarsen.Apply,
		Doc: "each block of a second entry does the work of several neighbouring blocks (thread coarsening)"},
	{Lever: tile.Lever, Stage: PTX, Exact: Checked, Sites: true, Block: true, apply: tile.Apply,
		Doc: "what a block loads in several iterations of a loop is copied to shared memory first"},
	{Lever: demote.Lever, Stage: PTX, Exact: Checked, exact: demoted, Block: true, apply: demote.Apply,
		Doc: "values kept in shared memory instead of registers, in 32-bit words per thread; spill: ptxas spills to shared memory"},
	{Lever: early.Lever, Stage: PTX, Exact: Checked, apply: early.Apply,
		Doc: "on: loads moved ahead of stores to provably different addresses"},
	{Lever: "bypass", Stage: PTX, Exact: Checked, apply: bypass,
		Doc: "warps from this number on bypass the L1 cache"},
	{Lever: "inorder", Stage: PTX, Exact: Checked, apply: inorder,
		Doc: "on: ptxas keeps loads from global memory in program order"},
	{Lever: MaxNReg, Stage: PTX, Exact: ByConstruction, neutral: true, apply: maxnreg, Doc: "registers per thread"},
	{Lever: "spin", Stage: PTX, Exact: Checked, apply: spin,
		Doc: "spin loops on shared memory test before the compare-and-swap, or sleep between tries"},
	{Lever: "approx", Stage: PTX, Exact: Approximate, apply: approx,
		Doc: "divisions, roots and reciprocals by the special function units"},

	{Lever: Reshaping, Stage: HostStub, launch: true, Exact: ByConstruction, // with other warps: Checked (ExactnessOf)
		Doc: "a second entry is launched with another block size and the same total number of threads"},
	{Lever: Throttling, Stage: HostStub, launch: true, Exact: ByConstruction,
		Doc: "limit of resident blocks of a second entry per multiprocessor, by shared memory that the host reserves"},
}

// A rule says that one lever's pass must run before another's.
type rule struct{ before, after, because string }

const (
	chosen   = "what is demoted is chosen by the kernel as nvcc gave it"
	numbered = "accesses are numbered as nvcc gave them"
	oneText  = "both begin with registers of their own at the entry, and one recipe is to give one text"
)

// order are the rules of the list. Where two passes have none, either order gives the same text
// (TestOrder).
var order = []rule{
	{"hint", "coarsen", numbered},
	{"coarsen", "tile", "of the array and the barriers that tile brings in one is enough for all turns"},
	{"coarsen", "demote", "slots are numbered by the threads as they are launched"},
	{"coarsen", "early", "the turns' stores stand between their loads"},
	{"coarsen", "bypass", "a load in two guarded halves would stand twice for each turn"},
	{"coarsen", "inorder", "coarsen reads once for all turns by plain loads alone"},
	{"hint", "tile", numbered},
	{"tile", "demote", "beside slots, which are volatile, no tile is made"},
	{"tile", "bypass", "a load in two guarded halves is none of each turn"},
	{"tile", "spin", oneText},
	{"hint", "early", numbered},
	{"tile", "early", "a loop with a way beside it is no loop that can be tiled"},
	{"demote", "early", chosen},
	{"early", "bypass", "a load in two guarded halves stays where it is"},
	{"early", "inorder", "a relaxed load stays where it is"},
	{"early", "spin", oneText},
	{"hint", "inorder", "hint takes plain loads alone, and numbers them as nvcc gave them"},
	{"tile", "inorder", "tile takes a relaxed load for one that waits for other threads"},
	{"bypass", "inorder", "bypass takes plain loads alone"},
	{"demote", "bypass", "a load in two guarded halves would be two definitions, each of which keeps the old value"},
	{"demote", "spin", chosen},
	{"demote", "maxnreg", "where demote=spill names a block's size, it stands in front of the cap"},
	{"hint", "bypass", "a load that was given a policy of its own keeps it; bypass takes the others"},
	{"bypass", "spin", oneText},
	{"bypass", "approx", oneText},
}

func init() {
	if err := checkPasses(passes, order); err != nil {
		panic("rewrite: the list of passes: " + err.Error())
	}
}

// checkPasses says what is wrong with a list: a lever twice, a pass where none belongs or none
// where one does, stages that are not in the order of a build, a rule that is broken, has no
// reason, or names what is no pass.
func checkPasses(list []Pass, rules []rule) error {
	at := make(map[string]int)
	for i, p := range list {
		if _, twice := at[p.Lever]; twice {
			return fmt.Errorf("%s is given twice", p.Lever)
		}
		if (p.Stage == PTX) != (p.apply != nil) {
			return fmt.Errorf("%s has a pass where it should have none, or none where it should", p.Lever)
		}
		if i > 0 && p.Stage < list[i-1].Stage {
			return fmt.Errorf("%s stands behind %s, which acts later in a build", p.Lever, list[i-1].Lever)
		}
		at[p.Lever] = i
	}
	for _, r := range rules {
		a, known := at[r.before]
		b, too := at[r.after]
		switch {
		case !known || !too || list[a].Stage != list[b].Stage:
			return fmt.Errorf("%s before %s: they are not two passes of one stage", r.before, r.after)
		case r.because == "":
			return fmt.Errorf("%s before %s: why?", r.before, r.after)
		case a >= b:
			return fmt.Errorf("%s must run before %s (%s)", r.before, r.after, r.because)
		}
	}
	return nil
}

// lookup returns a lever's row, nil where there is none.
func lookup(lever string) *Pass {
	if i := slices.IndexFunc(passes, func(p Pass) bool { return p.Lever == lever }); i >= 0 {
		return &passes[i]
	}
	return nil
}

// Levers returns the list, for reports.
func Levers() []Pass { return slices.Clone(passes) }
