package search

import (
	"testing"
	"testing/synctest"
	"time"
)

// A step within another one is taken off it, and what nobody named is the rest.
func TestMeter(t *testing.T) {
	synctest.Test(t, meters)
}

func meters(t *testing.T) {
	var m meter
	m.to(thinking)
	nap := func(n int) { time.Sleep(time.Duration(n) * 10 * time.Millisecond) }
	nap(1)
	func() {
		defer m.in(comparing)()
		nap(2)
		func() {
			defer m.in(racing)()
			nap(6)
		}()
		nap(2)
	}()
	m.to(thinking)
	for s, want := range map[step]time.Duration{thinking: 10, comparing: 40, racing: 60} {
		want *= time.Millisecond
		if got := m.spent[s]; got != want {
			t.Errorf("%q took %v, want %v", s, got, want)
		}
	}
}
