package driver

import (
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

func TestReadManner(t *testing.T) {
	all := strings.NewReplacer("<CICC>", ciccPrefix("cicc")[1], "<CUDAFE>", cudafePrefix[1], "<PTXAS>",
		ptxasPrefix[1], "<NVLINK>", nvlinkPrefix[1], "<HOST>", hostPrefix[1])
	for name, c := range map[string]struct {
		text string
		want manner
	}{
		"13.0":    {"#$ _SPACE_= \n#$ <CICC> \"$CICC_PATH/cicc\" --c++17\n#$ <CUDAFE> cudafe++ --c++17\n#$ <PTXAS> ptxas -arch=sm_90\n#$ fatbinary\n#$ <HOST> gcc -c -x c++ \"/tmp/a.cudafe1.cpp\"\n#$ nvlink <NVLINK> -m64\n", manner{Takes: true, Host: true, Cicc: `"$CICC_PATH/cicc"`}},
		"12.4":    {"#$ <CICC> cicc --c++17\n#$ <CUDAFE> cudafe++ --c++17\n#$ <PTXAS> ptxas -arch=sm_90\n#$ nvlink <NVLINK> -m64\n", manner{Takes: true, Cicc: "cicc"}},
		"mended":  {"#$ <CICC> cicc --c++17\n#$ <CUDAFE> cudafe++ --c++17\n#$ <PTXAS> ptxas -arch=sm_90\n#$ <NVLINK> nvlink -m64\n", manner{Takes: true, Cicc: "cicc"}},
		"file":    {"#$ <CICC> cicc --c++17\n#$ <CUDAFE> cudafe++ --c++17\n#$ <PTXAS> ptxas -arch=sm_90\n#$ nvlink -optf \"/tmp/x.optf\"\n", manner{Takes: true, Cicc: "cicc"}},
		"other":   {"#$ cicc <CICC> --c++17\n#$ <CUDAFE> cudafe++ --c++17\n#$ <PTXAS> ptxas -arch=sm_90\n#$ <NVLINK> nvlink -m64\n", manner{}},
		"none":    {"#$ cicc --c++17\n#$ ptxas -arch=sm_90\n#$ nvlink -m64\n", manner{}},
		"nothing": {"", manner{}},
		"cudafe": {"#$ <CICC> cicc --c++17\n#$ cudafe++ --c++17\n#$ <PTXAS> ptxas -arch=sm_90\n#$ nvlink <NVLINK> -m64\n",
			manner{}},
	} {
		got := readManner(all.Replace(c.text))
		if got.Takes != c.want.Takes || c.want.Takes && got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestManner asks every toolkit that is installed.
func TestManner(t *testing.T) {
	for _, version := range drivertest.Toolkits {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, nil)
			m, err := mannerOf(p.Kit+"/bin/nvcc", p.Store, environment.Read())
			want := `"$CICC_PATH/cicc"`
			if version < "13" {
				want = "cicc"
			}
			if err != nil || !m.Takes || !m.Host || m.Cicc != want {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

// TestWrappers: an nvcc that is a script works with gnvcc in front whatever it does with its words;
// gnvcc's stages run where the script hands them on as they are, else CheckPrefixes says why not.
func TestWrappers(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": "__global__ void k(int *p) { *p = 1; }"})
	real := p.Kit + "/bin/nvcc"
	for text, takes := range map[string]bool{
		`exec NVCC "$@"`: true, `exec NVCC ${1+"$@"}`: true, `NVCC "$@"; exit $?`: true,
		`exec NVCC $@`: false, `exec NVCC $*`: false, `eval NVCC "$@"`: false, `eval "NVCC $*"`: false,
		`sh -c "NVCC $*"`: false, `echo "$@" | xargs NVCC`: false,
		`for a; do l="$l $a"; done; exec NVCC $l`: false,
	} {
		script := drivertest.Program(t, filepath.Join(t.TempDir(), "nvcc"),
			"#!/bin/sh\n"+strings.ReplaceAll(text, "NVCC", real)+"\n")
		if err := CheckPrefixes(script, p.Store, environment.Read()); (err == nil) != takes {
			t.Errorf("%s: %v", text, err)
		}
		p.Env = append(p.Env, "GNVCC_NVCC="+script)
		p.Gnvcc("-arch=sm_90", "-cubin", "k.cu")
	}
}
