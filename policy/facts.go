package policy

import (
	"sync"

	"gnvcc/rewrite/ptx"
)

// What is found in a kernel's PTX by those who need it: levers mostly, each in a file of its own.

// A Fact is one question about a kernel's PTX. It is asked of a kernel once, when the answer is first
// wanted.
type Fact[T any] struct{ find func(c Code) T }

// Code is nvcc's own PTX of a kernel.
type Code struct {
	Module *ptx.Module
	Entry  *ptx.Func
}

// facts are the answers about one kernel, by *Fact. Copies of the kernel share them.
type facts struct {
	mu    sync.Mutex
	code  Code // zero: not known
	known map[any]any
}

// NewFact makes a question of the function that answers it, which may be called from several
// goroutines.
func NewFact[T any](find func(c Code) T) *Fact[T] { return &Fact[T]{find} }

// Of is the answer for a kernel; the zero value where its PTX is not known.
func (f *Fact[T]) Of(k *Kernel) (answer T) {
	if k.facts == nil {
		return answer
	}
	k.facts.mu.Lock()
	defer k.facts.mu.Unlock()
	answer, ok := k.facts.known[f].(T)
	if !ok && k.facts.code.Entry != nil {
		answer = f.find(k.facts.code)
		k.facts.put(f, answer)
	}
	return answer
}

// Put sets the answer for a kernel without PTX, in tests.
func (f *Fact[T]) Put(k *Kernel, answer T) *Kernel {
	if k.facts == nil {
		k.facts = &facts{}
	}
	k.facts.put(f, answer)
	return k
}

func (f *facts) put(question, answer any) {
	if f.known == nil {
		f.known = map[any]any{}
	}
	f.known[question] = answer
}
