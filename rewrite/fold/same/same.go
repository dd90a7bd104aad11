package same

import (
	"fmt"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
)

// A Built is a kernel as cicc compiled it with -lineinfo.
type Built struct {
	Module *ptx.Module
	Entry  string
	// Contracted are sums that ptxas contracted, each with the product that it was contracted with:
	// those of which that is known. They are compared as contracted ones then, and are in no Answer.
	Contracted map[Statement]Statement
	// Unfolded says of the default that no variant's compiler computes anything of it with other bits
	// than the GPU (fold.Check and fold.Contracts have said so).
	Unfolded bool
}

// A Statement is an instruction of one of the two modules that were given: f.Stmts[Index].
type Statement struct {
	Func  *ptx.Func
	Index int
}

// A Sum is an add or sub of the variant that doesn't name its rounding, so that ptxas may contract
// it with a product, and all those of the default that may be the same operation of the source.
// (There is at least one in May; sums of which no operand can be a product are not listed.)
type Sum struct {
	At  Statement   // in the variant
	May []Statement // in the default
	// Of May those that are differences of the same two values, if it is one of those. So it is known
	// which operand is which.
	Ordered []Statement
}

// An Answer says what the machine code has to show before the variant is taken. Bits are the
// same if
//
//   - for each Sum, ptxas contracted At where it contracted all of May, and contracted none of them
//     otherwise; and where it did, one operand of At, and of each of May, can't be a product, so
//     that it is known with which it was contracted (it is in Both where that is not so: then each
//     of May has to be in Ordered, and ptxas to have contracted it with the product that is the
//     same operand as in At);
//   - none of Alone, products and sums of the default, was contracted: the variant has the rounded
//     result of it as a constant, or was rid of an operation by it (neutral.go);
//   - none of Approximate, instructions of the variant, was computed by ptxas;
//   - none of either kernel's was computed by ptxas for one of the numbers in Early.
type Answer struct {
	Sums []Sum
	// Products of single precision of the variant that ptxas may scale, where either kernel has a
	// product to be scaled: it has to have done so with At where it did with all of May, and with none
	// of them otherwise.
	Products []Sum
	Both     []Statement // sums of either module of which both operands may be products
	Alone    []Statement // in the default
	// Numbers that approximate instructions of the variant may begin with, as PTX writes them: ptxas
	// must not have computed any of those instructions for them.
	Early       []string
	Approximate []Statement // in the variant
}

// Same returns an error where bits of the variant could be others than those of the default. fixed
// is what the variant knows that the default does not.
func Same(def, variant Built, fixed fold.Fixed) (*Answer, error) {
	def, one, err := inWords(def)
	if err != nil {
		return nil, fmt.Errorf("read the default's PTX: %w", err)
	}
	variant, two, err := inWords(variant)
	if err != nil {
		return nil, fmt.Errorf("read the variant's PTX: %w", err)
	}
	answer, err := inWholeWords(def, variant, fixed)
	if err == nil {
		answer.as(one)
		answer.as(two)
	}
	return answer, err
}

// inWholeWords is Same for kernels whose words are loaded as words.
func inWholeWords(def, variant Built, fixed fold.Fixed) (*Answer, error) {
	d, err := read(def)
	if err != nil {
		return nil, fmt.Errorf("read the default's PTX: %w", err)
	}
	v, err := read(variant)
	if err != nil {
		return nil, fmt.Errorf("read the variant's PTX: %w", err)
	}
	var partner map[Statement]Statement
	if len(def.Contracted)+len(variant.Contracted) == 0 {
		partner = copies(d, v, fixed)
	}
	if partner != nil {
		m := &matching{def: d, variant: v, fixed: fixed, outcome: outcomes(d, fixed, false),
			early: map[string]bool{}, wide: map[list][]int{}, never: map[wanted]bool{}}
		return m.choices().ofCopies(partner), nil
	}
	m, err := match(d, v, fixed)
	if err != nil {
		return nil, err
	}
	if err := m.lost(); err != nil {
		return nil, err
	}
	return m.choose()
}
