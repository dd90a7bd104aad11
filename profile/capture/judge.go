package capture

import (
	"time"

	"gnvcc/profile"
)

// Whether a kernel is of any use. To find out can take longer than many launches (of a program that
// was linked with -rdc=true, all objects' device code is looked at), and the program waits.

// patience is how long a launch waits for it. All launches together wait for inAll and such a part
// of the run: a kernel of thousands of instructions may take a second, and every launch of another
// one that asks meanwhile would wait. What is not known then is captured; if it turns out to be of
// no use, its captures are not kept.
const (
	patience       = 50 * time.Millisecond
	inAll, inAllOf = 200 * time.Millisecond, 0.02
)

// A judgement is about a kernel; unwanted can be read when done is closed.
type judgement struct {
	done     chan struct{} // nil: not asked yet
	unwanted error
}

// unwanted says why a launch's kernel is of no use, nil if it is of some, or if that is not known
// within a time.
func (c *Collector) unwanted(l *profile.Launch, within time.Duration) error {
	if c.wanted == nil || l.Cubin == "" {
		return nil
	}
	k := c.kernel(l)
	if k.done == nil {
		k.done = make(chan struct{})
		of := *l
		go func() {
			defer close(k.done)
			c.judging.Lock()
			defer c.judging.Unlock()
			k.unwanted = c.wanted(&of)
		}()
	}
	select {
	case <-k.done:
		return k.unwanted
	default:
	}
	begun := c.now()
	all := inAll + time.Duration(inAllOf*float64(begun.Sub(c.begun)))
	late := time.NewTimer(max(min(within, all-c.waited), 0))
	defer late.Stop()
	defer func() { c.waited += c.now().Sub(begun) }()
	select {
	case <-k.done:
		return k.unwanted
	case <-late.C:
		return nil
	}
}

// drop gives up the captures of kernels that have turned out to be of no use.
func (c *Collector) drop() {
	for _, s := range c.order {
		k := s.kernel
		if k.done == nil {
			continue
		}
		if <-k.done; k.unwanted == nil {
			continue
		}
		for _, x := range s.captures {
			if err := c.store.Drop(x.m.ID); err != nil {
				c.notes = append(c.notes, err.Error())
			}
		}
		s.captures, s.why = nil, k.unwanted.Error()
	}
}
