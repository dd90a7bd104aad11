package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// A build's way: open the snapshot, look one kernel up, close.
func BenchmarkOpenGet(b *testing.B) {
	for _, n := range []int{10, 1000, 30000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := newStore(b)
			fill(b, s, n)
			b.ResetTimer()
			for i := range b.N {
				sn, err := s.Snapshot()
				ok(b, err)
				get(b, sn, i%n)
				sn.Close()
			}
		})
	}
}

// The same by bbolt itself in the database, to compare.
func BenchmarkOpenGetBbolt(b *testing.B) {
	const n = 30000
	s := newStore(b)
	fill(b, s, n)
	b.ResetTimer()
	for i := range b.N {
		db, err := bbolt.Open(filepath.Join(s.dir, dbName), 0o600, &bbolt.Options{ReadOnly: true,
			Timeout: time.Millisecond})
		ok(b, err)
		ok(b, db.View(func(tx *bbolt.Tx) error {
			if tx.Bucket([]byte(Decisions)).Get([]byte(hashKey(i%n))) == nil {
				b.Fatal("no record")
			}
			return nil
		}))
		ok(b, db.Close())
	}
}

func BenchmarkGet(b *testing.B) {
	const n = 30000
	s := newStore(b)
	fill(b, s, n)
	sn := snapshot(b, s)
	b.ResetTimer()
	for i := range b.N {
		get(b, sn, i%n)
	}
}

func BenchmarkNoStore(b *testing.B) {
	s := newStore(b)
	for range b.N {
		s.Snapshot()
	}
}

func BenchmarkSpool(b *testing.B) {
	s := newStore(b)
	kernels := make([]Kernel, 10)
	for i := range b.N {
		ok(b, s.Spool(Assemblies, hashKey(i), Assembly{Target: "sm_90", Kernels: kernels}))
	}
}

func BenchmarkSpoolDecision(b *testing.B) { // synced
	s := newStore(b)
	for i := range b.N {
		ok(b, s.Spool(Decisions, hashKey(i), decision(i)))
	}
}

func BenchmarkPutObject(b *testing.B) {
	s := newStore(b)
	content := []byte(strings.Repeat("0123456789abcdef", 1<<12)) // 64 KiB, as PTX of a small file
	b.SetBytes(int64(len(content)))
	for i := range b.N {
		_, err := s.PutObject(append(content[:len(content):len(content)], fmt.Sprint(i)...))
		ok(b, err)
	}
}

func BenchmarkPack(b *testing.B) {
	text := source(100_000)
	b.SetBytes(int64(len(text)))
	for range b.N {
		packed := pack(text)
		b.ReportMetric(float64(len(packed))/float64(len(text)), "ratio")
	}
}

func BenchmarkPutObjectAgain(b *testing.B) {
	s := newStore(b)
	content := []byte(strings.Repeat("0123456789abcdef", 1<<12))
	b.SetBytes(int64(len(content)))
	for range b.N {
		_, err := s.PutObject(content)
		ok(b, err)
	}
}

func BenchmarkMemo(b *testing.B) {
	s := newStore(b)
	ok(b, s.PutMemo("kind", "key", []byte(strings.Repeat("x", 300))))
	for range b.N {
		if _, hit := s.Memo("kind", "key"); !hit {
			b.Fatal("no memo")
		}
	}
}

func BenchmarkMerge(b *testing.B) { // ns per merged file
	s := newStore(b)
	for i := range b.N {
		ok(b, s.Spool(Assemblies, hashKey(i), Assembly{Target: "sm_90"}))
	}
	o := own(b, s)
	b.ResetTimer()
	n, err := o.Merge()
	if n != b.N || err != nil {
		b.Fatal(n, err)
	}
}

func BenchmarkPublish(b *testing.B) {
	s := newStore(b)
	fill(b, s, 10000)
	o := own(b, s)
	for i := range b.N {
		ok(b, o.Put(Decisions, hashKey(i%10000), i))
		ok(b, o.Publish())
	}
}

// 64 processes look records up while an owner publishes. Each is a build: it opens the snapshot,
// reads one record, closes, and then works (here: sleeps) for a few milliseconds. Gives p50 and p99
// over all lookups of all processes, ns. Two figures are kept apart: "lookup" is measured inside
// the process and contains what the scheduler does to it when there are fewer cores than runnable
// processes.
func BenchmarkProcesses(b *testing.B) {
	for _, busy := range []bool{false, true} {
		name := "publishing=no"
		if busy {
			name = "publishing=yes"
		}
		b.Run(name, func(b *testing.B) { processes(b, 64, busy) })
	}
}

const lookups = 50 // a process

func init() {
	roles["lookup"] = func(dir string) error {
		s, err := Open(dir)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(os.Getenv("GNVCC_CACHE_TEST_RECORDS"))
		if err != nil {
			return err
		}
		var line [1]byte
		os.Stdin.Read(line[:]) // the starting shot: the end of the input
		times := make([]string, lookups)
		for i := range times {
			time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
			start := time.Now()
			sn, err := s.Snapshot()
			if err != nil {
				return err
			}
			hit, err := sn.Get(Decisions, hashKey(rand.IntN(n)), nil)
			sn.Close()
			times[i] = strconv.FormatInt(time.Since(start).Nanoseconds(), 10)
			if err != nil || !hit {
				return fmt.Errorf("hit %v: %v", hit, err)
			}
		}
		fmt.Println(strings.Join(times, " "))
		return nil
	}
}

func processes(b *testing.B, count int, busy bool) {
	const records = 5000
	s := newStore(b)
	fill(b, s, records)
	self, err := os.Executable()
	ok(b, err)
	var all []int64
	published := 0
	for range b.N {
		gun, shot, err := os.Pipe()
		ok(b, err)
		outputs := make([][]byte, count)
		errs := make([]error, count)
		var wait sync.WaitGroup
		for p := range count {
			cmd := exec.Command(self, s.dir)
			cmd.Env = append(os.Environ(), roleEnv+"=lookup", fmt.Sprint("GNVCC_CACHE_TEST_RECORDS=",
				records))
			cmd.Stdin = gun
			cmd.Stderr = os.Stderr
			wait.Go(func() { outputs[p], errs[p] = cmd.Output() })
		}
		time.Sleep(500 * time.Millisecond) // all are up
		gun.Close()
		shot.Close()
		stop := make(chan struct{})
		var publisher sync.WaitGroup
		if busy {
			publisher.Go(func() {
				o, err := s.Own(context.Background())
				if err != nil {
					b.Error(err)
					return
				}
				defer o.Close()
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					case <-time.After(20 * time.Millisecond):
					}
					if err := o.Put(Decisions, hashKey(i%records), decision(i%records)); err != nil {
						b.Error(err)
					}
					if err := o.Publish(); err != nil {
						b.Error(err)
					}
					published++
				}
			})
		}
		wait.Wait()
		close(stop)
		publisher.Wait()
		for p := range count {
			ok(b, errs[p])
			for _, text := range strings.Fields(string(outputs[p])) {
				ns, err := strconv.ParseInt(text, 10, 64)
				ok(b, err)
				all = append(all, ns)
			}
		}
	}
	if len(all) != count*lookups*b.N {
		b.Fatalf("%d lookups", len(all))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2]), "p50-ns")
	b.ReportMetric(float64(all[len(all)*99/100]), "p99-ns")
	b.ReportMetric(float64(all[len(all)-1]), "max-ns")
	b.ReportMetric(float64(published), "publications")
}
