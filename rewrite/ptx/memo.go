package ptx

import "sync"

// Analyses that are worked out once: of one function (Once), as long as its text stays, or of a
// module with all that its functions reach (OnceIn), as long as no function of it is edited. A copy
// (Clone) begins with none. Several goroutines may ask; two that ask at the same time may both do
// the work, and get the same result.

// A memo holds results by key: a type of the package that asks, with the entry's name where there
// is one.
type memo struct {
	mu      sync.Mutex
	version int // of the module; a function has a new memo with each text
	kept    map[any]any
}

type outcome[T any] struct {
	value T
	err   error
}

// Once returns what work finds in a function's text, from an earlier call with this key if there was
// one. Nothing may change the result.
func Once[T any](f *Func, key any, work func() (T, error)) (T, error) {
	return once(f.memo, 0, key, work)
}

// OnceIn is Once for what depends on several functions of a module.
func OnceIn[T any](m *Module, key any, work func() (T, error)) (T, error) {
	version := 0
	for _, f := range m.Funcs {
		version += f.version
	}
	return once(&m.memo, version, key, work)
}

func once[T any](m *memo, version int, key any, work func() (T, error)) (T, error) {
	m.mu.Lock()
	if m.version != version {
		m.version, m.kept = version, nil
	}
	found, ok := m.kept[key].(outcome[T])
	m.mu.Unlock()
	if ok {
		return found.value, found.err
	}
	value, err := work()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version == version {
		if m.kept == nil {
			m.kept = map[any]any{}
		}
		m.kept[key] = outcome[T]{value, err}
	}
	return value, err
}
