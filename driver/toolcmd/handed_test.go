package toolcmd

import (
	"os"
	"strings"
	"testing"
)

// TestHanded: words for the tools behind nvcc, as build systems and distributions give them and as
// people do who want files from them. Those above the line are run again, the others are not. The
// first word of a line is nvcc's option, "forward" one that hands on what is unknown.
func TestHanded(t *testing.T) {
	harmless, writes, _ := strings.Cut(`
-Xcompiler -fPIC
-Xcompiler '-fPIC'
-Xcompiler ,"-fPIC","-O3","-DNDEBUG"
-Xcompiler=-fPIE
-Xcompiler -DX='a\,b',-I/opt/a\ b
-Xcompiler -g,-O0,-Wall,-Wextra,-Wno-unused-parameter,-pedantic,-Wabi=11,-Waddress,-Wlogical-op
-Xcompiler -fvisibility-inlines-hidden -fmessage-length=0 -march=nocona -mtune=haswell -ftree-vectorize -fstack-protector-strong -fno-plt -O2 -ffunction-sections -pipe -isystem /opt/conda/include -fdebug-prefix-map=/a=/b
-Xcompiler -fexceptions,-Wformat,-Werror=format-security,-Wp\,-D_FORTIFY_SOURCE=3,-Wp\,-D_GLIBCXX_ASSERTIONS,-fstack-clash-protection,-fcf-protection
-Xcompiler -fopenmp,-fno-strict-aliasing,-fno-omit-frame-pointer,-pthread,-std=gnu++17,-ffast-math,-funroll-loops
-Xcompiler -Wa\,--noexecstack,-Wa\,-mbranches-within-32B-boundaries
-Xcompiler -ffile-prefix-map=/src=.,-fmacro-prefix-map=/src=.,-gdwarf-4,-fsanitize=address
-Xcompiler -include,cmake_pch.hxx
-Xcompiler ,"-fsigned-char","-W","-Wall","-Wnon-virtual-dtor","-fdiagnostics-show-option","-Wno-long-long","-pthread","-msse3"
--compiler-options '-fPIC'
-Xcompiler -faligned-new,-fno-math-errno,-fno-trapping-math,-fdiagnostics-color=always,-rdynamic
-Xlinker -rpath,/opt/lib
-Xlinker=-rpath,'$ORIGIN',--enable-new-dtags
-Xlinker --as-needed,-z,relro,-z,now,--gc-sections,--sort-common,-O2
-Xcompiler -Wl\,-soname\,libx.so,-Wl\,--no-undefined,-Wl\,-rpath\,/a:/b,-shared,-L/opt/lib,-lm
-Xlinker --start-group,liba.a,libb.a,--end-group,--whole-archive,--version-script=x.map
-Xarchive rcs
-Xcudafe --diag_suppress=177
-Xcudafe --display_error_number,--diag_suppress=20012
-Xptxas -v
-Xptxas -O3,--warn-on-spills,-dlcm=ca
-Xptxas=--allow-expensive-optimizations=true
-Xfatbin -compress-all
-Xnvlink -v,--suppress-stack-size-warning,--maxrregcount=64
forward -fno-math-errno
forward -Wall
forward -use_fast_math
forward --expt-relaxed-constexpr
forward -lineinfo
----
-Xcompiler -flto
-Xcompiler -O2,-flto=auto
-Xcompiler -Wa\,-ahl=list.txt
-Xcompiler '-Wa,-adhln=x'
-Xcompiler -Wa\,--MD\,x.d
-Xcompiler -Xassembler,-al=x
-Xcompiler -Xlinker,-Map=x
-Xcompiler -fopt-info-vec-all=m.txt
-Xcompiler -fopt-info
-Xcompiler -fPIC,-fdump-tree-all
-Xcompiler -fdump-passes=x
-Xcompiler -save-temps=obj
-Xcompiler -MMD,-MF,x.d
-Xcompiler -Wp\,-MD\,x.d
-Xcompiler -Wp,-MMD,x.d
-Xcompiler --coverage
-Xcompiler -ftest-coverage,-fprofile-arcs
-Xcompiler -fprofile-generate=x
-Xcompiler -fprofile-dir=x
-Xcompiler -fauto-profile=x
-Xcompiler -fcallgraph-info
-Xcompiler -fstack-usage
-Xcompiler -fdiagnostics-format=sarif-file
-Xcompiler -fdiagnostics-add-output=sarif:file=x
-Xcompiler -aux-info,x
-Xcompiler -fdump-ada-spec
-Xcompiler -ftime-trace
-Xcompiler -ftime-report
-Xcompiler -fsave-optimization-record
-Xcompiler -foptimization-record-file=x
-Xcompiler -fmodules-ts
-Xcompiler -fmodule-mapper=x
-Xcompiler -MJ,x.json
-Xcompiler -gsplit-dwarf
-Xcompiler -g,-gz
-Xcompiler -o,x
-Xcompiler -dumpdir,x
-Xcompiler -fplugin=x.so,-fplugin-arg-x-output=y
-Xcompiler -mllvm,-debug-info-file=x
-Xcompiler -specs=x
-Xcompiler -wrapper,x
-Xcompiler @words
-Xcompiler "-fPIC; touch x"
-Xcompiler -fgo-dump-ast
-Xcompiler -fcompare-debug
-Xcompiler -frepo
-Xcompiler -p;x
-Xlinker -Map=x
-Xlinker -Map,x
-Xlinker --dependency-file=x
-Xlinker --print-map
-Xlinker --cref,-o,x
-Xlinker --out-implib=x
-Xlinker --time-trace=x
-Xlinker --reproduce=x
-Xlinker -plugin-opt=save-temps
-Xcompiler -Wl\,-Map=x
-Xarchive --record-libdeps=x
-Xcudafe --list=x
-Xcudafe --error_output=x
-Xptxas -o,x
-Xptxas --fdevice-time-trace=x
-Xnvlink --dot-file=x
-Xnvlink -o,x
-Xfatbin --create=x
-Xcicc --dump
forward -fopt-info=x
forward -Wl,-Map=x
forward -ftime-trace
`, "----\n")
	for want, lines := range map[bool]string{true: harmless, false: writes} {
		for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
			option, value, _ := strings.Cut(line, " ")
			args := []string{option, value}
			switch {
			case option == "forward":
				args = []string{"-forward-unknown-opts", value}
			case value == "":
				args = args[:1]
			}
			l := ReadLine(append(args, "-c", "k.cu", "-o", "k.o"), "/src", os.Getenv)
			if _, err := l.Redirect(append(args, "-c", "k.cu", "-o", "k.o"), "/out", "/side"); (err == nil) != want {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}
