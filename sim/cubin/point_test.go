package cubin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

const pointed = "\n.global .align 1 .u8 table[100] = {1};\n" +
	".global .align 1 .u8 other[100] = {0xff(table), 0xff(table)};\n"

// byPtxas is a table of kernels as ptxas makes one.
const byPtxas = "\n.global .align 8 .u64 table[2] = {second, sums};\n"

// TestPoint: the table has the relocations that ptxas gives a table of kernels, and all code, and
// all else that a launch depends on, is what it is without a table.
func TestPoint(t *testing.T) {
	for _, kit := range kits.All(t) {
		for _, target := range []string{"sm_75", "sm_80", "sm_90"} {
			t.Run(kit.Version+target, func(t *testing.T) {
				dir := t.TempDir()
				text := filepath.Join(dir, "k.ptx")
				command(t, kit.Nvcc(), "-w", "-arch="+target, "-ptx", "testdata/point.cu", "-o", text)
				plain, err := os.ReadFile(text)
				if err != nil {
					t.Fatal(err)
				}
				assemble := func(more string) []byte {
					in, out := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "out.cubin")
					if err := os.WriteFile(in, append(bytes.Clone(plain), more...), 0o600); err != nil {
						t.Fatal(err)
					}
					command(t, kit.Ptxas(), "-arch="+target, in, "-o", out)
					b, err := os.ReadFile(out)
					if err != nil {
						t.Fatal(err)
					}
					return b
				}
				same(t, assemble(""), assemble(pointed), assemble(byPtxas))
			})
		}
	}
}

// same compares a cubin without a table, one with an empty one, which is pointed, and what ptxas
// makes of a table of kernels.
func same(t *testing.T, without, empty, own []byte) {
	t.Helper()
	out, err := Point(empty, "table", "other", []string{"second", "sums"})
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for i := range out {
		if out[i] != empty[i] {
			differ++
		}
	}
	if len(out) != len(empty) || differ == 0 || differ > 32 {
		t.Errorf("%d bytes of %d (%d) differ", differ, len(out), len(empty))
	}
	if now, want := values(t, out), values(t, own); fmt.Sprint(now) != fmt.Sprint(want) ||
		len(now) != 2 {
		t.Errorf("the table has %v, and by ptxas %v", now, want)
	}
	if now, want := places(t, out), places(t, without); fmt.Sprint(now) != fmt.Sprint(want) {
		t.Errorf("variables stand at %v, without a table at %v", now, want)
	}
	old, now := contents(t, without), contents(t, out)
	for name, code := range old {
		if strings.HasPrefix(name, ".text.") && !bytes.Equal(code, now[name]) {
			t.Errorf("%s is other code", name)
		}
		if strings.HasPrefix(name, ".nv.constant0") && !bytes.Equal(code, now[name]) {
			t.Errorf("%s is another one", name)
		}
	}
	was, err := Read(without)
	if err != nil {
		t.Fatal(err)
	}
	is, err := Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(was.Kernels) != fmt.Sprint(is.Kernels) {
		t.Errorf("kernels %v, without a table %v", is.Kernels, was.Kernels)
	}
}

// values lists which addresses the first values of a cubin's variables are, with the relocation's
// type. They stand in any order.
func values(t *testing.T, b []byte) map[string]uint32 {
	t.Helper()
	c, err := readContainer(b)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint32{}
	for r := range c.relocations(initialised) {
		if name := c.symbols[r.symbol].name; name != "words" && name != "wide" {
			out[name] = r.kind
		}
	}
	return out
}

// places says where variables stand in their sections.
func places(t *testing.T, b []byte) map[string]uint64 {
	t.Helper()
	c, err := readContainer(b)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint64{}
	for _, s := range c.symbols {
		if s.kind == kindObject && s.name != "table" && s.name != "other" {
			out[s.name] = s.value
		}
	}
	return out
}

func contents(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	c, err := readContainer(b)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, s := range c.sections {
		out[s.name] = s.data
	}
	return out
}

// TestPointRefused: what is not as expected is left alone.
func TestPointRefused(t *testing.T) {
	kit := kits.Need(t, "13.0")
	dir := t.TempDir()
	made := func(target, more string) []byte {
		text := filepath.Join(dir, "k.ptx")
		command(t, kit.Nvcc(), "-w", "-arch="+target, "-ptx", "testdata/point.cu", "-o", text)
		b, err := os.ReadFile(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(text, append(b, more...), 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "k.cubin")
		command(t, kit.Ptxas(), "-arch="+target, text, "-o", out)
		if b, err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
		return b
	}
	table, both := made("sm_90", pointed), []string{"second", "sums"}
	for name, c := range map[string]struct {
		cubin []byte
		from  string
		to    []string
	}{
		"code twice":        {made("sm_100", pointed), "table", both},
		"no table":          {made("sm_90", ""), "table", both},
		"one place too few": {table, "table", []string{"second", "sums", "second"}},
		"one too many":      {table, "table", []string{"second"}},
		"no such kernel":    {table, "table", []string{"second", "third"}},
		"no kernel":         {table, "table", []string{"second", "helper"}},
		"no variable":       {table, "second", both},
		"too small":         {made("sm_90", strings.ReplaceAll(pointed, "100", "23")), "table", both},
		"not the last one": {made("sm_90", strings.Replace(pointed, "1 .u8 table", "4 .u8 table", 1)),
			"table", both},
		"no cubin": {table[:100], "table", both},
	} {
		before := bytes.Clone(c.cubin)
		if out, err := Point(c.cubin, c.from, "other", c.to); err == nil || out != nil {
			t.Errorf("%s: no error", name)
		}
		if !bytes.Equal(before, c.cubin) {
			t.Errorf("%s: changed", name)
		}
	}
	if _, err := Point(table, "table", "other", both); err != nil {
		t.Error(err)
	}
}
