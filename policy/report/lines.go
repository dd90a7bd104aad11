package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"gnvcc/policy"
)

// What is printed while a run goes on. On a terminal the last line is overwritten with what is
// being done; elsewhere only what is final is printed, a line for each configuration of a kernel.

// Lines is the Progress of the command. The program's own output stays apart: Lines writes to the
// terminal or stderr.
type Lines struct {
	Verbose bool // name every kernel that is left alone, not the first for each reason

	w     io.Writer
	tty   bool
	width int
	now   func() time.Time

	mu      sync.Mutex
	open    bool // a line that is to be overwritten stands there
	kernels map[string]float64
	last    map[string]string // by configuration: what was said last
	begun   time.Time
	at      string
	n, of   int       // which of how many captures is searched on; 0 of 0: not known
	end     time.Time // when the budget is used up
}

// At says how far a run is: the n-th of so many captures, and when its budget ends.
func (p *Lines) At(n, of int, end time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n, p.of, p.end = n, of, end
}

// NewLines makes a Progress that writes to w; tty: w is a terminal.
func NewLines(w io.Writer, tty bool) *Lines {
	return &Lines{w: w, tty: tty, width: 110, now: time.Now, kernels: map[string]float64{},
		last: map[string]string{}}
}

// SetWidth sets how many columns an overwritten line may take; below 20 it stays as it is.
func (p *Lines) SetWidth(columns int) {
	if columns >= 20 {
		p.width = columns - 1
	}
}

// Trying shows what is being done; terminals only.
func (p *Lines) Trying(k *policy.Kernel, s policy.Shape, doing string, candidates int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := k.Identity + s.String(); at != p.at {
		p.at, p.begun = at, p.now()
	}
	if !p.tty {
		return
	}
	far := ""
	if p.of > 0 {
		far = fmt.Sprintf("[%d of %d, %.0f s left] ", p.n, p.of, max(p.end.Sub(p.now()).Seconds(), 0))
	}
	text := "gnvcc: " + far + fmt.Sprintf("tuning %s at %s: %s", k.Label(), s, doing)
	if candidates > 0 {
		text += fmt.Sprintf(" (%d)", candidates)
	}
	if n, best := p.won(); n > 0 {
		text += fmt.Sprintf("; so far %d faster, best %.2fx", n, best)
	}
	p.overwrite(text)
}

// Tuned prints what a configuration gave.
func (p *Lines) Tuned(k *policy.Kernel, s policy.Shape, o policy.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A later launch that confirms what was said is no news.
	key, news := k.Identity+k.Name+s.String(), fmt.Sprint(o.Recipe, "|", o.Alone, "|", o.Other)
	if p.last[key] == news {
		return
	}
	p.last[key] = news
	text := fmt.Sprintf("gnvcc: %s at %s: ", k.Label(), s)
	switch {
	case o.Alone != "":
		text += "left alone: " + o.Alone
	case o.Recipe == "":
		text += fmt.Sprintf("%s, none of %d candidates is faster", Duration(o.Before.Median), o.Tried)
	default:
		p.kernels[k.Identity+s.String()] = o.Ratio.Estimate
		text += fmt.Sprintf("%s -> %s, %.2fx (%s)", Duration(o.Before.Median),
			Duration(o.Before.Median*o.Ratio.Estimate), 1/o.Ratio.Estimate, o.Recipe)
	}
	if o.Open != "" {
		text += "; " + o.Open
	}
	if o.Other > 0 {
		text += fmt.Sprintf(", %d refused for different bits", o.Other)
	}
	if k.Identity+s.String() == p.at {
		text += fmt.Sprintf(" [%.1f s]", p.now().Sub(p.begun).Seconds())
	}
	p.line(text)
}

// Alone prints why something is left alone.
func (p *Lines) Alone(k *policy.Kernel, s policy.Shape, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if (p.last[reason] != "" || libraryOf(k.Short) != "") && !p.Verbose {
		return // Outcome sums them up
	}
	p.last[reason] = "left alone"
	p.line(fmt.Sprintf("gnvcc: %s left alone: %s", k.Label(), reason))
}

// Lost prints that a process was lost.
func (p *Lines) Lost(k *policy.Kernel, s policy.Shape, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(fmt.Sprintf("gnvcc: %s at %s: %v; nothing adopted. Run gnvcc tune again: it skips this candidate",
		k.Label(), s, err))
}

// Note prints something else.
func (p *Lines) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line("gnvcc: " + text)
}

// Close wipes an open line.
func (p *Lines) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
}

// won says how many configurations became faster, and the largest speed-up.
func (p *Lines) won() (n int, best float64) {
	for _, r := range p.kernels {
		best = max(best, 1/r)
	}
	return len(p.kernels), best
}

func (p *Lines) overwrite(text string) {
	if r := []rune(text); len(r) > p.width {
		text = string(r[:p.width-3]) + "..."
	}
	fmt.Fprint(p.w, "\r\x1b[K"+policy.Shown(text))
	p.open = true
}

func (p *Lines) line(text string) {
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
	fmt.Fprintln(p.w, policy.Shown(text))
}
