package cache

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkStore is what builds wait for, one of each at a time.
func BenchmarkStore(b *testing.B) {
	const n = 30000
	content := []byte(strings.Repeat("0123456789abcdef", 1<<12)) // 64 KiB, as PTX of a small file
	s := newStore(b)
	fill(b, s, n)
	ok(b, s.PutMemo("kind", "key", content[:300]))
	open := snapshot(b, s)
	for name, work := range map[string]func(i int){
		"open, get, close": func(i int) { // a build's way
			sn, err := s.Snapshot()
			ok(b, err)
			get(b, sn, i%n)
			sn.Close()
		},
		"get":              func(i int) { get(b, open, i%n) },
		"spool":            func(i int) { ok(b, s.Spool(Assemblies, hashKey(i), Assembly{Kernels: make([]Kernel, 10)})) },
		"spool a decision": func(i int) { ok(b, s.Spool(Decisions, hashKey(i), decision(i))) }, // synced
		"put an object": func(i int) {
			_, err := s.PutObject(append(content[:len(content):len(content)], fmt.Sprint(i)...))
			ok(b, err)
		},
		"put it again": func(int) {
			_, err := s.PutObject(content)
			ok(b, err)
		},
		"read a memo": func(int) {
			if _, hit := s.Memo("kind", "key"); !hit {
				b.Fatal("no memo")
			}
		},
		"pack":  func(int) { pack(content) },
		"count": func(int) { s.Count(Event{"ptxas", "seen", ""}) },
	} {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				work(i)
			}
		})
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
