package stage

import "testing"

func TestReadsOnly(t *testing.T) {
	const input, text = "/tmp/tmpxft_0000abcd_00000000-6_a.cudafe1.cpp",
		"# 1 \"a b.h\"\n# 2 \"/usr/include/x.h\"\n"
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
