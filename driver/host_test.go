package driver

import (
	"strings"
	"testing"
)

func TestReadHost(t *testing.T) {
	good := strings.Fields("-D__CUDA_ARCH__=800 -c -x c++ -O3 -Wno-psabi -I/x -isystem /y -m64 -fPIC /tmp/tmpxft_0000abcd_00000000-6_a.cudafe1.cpp -o a.o")
	c, err := readHost(good)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.preprocess, " "); got != "-D__CUDA_ARCH__=800 -E -x c++ -O3 -Wno-psabi -I/x -isystem /y -m64 -fPIC /tmp/tmpxft_0000abcd_00000000-6_a.cudafe1.cpp" {
		t.Errorf("preprocess with %s", got)
	}
	if good[c.out] != "a.o" || !strings.HasSuffix(good[c.in], ".cudafe1.cpp") {
		t.Errorf("%+v", c)
	}
	for _, more := range []string{
		"-Wa,-ahls=x", "-Wp,-MD,x", "-Wl,-x", "-MD", "-MF", "-include", "-imacros", "-specs=x", "-B/x", "-save-temps", "-g", "-g3", "-flto", "-fprofile-use", "-fplugin=x", "--coverage",
		"-fstack-usage", "-ftest-coverage", "-fdump-tree-all", "-fauto-profile=x", "@x", "b.cpp", "-E", "-S", "-o", "-x", "-fmodules-ts", "-frandom-seed=1", "-ffile-prefix-map=a=b",
	} {
		if _, err := readHost(append(append([]string(nil), good...), more)); err == nil {
			t.Errorf("%s read", more)
		}
	}
	for _, less := range []string{"-c", "-o", "c++", good[c.in]} {
		var args []string
		for _, word := range good {
			if word != less {
				args = append(args, word)
			}
		}
		if _, err := readHost(args); err == nil {
			t.Errorf("read without %s", less)
		}
	}
}

func TestReadsOnly(t *testing.T) {
	const input, text = "/tmp/tmpxft_0000abcd_00000000-6_a.cudafe1.cpp", "# 1 \"a b.h\"\n# 2 \"/usr/include/x.h\"\n"
	for rule, want := range map[string]bool{
		"a.o: /tmp/ccAb12zZ.s\n": true,
		"a.o: {standard input}":  true,
		"a.o: tmpxft_0000abcd_00000000-6_a.cudafe1.cpp /tmp/ccAb12zZ.s \\\n a\\ b.h \\\n /usr/include/x.h\n": true,
		"a.o: /tmp/ccAb12zZ.s data.bin\n":    false,
		"a.o: /tmp/ccAb12zZ.s /usr/include/": false,
		"":                                   false,
	} {
		if got := readsOnly(rule, input, text); got != want {
			t.Errorf("%q: %v", rule, got)
		}
	}
	for _, word := range []string{".incbin", ".include"} {
		if readsOnly("a.o: /tmp/ccAb12zZ.s\n", input, text+"asm(\""+word+" \\\"x.h\\\"\");") {
			t.Errorf("%s passed", word)
		}
	}
}

func TestCodeFirst(t *testing.T) {
	const begin = "# 0 \"a.cpp\"\n# 1 \"/usr/include/stdc-predef.h\" 1 3 4\n# 0 \"<command-line>\" 2\n#pragma GCC diagnostic push\n\n"
	for text, want := range map[string]bool{
		begin + "static int a;\n# 1 \"x.h\" 1\n":     true,
		begin + "# 1 \"x.h\" 1\nstatic int a;\n":     false,
		begin + "# 1 \"x.h\" 1 3 4\nstatic int a;\n": false,
		begin: false,
	} {
		if codeFirst(text) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
}
