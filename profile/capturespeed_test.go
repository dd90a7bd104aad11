package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// each wants every launch once, in a file of its own.
type each struct {
	capturing
	dir   string
	paths []string
}

func (h *each) Launch(l *Launch) Verdict {
	h.capturing.Launch(l)
	h.paths = append(h.paths, filepath.Join(h.dir, fmt.Sprint(len(h.paths))))
	return Verdict{Capture: h.paths[len(h.paths)-1], Limit: 16 << 30}
}

// BenchmarkCapture: seconds that the program stands still, a GiB, on a driver whose device is
// memory of the host.
func BenchmarkCapture(b *testing.B) {
	f := newFakeDriver(b)
	for b.Loop() {
		h := &each{dir: b.TempDir()}
		f.run(b, h, "arrays", true, "ARRAYS=512,512,256")
		if len(h.got) != 2 {
			b.Fatal(h.why)
		}
		for i, g := range h.got {
			info, _ := os.Stat(h.paths[i])
			b.Logf("capture %d: %.2f s before, %.2f s after, %d MiB written", i,
				g.Before.Seconds(), g.After.Seconds(), info.Size()>>20)
		}
	}
	_ = time.Now
}
