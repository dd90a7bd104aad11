package lab

import "sync"

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
