package ptx_test

import (
	"os"
	"testing"

	"gnvcc/rewrite/ptx"
)

// The benchmarks read testdata/bench.ptx: nvcc 13.0's output for numbers.cu and shared.cu, sm_90. A
// file of a few hundred KB, as real ones are, is that text over and over with other kernel names.

func benchText(b *testing.B) []byte {
	text, err := os.ReadFile("testdata/bench.ptx")
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func BenchmarkParse(b *testing.B) {
	text := benchText(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ptx.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIdentity(b *testing.B) {
	text := benchText(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := ptx.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range m.Entries() {
			if _, err := m.Identity(f.Name); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkBlocks(b *testing.B) {
	text := benchText(b)
	m, err := ptx.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for _, f := range m.Funcs {
			if _, err := f.Blocks(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
