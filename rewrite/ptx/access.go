package ptx

import (
	"bytes"
	"slices"
)

// What the opcode of a memory access says: where the memory is, whether threads may tell each other
// something by it, and what the words of a weak load or store are about.

// Space is the state space that an access names: "global", "shared", "local", "param" or "const";
// "" where its address is generic. A part of a space is that space (shared::cluster, param::func).
// Of an instruction with two (cp.async) it is the first, which is written to.
func Space(op []byte) string {
	for rest := op; ; {
		n := bytes.IndexByte(rest, '.')
		if n < 0 {
			return ""
		}
		rest = rest[n+1:]
		word := rest
		if n := bytes.IndexByte(word, '.'); n >= 0 {
			word = word[:n]
		}
		word, _, _ = bytes.Cut(word, []byte("::"))
		switch string(word) {
		case "global", "shared", "local", "param", "const":
			return string(word)
		}
	}
}

// OwnShared reports an access to the block's own shared memory, by an address in that space. What
// is named shared::cluster may be another block's.
func OwnShared(op []byte) bool {
	return Space(op) == "shared" && !HasModifier(op, "shared::cluster")
}

// Strong reports an access by which threads may hand each other something: one with an order of
// its own, or volatile (PTX ISA, "Memory Consistency Model").
func Strong(op []byte) bool {
	return HasAny(op, "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
}

// A WordKind is what a word of a load's or store's opcode is about. Which kinds an access may have
// to be rewritten is the passes' business.
type WordKind uint8

// The kinds of words that a weak access may have. OtherWord is every other one: an order, a scope,
// a policy that is an operand, a part of a space, an operator that makes the access strong (cv).
const (
	OtherWord WordKind = iota
	WeakWord
	SpaceWord
	TypeWord
	VectorWord
	ReadOnlyWord // nc
	OperatorWord // a cache operator
	PriorityWord // in which order L1 evicts
	PrefetchWord // bytes to bring into L2
)

// KindOf gives the kind of one word, without its dot.
func KindOf(word string) WordKind {
	switch word {
	case "weak":
		return WeakWord
	case "global", "shared", "local", "const", "param":
		return SpaceWord
	case "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64",
		"f32", "f64":
		return TypeWord
	case "v2", "v4", "v8":
		return VectorWord
	case "nc":
		return ReadOnlyWord
	case "ca", "cg", "cs", "lu", "wb":
		return OperatorWord
	case "L1::no_allocate", "L1::evict_first", "L1::evict_last", "L1::evict_unchanged",
		"L1::evict_normal":
		return PriorityWord
	case "L2::64B", "L2::128B", "L2::256B":
		return PrefetchWord
	}
	return OtherWord
}

func HasAny(op []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return HasModifier(op, w) })
}
