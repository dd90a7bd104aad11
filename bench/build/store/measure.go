package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"gnvcc/cache"
)

// jobEnv makes this program a builder: its job, in JSON.
const jobEnv = "GNVCC_BENCH_STORE"

type job struct {
	Dir              string
	Records, Lookups int
}

type times struct{ Wall, CPU []int64 }

// pause is the longest time between two look-ups of a builder: 64 of them make some 1,300 look-ups
// a second, more than 64 processors compile files in. between is the time between two publications;
// a tuner's are seconds apart.
const (
	pause   = 100 * time.Millisecond
	between = 20 * time.Millisecond
)

// bucket is where the decisions lie here. In their own, each would be synced to the disk by itself
// while the store is filled; for a look-up one bucket is like another.
const bucket = cache.Assemblies

func key(i int) string { return cache.Hash(fmt.Append(nil, "kernel ", i)) }

// decision is one of the usual size: two shapes of launches, twelve candidates; 3 KB of JSON.
func decision(i int) cache.Decision {
	d := cache.Decision{Identity: key(i), Kernel: fmt.Sprintf("_Z7stencilILi%dEEvPKfPfi", i),
		Target: "sm_90", Recipe: "ld=L2::256B maxnreg=64 unroll=4", Exactness: "checked",
		Evidence: cache.Evidence{Device: "NVIDIA H200", Driver: "580.159.04",
			Default: cache.Build{Registers: 40}, Chosen: cache.Build{Registers: 64}}}
	t := cache.Time{Median: 101_000, Low: 100_500, High: 101_500, N: 39}
	for range 2 {
		d.Evidence.Launches = append(d.Evidence.Launches, cache.Launch{Grid: [3]int{1000, 1, 1},
			Block: [3]int{256, 1, 1}, Count: 400, Checked: 5, Before: t, After: t,
			Values: map[string]string{"n": "1024"}})
	}
	for n := range 12 {
		d.Evidence.Tried = append(d.Evidence.Tried, cache.Trial{Recipe: fmt.Sprintf("maxnreg=%d unroll=4",
			32+8*n), Build: cache.Build{Registers: 32 + 8*n}, Ratio: 0.9})
	}
	return d
}

// filled makes a store with so many decisions.
func filled(ctx context.Context, dir string, records int) (*cache.Store, error) {
	store, err := cache.Open(dir)
	if err != nil {
		return nil, err
	}
	o, err := store.Own(ctx)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	const batch = 2000
	for i := range records {
		if err := store.Spool(bucket, key(i), decision(i)); err != nil {
			return nil, err
		}
		if i%batch == batch-1 || i == records-1 {
			if _, err := o.Merge(); err != nil {
				return nil, err
			}
		}
	}
	return store, o.Publish()
}

func measure(ctx context.Context, store *cache.Store, c Cell, builders, lookups int) (Cell, error) {
	text, err := json.Marshal(job{store.Path(), c.Records, lookups})
	if err != nil {
		return c, err
	}
	self, err := os.Executable()
	if err != nil {
		return c, err
	}
	gun, shot, err := os.Pipe()
	if err != nil {
		return c, err
	}
	defer gun.Close()
	outputs, errs := make([]times, builders), make([]error, builders)
	var up, wait sync.WaitGroup
	for b := range builders {
		up.Add(1)
		wait.Go(func() {
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(os.Environ(), jobEnv+"="+string(text))
			cmd.Stdin = gun
			var out, said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &said
			err := cmd.Start()
			up.Done()
			if err == nil {
				err = cmd.Wait()
			}
			if err == nil {
				err = json.Unmarshal(out.Bytes(), &outputs[b])
			}
			if err != nil {
				errs[b] = fmt.Errorf("builder: %w: %s", err, said.Bytes())
			}
		})
	}
	up.Wait()
	time.Sleep(500 * time.Millisecond) // all wait for the shot
	c.Load = loadNow()
	shot.Close()
	stop := make(chan struct{})
	var owner sync.WaitGroup
	var failed error
	if c.Publishing {
		owner.Go(func() { c.Publications, failed = publish(ctx, store, c.Records, stop) })
	}
	wait.Wait()
	close(stop)
	owner.Wait()
	if failed != nil {
		return c, failed
	}
	for b := range builders {
		if errs[b] != nil {
			return c, errs[b]
		}
		c.Wall, c.CPU = append(c.Wall, outputs[b].Wall...), append(c.CPU, outputs[b].CPU...)
	}
	return c, nil
}

func publish(ctx context.Context, store *cache.Store, records int,
	stop chan struct{}) (n int, err error) {
	o, err := store.Own(ctx)
	if err != nil {
		return 0, err
	}
	defer o.Close()
	for ; ; n++ {
		select {
		case <-stop:
			return n, nil
		case <-time.After(between):
		}
		if err := o.Put(bucket, key(n%records), decision(n%records)); err != nil {
			return n, err
		}
		if err := o.Publish(); err != nil {
			return n, err
		}
	}
}

// Builder looks decisions up and ends the process, where this one was started for that.
func Builder() {
	text := os.Getenv(jobEnv)
	if text == "" {
		return
	}
	if err := lookUp(text); err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func lookUp(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	runtime.LockOSThread()
	store, err := cache.Open(j.Dir)
	if err != nil {
		return err
	}
	var none [1]byte
	os.Stdin.Read(none[:]) // ends when the shot is fired
	var t times
	for range j.Lookups {
		time.Sleep(time.Duration(rand.Int64N(int64(pause))))
		which := key(rand.IntN(j.Records))
		cpu, start := threadTime(), time.Now()
		sn, err := store.Snapshot()
		if err != nil {
			return err
		}
		var d struct{ Identity, Recipe string } // what a build takes of it
		ok, err := sn.Get(bucket, which, &d)
		sn.Close()
		t.Wall, t.CPU = append(t.Wall, time.Since(start).Nanoseconds()), append(t.CPU, threadTime()-cpu)
		if err != nil || !ok || d.Identity != which || d.Recipe == "" {
			return fmt.Errorf("look-up of %s: %v, %v", which, ok, err)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

// threadTime is the processor time of this thread, nanoseconds.
func threadTime() int64 {
	const clockThreadCPUTime = 3 // CLOCK_THREAD_CPUTIME_ID, time.h
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTime, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

func loadNow() string {
	text, _ := os.ReadFile("/proc/loadavg") // no file: not known
	words := strings.Fields(string(text))
	return strings.Join(words[:min(1, len(words))], "")
}
