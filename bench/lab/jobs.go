package lab

import (
	"sync"
	"syscall"
	"time"
)

// Each does something for each of a list, so many at a time, and waits for all.
func Each[T any](jobs int, list []T, do func(T)) {
	slots := make(chan struct{}, jobs)
	var all sync.WaitGroup
	for _, one := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			do(one)
		})
	}
	all.Wait()
}

// Processor is the processor's time of those that are asked about: syscall.RUSAGE_SELF, this
// process; RUSAGE_CHILDREN, all that it has waited for.
func Processor(of ...int) (sum time.Duration) {
	for _, who := range of {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
