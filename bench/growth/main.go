package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gnvcc/bench/command"
	"gnvcc/cache"
	"gnvcc/cache/remote"
)

// A Row is one measurement.
type Row struct {
	What      string
	Decisions int `json:",omitempty"`
	Tags      int `json:",omitempty"`
	Bytes     int64
	Seconds   float64
	Processor float64 `json:",omitempty"` // seconds of it, of the process that did it
	Median    float64 `json:",omitempty"` // of single operations, microseconds
	P99       float64 `json:",omitempty"`
	Working   float64 `json:",omitempty"` // the same of the processor's time of the thread: the median,
	Working99 float64 `json:",omitempty"` // and the 99th percentile
	Switched  int64   `json:",omitempty"` // how often the thread had to make room for others meanwhile
	Waited    int64   `json:",omitempty"` // and how often it waited: for the disk
	Memory    int64   `json:",omitempty"` // largest resident set of the process, bytes
	Said      string  `json:",omitempty"`

	Machines   int     `json:",omitempty"`
	Publishers int     `json:",omitempty"`
	Hours      float64 `json:",omitempty"` // between two pulls of a machine
	Requests   int64   `json:",omitempty"`
	Mean       float64 `json:",omitempty"` // requests a second
	Peak       int64   `json:",omitempty"` // in one second
	Stale      float64 `json:",omitempty"` // of look-ups, the part that a newer decision had been pushed for
}

var (
	gnvcc    = flag.String("gnvcc", "bin/gnvcc", "the program; gnvcc-oci lies beside it")
	registry = flag.String("registry", "", "host:port of an OCI registry that takes pushes; none: the store alone")
	most     = flag.Int("most", 1_000_000, "largest store, decisions")
	tags     = flag.Int("tags", 1000, "publishers of one repository")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	dir, err := os.MkdirTemp("", "growth-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, n := range []int{10_000, 100_000, *most} {
		if n > 0 && n <= *most {
			snapshot(filepath.Join(dir, fmt.Sprint("snapshot", n)), n)
		}
	}
	if *registry != "" {
		one(dir)
		many(dir)
		fleet(dir)
	}
}

func tell(r Row) {
	text, err := json.Marshal(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// decision makes one with so many trials in its evidence, its numbers at random.
func decision(i, trials int) cache.Decision {
	r := rand.New(rand.NewPCG(uint64(i), 1))
	d := cache.Decision{Identity: cache.Hash(fmt.Append(nil, "kernel ", i)),
		Kernel: fmt.Sprintf("_ZN4team%dkernelIfLi%dEEEvPT_iS1_", i%100, i), Target: "sm_90",
		Recipe: fmt.Sprintf("maxnreg=%d ld=L2::256B", 24+8*r.IntN(20)), Exactness: "construction",
		Time: time.Unix(1_700_000_000+int64(i), 0).UTC()}
	d.Evidence = cache.Evidence{Device: "NVIDIA H200", Driver: "580.159.04", Version: "v1",
		Launches: []cache.Launch{{Grid: [3]int{r.IntN(9999), 1, 1}, Block: [3]int{256, 1, 1},
			Count: r.IntN(100), Checked: 5, Before: cache.Time{Median: 1e5 * r.Float64(), N: 30},
			After: cache.Time{Median: 1e5 * r.Float64(), N: 30}}}}
	for t := range trials {
		d.Evidence.Tried = append(d.Evidence.Tried, cache.Trial{Recipe: fmt.Sprintf("maxnreg=%d unroll=%d",
			24+8*t, r.IntN(8)), Build: cache.Build{Registers: r.IntN(255)}, Ratio: r.Float64()})
	}
	return d
}

// snapshot measures publishing and looking up.
func snapshot(dir string, n int) {
	check(os.MkdirAll(dir, 0o700))
	raws := make([]cache.Arrived, n)
	for i := range raws {
		d := decision(i, 2)
		raw, err := json.Marshal(d)
		check(err)
		d.Evidence.Tried = nil // as pulls leave it
		raws[i] = cache.Arrived{Decision: d, Raw: raw}
	}
	begun, worked := time.Now(), command.Processor(syscall.RUSAGE_SELF).Seconds()
	check(cache.PublishOther(dir, raws))
	took := time.Since(begun).Seconds()
	raws = nil
	info, err := os.Stat(filepath.Join(dir, "decisions.snapshot"))
	check(err)
	tell(Row{What: "publish a snapshot", Decisions: n, Bytes: info.Size(), Seconds: took,
		Processor: command.Processor(syscall.RUSAGE_SELF).Seconds() - worked, Memory: memory()})
	runtime.GC()
	sn, err := cache.OtherSnapshot(dir)
	check(err)
	defer sn.Close()
	lookUp(sn, Row{What: "look a kernel up", Decisions: n, Bytes: info.Size()})
	f, err := os.Open(filepath.Join(dir, "decisions.snapshot"))
	check(err)
	defer f.Close()
	check(f.Sync())
	check(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	lookUp(sn, Row{What: "look a kernel up, file not in memory at first", Decisions: n,
		Bytes: info.Size()})
}

// lookUp looks 5000 kernels up, each once.
func lookUp(sn *cache.Snapshot, row Row) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var times, working []float64
	found := 0
	var before, after syscall.Rusage
	check(syscall.Getrusage(unix.RUSAGE_THREAD, &before))
	begun := time.Now()
	for i := range 5000 {
		id := cache.Hash(fmt.Append(nil, "kernel ", (i*7919)%row.Decisions))
		worked, at := threadTime(), time.Now()
		check(sn.EachDecision(id, func([]byte) error { found++; return nil }))
		times = append(times, float64(time.Since(at).Nanoseconds())/1000)
		working = append(working, (threadTime()-worked)*1e6)
	}
	row.Seconds = time.Since(begun).Seconds()
	check(syscall.Getrusage(unix.RUSAGE_THREAD, &after))
	if found != 5000 {
		log.Fatalf("%d of 5000 were found", found)
	}
	slices.Sort(times)
	slices.Sort(working)
	row.Median, row.P99, row.Working, row.Working99 = times[2500], times[4950], working[2500],
		working[4950]
	row.Switched, row.Waited = after.Nivcsw-before.Nivcsw, after.Nvcsw-before.Nvcsw
	tell(row)
}

// threadTime is what this thread has used of the processor, seconds.
func threadTime() float64 {
	var t unix.Timespec
	check(unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t))
	return float64(t.Nano()) / 1e9
}

// memory is this process' largest resident set so far.
func memory() int64 {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Maxrss << 10
}

// run runs gnvcc with a store of its own.
func run(what, store string, row Row, args ...string) {
	cmd := exec.Command(*gnvcc, args...)
	cmd.Env = append(os.Environ(), "GNVCC_STORE="+store)
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		log.Fatalf("%s: %v\n%s", what, err, out)
	}
	row.What, row.Seconds, row.Said = what, time.Since(begun).Seconds(), strings.TrimSpace(string(out))
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		row.Processor = float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	tell(row)
}

// keep has a store with decisions.
func keep(dir string, all []cache.Decision) string {
	store, err := cache.Open(dir)
	check(err)
	for _, d := range all {
		check(store.Spool(cache.Decisions, d.Key(), d))
	}
	return dir
}

// one is one publisher with 10,000 kernels.
func one(dir string) {
	const n = 10_000
	all := make([]cache.Decision, n)
	for i := range all {
		all[i] = decision(i, 40)
	}
	_, blobs, err := remote.Pack(all)
	check(err)
	var size int64
	for _, b := range blobs {
		size += int64(len(b))
	}
	at := fmt.Sprintf("oci://%s/growth/one-%d:main", *registry, time.Now().UnixNano())
	row := Row{Decisions: n, Bytes: size}
	from, to := keep(filepath.Join(dir, "from"), all), filepath.Join(dir, "to")
	run("merge the spool", from, Row{Decisions: n}, "push", "-n", at)
	run("push", from, row, "push", at)
	run("push, unchanged", from, row, "push", at)
	run("pull", to, row, "pull", at)
	for range 5 {
		run("pull, unchanged", to, row, "pull")
	}
	for i := range 3 {
		all[i].Recipe = "maxnreg=248"
		all[i].Time = time.Now().UTC()
	}
	keep(from, all[:3])
	run("push, 3 changed", from, row, "push", at)
	run("pull, 3 changed", to, row, "pull")
}

// many is a repository of many publishers, each with a few kernels, and one reader of all.
func many(dir string) {
	at := fmt.Sprintf("oci://%s/growth/many-%d", *registry, time.Now().UnixNano())
	begun := time.Now()
	for i := range *tags {
		var all []cache.Decision
		for j := range 10 {
			all = append(all, decision(i*5+j, 10)) // half of them are another's, too
		}
		cmd := exec.Command(*gnvcc, "push", fmt.Sprintf("%s:machine%d", at, i))
		cmd.Env = append(os.Environ(), "GNVCC_STORE="+keep(filepath.Join(dir, fmt.Sprint("p", i)), all))
		if out, err := cmd.CombinedOutput(); err != nil {
			log.Fatalf("push %d: %v\n%s", i, err, out)
		}
		os.RemoveAll(filepath.Join(dir, fmt.Sprint("p", i)))
	}
	row := Row{Tags: *tags}
	tell(Row{What: "push, one after the other", Tags: *tags, Seconds: time.Since(begun).Seconds()})
	to := filepath.Join(dir, "reader")
	run("pull all tags", to, row, "pull", "--timeout", "10m", at)
	run("pull all tags, unchanged", to, row, "pull", "--timeout", "10m")
}
