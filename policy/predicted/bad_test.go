package predicted

import (
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/install/kits"
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/cubin"
)

// files is a compiler that has its results ready: "" is nvcc's own build, any other recipe the
// build under a cap.
type files struct {
	dir       string
	own, caps []byte
}

func (f files) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error) {
	content := f.caps
	if r.IsDefault() {
		content = f.own
	}
	path := filepath.Join(f.dir, "x.cubin")
	return &policy.Candidate{Path: path, Build: cache.Build{Registers: 32}},
		os.WriteFile(path, content, 0o600)
}

// TestBadInput: where something is wrong with what is looked at there is a clear line, and no
// prediction.
func TestBadInput(t *testing.T) {
	kit := kits.Need(t, "13.0")
	dir := t.TempDir()
	source := filepath.Join(dir, "k.cu")
	if err := os.WriteFile(source,
		[]byte(
			"extern \"C\" __global__ void k(float *p) { for (int i = 0; i < 99; i++) p[threadIdx.x + i] *= 2; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	built := func(arch string) []byte {
		out := filepath.Join(dir, arch+".cubin")
		if text, err := exec.Command(kit.Nvcc(), "-arch="+arch, "-cubin", kits.ShortFlag(), "-o", out,
			source).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good := built("sm_90")
	strange := append([]byte(nil), good...)
	// 0x1ff is no operation: in a part of the kernel's instructions
	for i := 0; i+16 <= len(strange); i += 16 {
		if word := binary.LittleEndian.Uint64(strange[i:]); i%64 == 0 &&
			binary.LittleEndian.Uint64(strange[i+8:])>>61 == 0 && word&0xe00 == 0x200 {
			binary.LittleEndian.PutUint64(strange[i:], word&^0xfff|0x1ff)
		}
	}
	k := policy.Kernel{Name: "k", Short: "k", Target: "sm_90", CC: 90}
	look := func(k policy.Kernel, own, caps []byte) (*Kernel, error) {
		return Look(context.Background(), files{t.TempDir(), own, caps}, &k, nil, 0)
	}
	seen, err := look(k, good, good)
	if err != nil || len(seen.Failed) > 0 {
		t.Fatalf("a sound file: %v, %+v", err, seen)
	}
	if len(seen.Levels) == 0 || !slices.ContainsFunc(seen.Limits, func(l Limit) bool {
		return l.Binds && l.Blocks == seen.Default.Occupancy.Blocks
	}) {
		t.Errorf("%+v", seen)
	}
	unknown, old, other := k, k, k
	unknown.CC, unknown.Target = 999, "sm_999"
	old.CC, old.Target = 52, "sm_52"
	other.Name = "another"
	for name, c := range map[string]struct {
		k    policy.Kernel
		own  []byte
		want string
	}{
		"unknown architecture":   {unknown, good, "sm_999 is not in the table of architectures"},
		"an architecture of old": {old, good, "sm_52"},
		"unknown operations":     {k, strange, "unknown"},
		"no such kernel":         {other, good, "no kernel another"},
		"nothing":                {k, nil, ""},
		"no cubin":               {k, []byte("hello"), ""},
		"half a cubin":           {k, good[:len(good)/2], ""},
		"without its section's table": {k, append(append([]byte(nil), good[:0x28]...),
			make([]byte, len(good)-0x28)...), ""},
	} {
		seen, err := look(c.k, c.own, good)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v", name, seen, err)
		}
		// A cap's build that is no good is left out, with the reason.
		if c.k.Name == k.Name && c.k.CC == k.CC {
			seen, err := look(k, good, c.own)
			if err != nil || len(seen.Ranked) > 0 || len(seen.Failed) == 0 {
				t.Errorf("%s, under a cap: %+v, %v", name, seen, err)
			}
			if _, ok := seen.Best(); ok {
				t.Errorf("%s, under a cap: it is the best", name)
			}
		}
	}
	// Cut anywhere: no panic, and a prediction only where the kernel is whole.
	for n := 0; n < len(good); n += 97 {
		if _, err := look(k, good[:n], good); err == nil {
			if _, bad := cubin.Read(good[:n]); bad != nil {
				t.Errorf("a prediction from %d of %d bytes", n, len(good))
			}
		}
	}
}
