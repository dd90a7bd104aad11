package replay

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/profile/capture"
)

// A process that was started before it was known what to replay does what one that is started then
// does; where it can't be had, or is gone, one is started. The driver is the test's own.
func TestStandby(t *testing.T) {
	program := built(t)
	dir := fakeDriver(t)
	unpacked := &Unpacked{m: &capture.Manifest{Kernel: "k", Cubin: "c"}, dir: dir}
	if err := os.WriteFile(unpacked.file(), file(t, 0x7e0000000000), 0o600); err != nil {
		t.Fatal(err)
	}
	uuid := strings.Repeat("00", 16)
	t.Setenv("LD_LIBRARY_PATH", dir)
	t.Setenv("TMPDIR", t.TempDir())
	for name, c := range map[string]struct {
		fail, then string // in the waiting process, and when it is told what to replay
		uuid       string
		gone       bool // it has ended when it is wanted
		starts     int  // of the driver, in all
		refused    string
	}{
		"ready":          {starts: 1},
		"not there yet":  {uuid: "slow", starts: 1},
		"no driver":      {fail: "cuInit", gone: true, starts: 1},
		"another device": {uuid: strings.Repeat("11", 16), gone: true, starts: 2},
		"no context":     {fail: "cuDevicePrimaryCtxRetain", starts: 2},
		"taken":          {fail: "cuMemAddressReserve", then: "cuMemAddressReserve", starts: 16, refused: "in each of 16"},
		"fails":          {fail: "cuMemCreate", starts: 1, refused: "allocating the launch's memory"},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "starts")
			t.Setenv("STARTS", log)
			t.Setenv("FAIL", c.fail)
			slow := c.uuid == "slow"
			if c.uuid == "" || slow {
				c.uuid = uuid
			}
			o := Options{Program: program, Agent: program}
			o.Standby = Prepare(context.Background(), o, c.uuid)
			if o.Standby == nil {
				t.Fatal("no process")
			}
			for end := time.Now().Add(20 * time.Second); !slow && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
				text, _ := os.ReadFile(o.Standby.status())
				if bytes.Contains(text, []byte(" context\n")) || bytes.Contains(text, []byte("stop ")) {
					break
				}
			}
			if c.gone {
				<-o.Standby.ended
			}
			t.Setenv("FAIL", c.then)
			out, err := Run(context.Background(), o, unpacked, nothing(1))
			if c.refused != "" {
				if !errors.Is(err, ErrRefused) || !strings.Contains(out.Reason, c.refused) {
					t.Errorf("%+v, %v", out, err)
				}
			} else if err != nil || !out.Same || !out.Whole || len(out.Varied) != 1 {
				t.Errorf("%+v, %v", out, err)
			}
			if text, _ := os.ReadFile(log); len(text) != c.starts {
				t.Errorf("the driver was started %d times, not %d", len(text), c.starts)
			}
			if _, err := os.Stat(o.Standby.dir); err == nil {
				t.Error("its folder is left behind")
			}
		})
	}
	// One that nobody wants ends, also where gnvcc itself is gone without a word.
	s := Prepare(context.Background(), Options{Program: program, Agent: program}, uuid)
	s.gate.Close()
	select {
	case <-s.ended:
	case <-time.After(20 * time.Second):
		t.Error("it waits for a gnvcc that is gone")
	}
	s.Close()
	s = Prepare(context.Background(), Options{Program: program, Agent: program}, uuid)
	s.Close()
	(*Standby)(nil).Close()
	// One whose launch does not end goes with the time for it, though it was begun for longer.
	t.Setenv("STUCK", "1")
	o := Options{Program: program, Agent: program}
	o.Standby = Prepare(context.Background(), o, uuid)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := Run(ctx, o, unpacked, nothing())
	if err == nil || time.Since(begun) > 8*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
