package driver

import (
	"strings"
	"testing"
)

// Command lines, option files and dry runs are foreign bytes: reading them must not end a build.

func FuzzReadLine(f *testing.F) {
	for _, line := range alike {
		f.Add(line, "")
	}
	f.Add("-optf . -c k.cu", "-v \"a b")
	f.Add("- -- -= --= -x", `\`)
	f.Fuzz(func(t *testing.T, line, before string) {
		l := ReadLine(strings.Split(line, " "), func(name string) string {
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

// FuzzReadCalls reads what nvcc's steps are called with. What is understood must come back the same with other names.
func FuzzReadCalls(f *testing.F) {
	f.Add("-arch=sm_90 -m64 in.ptx -o out.cubin")
	f.Add("--c++17 --orig_src_path_name k.ii -arch compute_90 --gen_c_file_name c --module_id_file_name m in.cpp1.ii -o out.ptx")
	f.Add("-m64 --arch=sm_90 --register-link-binaries=r a.o libb.a -lcudadevrt -o out.cubin")
	f.Add("-o= -O -m --output-file= -arch=sm_ x")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		if c, err := readPtxas(args); err == nil {
			again, err := readPtxas(c.words("in", "out"))
			if err != nil || again.input() != "in" || again.output() != "out" || strings.Join(again.flags, " ") != strings.Join(c.flags, " ") {
				t.Errorf("ptxas %q: %+v, %v", args, again, err)
			}
		}
		if c, err := readCicc(args); err == nil {
			c.template()
			if moved, in, out := c.elsewhere("/d"); !strings.HasPrefix(in, "/d/") || !strings.HasPrefix(out, "/d/") || len(moved) > len(args) {
				t.Errorf("cicc %q: %q", args, moved)
			}
		}
		if c, err := readNvlink(args); err == nil && len(c.template()) != len(args) {
			t.Errorf("nvlink %q: %q", args, c.template())
		}
	})
}
