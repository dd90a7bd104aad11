package judge

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/profile"
	"gnvcc/profile/profiletest"
	"gnvcc/profile/replay"
	"gnvcc/sim/cubin"
	"gnvcc/sim/emulate"
)

// An emulated session does launches in the emulator, as the agent does them on a GPU: each begins
// with memory as it was, but for variables of the candidate's own.
type emulated struct {
	profiletest.Session
	t      *testing.T
	start  *emulate.Memory // as captured, or varied
	launch emulate.Launch
	code   []Code
	memory []*emulate.Memory // with variables, by candidate
	golden *emulate.Memory
}

func (e *emulated) run(c profile.Candidate) *emulate.Memory {
	e.t.Helper()
	m := e.memory[c]
	program, err := emulate.Load(e.code[c].Cubin, e.code[c].Kernel, m)
	if err != nil {
		e.t.Fatal(err)
	}
	for n, b := range e.start.Buffers() {
		copy(m.Buffers()[n].Bytes, b.Bytes)
	}
	if _, err := program.Run(m, e.launch); err != nil {
		e.t.Fatal(err)
	}
	return m.Clone()
}

func (e *emulated) Golden() (out profile.Written, _ error) {
	e.golden = e.run(profile.Original)
	for n, b := range e.start.Buffers() {
		if !bytes.Equal(b.Bytes, e.golden.Buffers()[n].Bytes) {
			out.Bytes++
		}
	}
	return out, nil
}

func (e *emulated) Load(path, kernel string) (profile.Candidate, profile.Attributes, error) {
	b, err := os.ReadFile(path)
	e.code, e.memory = append(e.code, Code{b, kernel}), append(e.memory, e.start.Clone())
	return profile.Candidate(len(e.code) - 1), profile.Attributes{}, err
}

func (e *emulated) Check(c profile.Candidate) (profile.Difference, error) {
	now := e.run(c)
	for n := range e.start.Buffers() {
		if !bytes.Equal(now.Buffers()[n].Bytes, e.golden.Buffers()[n].Bytes) {
			return profile.Difference{Words: 1, Where: fmt.Sprintf("allocation %d", n+1)}, nil
		}
	}
	return profile.Difference{Same: true}, nil
}

func (e *emulated) Read(c profile.Candidate, variable string, _ int) ([]byte, error) {
	if _, err := emulate.Load(e.code[c].Cubin, e.code[c].Kernel, e.memory[c]); err != nil {
		return nil, err
	}
	for _, b := range e.memory[c].Buffers() {
		if b.Name == variable {
			return bytes.Clone(b.Bytes), nil
		}
	}
	return nil, nil // nothing in its code names it
}

// TestReplayedCheats: edits that leave the right bytes on the captured launch, whose memory already
// holds the results; where ranges that nobody reads are overwritten, as profile/capture has them
// overwritten under variations, each of them shows. Without that those of one launch alone do not:
// so this is seen to be what finds them.
func TestReplayedCheats(t *testing.T) {
	const own = `extern "C" __global__ void k(int *p, const int *q) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (q[i] & 1) p[i] = q[i] * 3;
  else p[i] = 0;
}`
	code := compiled(t, "__device__ int done[1];\n"+own)
	facts, err := code.Facts()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, from, to, how, unvaried string }{
		{"the original", "k(", "k(", Same, Same},
		{"another order", "q[i] * 3", "3 * q[i]", Same, Same},
		{"a store left out", "else p[i] = 0;", "", Different, Same},
		{"all stores left out", "p[i] = q[i] * 3;\n  else p[i] = 0;", "p[i] = p[i];", Different, Same},
		{"a store where another value stands", "p[i] = q[i] * 3;", "{ if (p[i] != 3) p[i] = q[i] * 3; }",
			Same, Same},
		{"a result that is taken where it fits", "p[i] = q[i] * 3;", "p[i] = p[i] ? p[i] : q[i] * 3;",
			Different, Same},
		{"work done once", "if (q[i] & 1)", "if (done[0]) return; if (i == 63) done[0] = 1; if (q[i] & 1)",
			Different, Different},
	} {
		text := strings.Replace(own, c.from, c.to, 1)
		path := filepath.Join(t.TempDir(), "edit.cubin")
		if err := os.WriteFile(path, compiled(t, "__device__ int done[1];\n"+text).Cubin,
			0o600); err != nil {
			t.Fatal(err)
		}
		for _, vary := range []bool{false, true} {
			r := rand.New(rand.NewSource(1))
			m := emulate.NewMemory()
			s := Signature{Facts: facts, Types: []string{"int*", "int*"}}
			params, err := s.Arguments(m, map[string]string{}, r, 0, 512)
			if err != nil {
				t.Fatal(err)
			}
			e := &emulated{t: t, start: m, launch: emulate.Launch{Grid: [3]int{2, 1, 1},
				Block: [3]int{64, 1, 1}, Params: params}, code: []Code{code},
				memory: []*emulate.Memory{m.Clone()}}
			e.start = e.run(profile.Original) // it was launched before
			e.start = trimmed(e.start, len(m.Buffers()))
			on := &Replayed{Path: path, Kernel: "k", Variables: []cubin.Global{{Name: "done", Size: 4}}}
			on.stop(&replay.Stop{Session: e, Launch: &profile.Launch{}})
			want := c.unvaried
			if vary {
				want = c.how
				r.Read(e.start.Buffers()[0].Bytes)
				on.stop(&replay.Stop{Session: e, Launch: &profile.Launch{}, Variation: 1})
			}
			if on.How != want || on.Equal != (want == Same) || on.Changes != (vary && c.unvaried == Same) {
				t.Errorf("%s, varied: %v: %+v, want %s; it changes bytes: %v", c.name, vary, on.Verdict, want,
					on.Changes)
			}
		}
	}
}

// trimmed is memory without variables.
func trimmed(m *emulate.Memory, buffers int) *emulate.Memory {
	out := emulate.NewMemory()
	for _, b := range m.Buffers()[:buffers] {
		out.Place(b.Name, b.Address, b.Bytes)
	}
	return out
}
