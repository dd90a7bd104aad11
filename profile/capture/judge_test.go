package capture

import (
	"fmt"
	"testing"
	"time"

	"gnvcc/profile"
)

// TestPatience: however many launches ask while one kernel is looked at, the program waits for so
// long in all; and what is known is known without waiting.
func TestPatience(t *testing.T) {
	c, cubin := collector(t)
	free := make(chan struct{})
	c.wanted = func(*profile.Launch) error { <-free; return fmt.Errorf("of no use") }
	launch := func(i int) *profile.Launch {
		return &profile.Launch{Kernel: fmt.Sprint("k", i), Cubin: cubin, Count: 1}
	}
	begun := time.Now()
	for i := range 100 {
		if err := c.unwanted(launch(i), patience); err != nil {
			t.Fatal("known before anybody has looked: ", err)
		}
	}
	if took := time.Since(begun); took < patience || took > 20*patience {
		t.Errorf("100 launches waited for %v", took)
	}
	close(free)
	for i := range 100 {
		<-c.kernel(launch(i)).done
		if c.unwanted(launch(i), 0) == nil {
			t.Errorf("kernel %d: what is known is not said", i)
		}
	}
}
