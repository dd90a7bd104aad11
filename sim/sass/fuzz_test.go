package sass

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gnvcc/sim/cubin"
)

// FuzzRead gives the decoder cubins that were damaged. Nothing may panic, and targets and blocks
// must stay within their bounds.
func FuzzRead(f *testing.F) {
	old, _ := filepath.Glob("../cubin/testdata/old/*.bin")
	for _, file := range old {
		if b, err := os.ReadFile(file); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { check(t, b) })
}

func check(t *testing.T, b []byte) {
	functions, err := Read(b)
	if err != nil {
		return
	}
	for _, f := range functions {
		flow := f.Flow()
		n := 0
		for k, block := range flow.Blocks {
			if block.Start != n || block.End <= block.Start {
				t.Fatalf("block %d is %+v, the last one ended at %d", k, block, n)
			}
			n = block.End
			for _, to := range block.Next {
				if to < 0 || to >= len(flow.Blocks) {
					t.Fatalf("block %d goes on to %d of %d", k, to, len(flow.Blocks))
				}
			}
		}
		if n != len(f.Insts) {
			t.Fatalf("blocks end at %d of %d", n, len(f.Insts))
		}
		_ = sameFloats(b, f.Name, b, f.Name)
	}
}

// TestHostile damages real machine code: words by chance, files cut short.
func TestHostile(t *testing.T) {
	b, err := os.ReadFile("../cubin/testdata/old/ptxas-12.9.sm_90.bin")
	if err != nil {
		t.Fatal(err)
	}
	if functions, err := Read(b); err != nil || len(functions) != 1 || functions[0].Unknown != 0 {
		t.Fatalf("%v, %v", functions, err)
	}
	for n := 0; n < len(b); n += 7 {
		check(t, b[:n])
	}
	for seed := uint64(1); seed < 400; seed++ {
		c := append([]byte(nil), b...)
		x := seed * 0x9e3779b97f4a7c15
		for range 40 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			c[x%uint64(len(c))] = byte(x >> 40)
		}
		check(t, c)
	}
}

// TestNested has loops in one another by the thousand: the time must stay bounded.
func TestNested(t *testing.T) {
	const n = 20_000
	var code []byte
	for k := range n {
		lo, hi := uint64(0x7223), uint64(0)
		if k >= n/2 { // jumps back, each one round the loop before
			by := uint64((n-1-k)-k-1) * 4
			lo, hi = 0x947|by&0xff<<16|by>>8<<34, by>>8>>30&(1<<18-1)|7<<23
		}
		code = binary.LittleEndian.AppendUint64(code, lo)
		code = binary.LittleEndian.AppendUint64(code, hi)
	}
	start := time.Now()
	f := Decode(cubin.Code{Name: "k", Kernel: true, Data: code}, 90)
	if f.Flow(); time.Since(start) > 10*time.Second {
		t.Error(time.Since(start))
	}
}

func TestRefusals(t *testing.T) {
	b, err := os.ReadFile("../cubin/testdata/old/ptxas-11.8.sm_52.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(b); err == nil {
		t.Error("machine code of sm_52 is read")
	}
	f := &Function{Name: "k", CC: 90, Insts: make([]Inst, 100), Unknown: 3}
	if f.Known() == nil {
		t.Error("3 % of unknown instructions pass")
	}
	if f.Unknown = 2; f.Known() != nil {
		t.Error("2 % of unknown instructions don't pass")
	}
}
