package ir_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/ptx/ptxtest"
)

// What must be found in the kernels of ../testdata/locks.cu: for each spin loop the swap, its type
// and what is special. cicc 13 turns a loop that looks first into nested ones, others peel it; what
// counts is the same.
var locks = map[string][]string{
	"while_cas":       {"cas.b32 lock"},
	"done_flag":       {"cas.b32 lock"},
	"break_out":       {"cas.b32 lock"},
	"exchange":        {"exch.b32 locks"},
	"owner":           {"cas.b64 lock"},
	"two_locks":       {"cas.b32 locks", "cas.b32 locks"},
	"looks_first":     {"cas.b32 lock tests"},
	"sleeps":          {"cas.b32 lock sleeps"},
	"generic_acquire": {"cas.b32 lock generic acquire"},
}

// TestSpins looks for spin loops in what every nvcc makes of them, each for one kind of target,
// with GNVCC_TESTS=all for every kind it knows.
func TestSpins(t *testing.T) {
	targets := []string{"sm_60", "sm_75", "sm_90", "sm_100"}
	for n, kit := range ptxtest.Toolkits(t) {
		archs := slices.DeleteFunc(kit.Archs(t), func(arch string) bool {
			return !slices.Contains(targets, arch)
		})
		for k, arch := range archs {
			if !kits.Every() && k != n%len(archs) {
				continue
			}
			t.Run(kit.Version+"/"+arch, func(t *testing.T) {
				t.Parallel()
				m, err := ptx.Parse(kit.PTX(t, "../testdata/locks.cu", "-arch="+arch))
				if err != nil {
					t.Fatal(err)
				}
				seen := 0
				for _, f := range m.Entries() {
					w, err := ir.Of(f)
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for _, s := range w.Spins() {
						got = append(got, describe(s))
					}
					if !slices.Equal(got, locks[f.Name]) {
						t.Errorf("%s has %q, should have %q", f.Name, got, locks[f.Name])
					}
					seen++
				}
				want := 15
				if arch == "sm_60" {
					want = 13
				}
				if seen != want {
					t.Errorf("%d kernels, should be %d", seen, want)
				}
			})
		}
	}
}

func describe(s ir.Spin) string {
	root := strings.TrimRight(s.Root, "0123456789")
	for _, name := range []string{"locks", "lock"} {
		if strings.HasSuffix(root, fmt.Sprintf("%d%s", len(name), name)) {
			root = name
		}
	}
	text := s.Swap + "." + s.Type + " " + root
	for _, w := range []struct {
		is   bool
		word string
	}{{s.Generic, " generic"}, {s.Order != "", " " + s.Order}, {s.Tests, " tests"},
		{s.Sleeps, " sleeps"}} {
		if w.is {
			text += w.word
		}
	}
	return text
}
