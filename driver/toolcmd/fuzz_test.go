package toolcmd

import (
	"strings"
	"testing"
)

// Command lines and option files are untrusted bytes: reading them must not end a build.

func FuzzReadLine(f *testing.F) {
	f.Add("nvcc -arch=sm_80 -rdc=true -c k.cu host.cpp -o out/k.o -MD -MF out/k.d", "")
	f.Add("nvcc -gencode arch=compute_90,code=[sm_90,compute_90] --keep --keep-dir out -dlink k.o", "")
	f.Add("-optf . -c k.cu", "-v \"a b")
	f.Add("- -- -= --= -x", `\`)
	f.Fuzz(func(t *testing.T, line, before string) {
		l := ReadLine(strings.Split(line, " "), "", func(name string) string {
			if name == "NVCC_PREPEND_FLAGS" {
				return before
			}
			return ""
		})
		if l.Target("/d") == "" || l.Phase == "" {
			t.Errorf("%+v", l)
		}
	})
}

// FuzzReadCalls reads what nvcc's steps are called with. What is understood must come back the same
// with other names.
func FuzzReadCalls(f *testing.F) {
	f.Add("-arch=sm_90 -m64 in.ptx -o out.cubin")
	f.Add(
		"--c++17 --orig_src_path_name k.ii -arch compute_90 --gen_c_file_name c --module_id_file_name m in.cpp1.ii -o out.ptx")
	f.Add("-m64 --arch=sm_90 --register-link-binaries=r a.o libb.a -lcudadevrt -o out.cubin")
	f.Add("-o= -O -m --output-file= -arch=sm_ x")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		if c, err := ReadPtxas(args); err == nil {
			again, err := ReadPtxas(c.With("in", "out"))
			if err != nil || again.Input() != "in" || again.Output() != "out" ||
				strings.Join(again.Flags, " ") != strings.Join(c.Flags, " ") {
				t.Errorf("ptxas %q: %+v, %v", args, again, err)
			}
		}
		if c, err := ReadCicc(args); err == nil {
			c.Template()
			if moved, in, out := c.Slice("/d"); !strings.HasPrefix(in, "/d/") ||
				!strings.HasPrefix(out, "/d/") || len(moved) > len(args) {
				t.Errorf("cicc %q: %q", args, moved)
			}
		}
		if c, err := ReadNvlink(args); err == nil && len(c.Template()) != len(args) {
			t.Errorf("nvlink %q: %q", args, c.Template())
		}
	})
}
