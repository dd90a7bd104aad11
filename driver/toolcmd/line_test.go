package toolcmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gnvcc/install/kits"
)

// toolkits are the versions that tests run on where they are installed.
var toolkits = []string{"11.8", "12.4", "13.0", "13.3", "13.5"}

func TestReadLine(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	verbose := file("verbose.opt", "-O2\n -v\n")
	nested := file("nested.opt", `-DX="a b" --options-file `+verbose)
	loop := filepath.Join(dir, "loop.opt")
	file("loop.opt", "-optf "+loop)
	// Somebody has written into this pipe: what we take out of it nvcc would not get.
	pipe := filepath.Join(dir, "pipe.opt")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if _, err := end.WriteString("-O2"); err != nil {
		t.Fatal(err)
	}
	prefixed := file("prefixed.opt", "--ptxas-prefix=time")
	for _, c := range []struct {
		args  string
		env   string // NVCC_PREPEND_FLAGS
		want  string // of query shows prefix steps stdin options
		in    string
		out   string
		phase string
	}{
		{args: "-c k.cu -o k.o", want: "steps", in: "k.cu", out: "k.o", phase: "compile"},
		{args: "-Xptxas -v -c k.cu", want: "steps", in: "k.cu", phase: "compile"},
		{args: "-Xptxas=-v,-O2 -Xcompiler -E k.cu", want: "steps", in: "k.cu", phase: "link"},
		{args: "-v -c k.cu", want: "shows steps", in: "k.cu", phase: "compile"},
		{args: "--verbose -c k.cu", want: "shows steps", in: "k.cu", phase: "compile"},
		{args: "--version", want: "query", phase: "link"},
		{args: "-V", want: "query", phase: "link"},
		{args: "-E k.cu", want: "query", in: "k.cu", phase: "link"},
		{args: "-M k.cu", want: "query", in: "k.cu", phase: "link"},
		{args: "-MD -MF k.d -MT k.o -c k.cu", want: "steps", in: "k.cu", phase: "compile"},
		{args: "--dryrun k.cu", want: "query", in: "k.cu", phase: "link"},
		{args: "k.cu --cubin-none", want: "steps", in: "k.cu", phase: "link"},
		{args: "-Iinclude -DE -lm -O3 k.cu", want: "steps", in: "k.cu", phase: "link"},
		{args: "-I -v -c k.cu", want: "steps", in: "k.cu", phase: "compile"},
		{args: "-lineinfo -c k.cu", want: "steps", in: "k.cu", phase: "compile"},
		{args: "-c host.cpp", want: "", in: "host.cpp", phase: "compile"},
		{args: "-c host.cpp -x cu", want: "steps", in: "host.cpp", phase: "compile"},
		{args: "host.cpp -o app", want: "steps", in: "host.cpp", out: "app", phase: "link"},
		{args: "-x cu -", want: "steps stdin", in: "-", phase: "link"},
		{args: "--ptxas-prefix time -c k.cu", want: "prefix steps", in: "k.cu", phase: "compile"},
		{args: "-cicc-prefix=time -c k.cu", want: "prefix steps", in: "k.cu", phase: "compile"},
		{args: "--all-prefix time -c k.cu", want: "prefix steps", in: "k.cu", phase: "compile"},
		{args: "-optf " + verbose + " -c k.cu", want: "shows steps", in: "k.cu", phase: "compile"},
		{args: "--options-file=" + nested + " -c k.cu", want: "shows steps", in: "k.cu",
			phase: "compile"},
		{args: "-optf " + verbose + "," + prefixed + " -c k.cu", want: "shows prefix steps", in: "k.cu",
			phase: "compile"},
		{args: "-optf " + loop + " -c k.cu", want: "steps options", in: "k.cu", phase: "compile"},
		{args: "-optf " + dir + "/none -c k.cu", want: "steps options", in: "k.cu", phase: "compile"},
		{args: "-optf " + pipe + " -c k.cu", want: "steps options", in: "k.cu", phase: "compile"},
		{args: "-c k.cu", env: "-v", want: "shows steps", in: "k.cu", phase: "compile"},
		{args: "-c k.cu", env: `--ptxas-prefix="a b"`, want: "prefix steps", in: "k.cu",
			phase: "compile"},
		{args: "", want: "", phase: "link"},
	} {
		l := ReadLine(strings.Fields(c.args), "", func(name string) string {
			if name == "NVCC_PREPEND_FLAGS" {
				return c.env
			}
			return ""
		})
		var got []string
		for _, f := range []struct {
			set  bool
			name string
		}{{l.Query, "query"}, {l.Shows, "shows"}, {l.Prefix, "prefix"}, {l.Steps, "steps"},
			{l.Stdin, "stdin"}, {l.Options != "", "options"}} {
			if f.set {
				got = append(got, f.name)
			}
		}
		if text := strings.Join(got, " "); text != c.want || strings.Join(l.Inputs, " ") != c.in ||
			l.Output != c.out || l.Phase != c.phase {
			t.Errorf("%s (before: %s): %q, %+v", c.args, c.env, text, l)
		}
	}
}

func TestReadPtxas(t *testing.T) {
	for args, want := range map[string]string{
		"-arch=sm_90 -m64 in.ptx -o out.cubin":                     "in.ptx out.cubin sm_90 [machine=64]",
		"-arch=sm_90 in.ptx --output-file=out.cubin":               "in.ptx out.cubin sm_90 []",
		"-o out.cubin in.ptx --gpu-name sm_90a -v -lineinfo -O2":   "in.ptx out.cubin sm_90a [opt-level=2] verbose lineinfo",
		"-arch=sm_90 -c in.ptx -o=out.cubin -maxrregcount 32":      "in.ptx out.cubin sm_90 [compile-only maxrregcount=32] reloc maxreg",
		"-g -arch=sm_90 in.ptx -o out.cubin":                       "in.ptx out.cubin sm_90 [device-debug] debug",
		"-arch=compute_90 in.ptx":                                  "!only checks",
		"-arch=sm_90 a.ptx b.ptx -o out.cubin":                     "!two inputs",
		"-arch=sm_90 in.ptx -o a -o b":                             "!two -o",
		"-arch=sm_90 in.ptx -o out.cubin --new-option":             "!not known",
		"-arch=sm_90 in.ptx -o out.cubin -module=x":                "!not known",
		"-arch=sm_90 in.ptx -o out.cubin -optf file":               `!"-optf"`,
		"-arch=sm_90 in.ptx -o out.cubin --entry k":                "!entry",
		"-arch=sm_90 in.ptx -o out.cubin -v=true":                  "!no value",
		"-arch=sm_90 in.ptx -o":                                    "!no value",
		"--version":                                                "!version",
		"-arch=lto_90 in.ptx -o out.cubin":                         "!target",
		"in.ptx -o out.cubin":                                      "!target",
		"-arch=sm_90 -arch=sm_80 in.ptx -o out.cubin":              "!two targets",
		"--fmad false --opt-level 3 -arch sm_90 in.ptx -o o.cubin": "in.ptx o.cubin sm_90 [fmad=false opt-level=3]",
	} {
		c, err := ReadPtxas(strings.Fields(args))
		if reason, ok := strings.CutPrefix(want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v", args, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		got := c.Input() + " " + c.Output() + " " + c.Target + " [" + strings.Join(c.Flags, " ") + "]"
		for _, f := range []struct {
			set  bool
			name string
		}{{c.Verbose, "verbose"}, {c.Debug, "debug"}, {c.Reloc, "reloc"}, {c.Lineinfo, "lineinfo"},
			{c.MaxReg, "maxreg"}} {
			if f.set {
				got += " " + f.name
			}
		}
		if got != want {
			t.Errorf("%s: %s", args, got)
		}
		again := c.With("X", "Y")
		if len(again) != len(c.Args) || !slices.Contains(again, "X") || !strings.HasSuffix(again[c.out],
			"Y") {
			t.Errorf("%s: with other names %q", args, again)
		}
	}
}

// TestPtxasOptionsAreKnown compares the table with what the installed ptxas say they have: a new
// option is to be looked at, not found out about by users.
func TestPtxasOptionsAreKnown(t *testing.T) {
	for _, version := range toolkits {
		t.Run(version, func(t *testing.T) {
			for _, line := range help(t, version, "ptxas") {
				if o, ok := ptxasTable().option(line.long); !ok {
					t.Errorf("ptxas %s has %s", version, line.long)
				} else if line.value && !o.value {
					t.Errorf("ptxas %s: %s takes a value", version, line.long)
				}
				if _, ok := ptxasTable().option(line.short); !ok {
					t.Errorf("ptxas %s has %s", version, line.short)
				}
			}
		})
	}
}

// TestNvccOptionsAreKnown does the same for nvcc's options with values.
func TestNvccOptionsAreKnown(t *testing.T) {
	for _, version := range toolkits {
		t.Run(version, func(t *testing.T) {
			for _, line := range help(t, version, "nvcc") {
				long, _ := lineTable().option(line.long)
				short, _ := lineTable().option("-" + strings.TrimLeft(line.short, "-"))
				if line.value && (!long.value || !short.value) {
					t.Errorf("nvcc %s: %s (%s) takes a value", version, line.long, line.short)
				}
			}
		})
	}
}

type helpLine struct {
	long, short string
	value       bool
}

// help reads the options from a tool's --help: `--name <value>   (-short)`.
func help(t *testing.T, version, tool string) []helpLine {
	t.Helper()
	kit := kits.Need(t, version).Dir
	out, err := exec.Command(filepath.Join(kit, "bin", tool), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []helpLine
	for _, line := range strings.Split(string(out), "\n") {
		if !strings.HasPrefix(line, "--") {
			continue
		}
		left, short, ok := strings.Cut(line, "(-")
		words := strings.Fields(left)
		if !ok || len(words) == 0 {
			continue
		}
		lines = append(lines, helpLine{words[0], "-" + short[:strings.IndexByte(short, ')')],
			len(words) > 1})
	}
	if len(lines) < 20 {
		t.Fatalf("only %d options in the help of %s", len(lines), tool)
	}
	return lines
}

func BenchmarkReadLine(b *testing.B) {
	args := strings.Fields(
		"-O3 -std=c++17 -Iinclude -gencode arch=compute_80,code=sm_80 -Xcompiler -Wall,-fPIC -MD -MF k.d -c k.cu -o k.o")
	for b.Loop() {
		ReadLine(args, "", func(string) string { return "" })
	}
}

// TestOverrule: options that nvcc takes one of go where others say otherwise; lists stay, and what
// keeps files between the steps goes.
func TestOverrule(t *testing.T) {
	for _, c := range []struct{ args, more, want string }{
		{"-O3 -c k.cu -o k.o", "", "-O3 -c k.cu -o k.o"},
		{"-O3 -Ia -c k.cu", "-O1 -Ib", "-Ia -c k.cu -O1 -Ib"},
		{"-gencode arch=compute_80,code=sm_80 -arch sm_90 k.cu", "-arch=sm_100", "k.cu -arch=sm_100"},
		{"--gpu-architecture=compute_80 --gpu-code=sm_80 k.cu", "-gencode=arch=compute_90,code=sm_90",
			"k.cu -gencode=arch=compute_90,code=sm_90"},
		{"-maxrregcount=64 -Xptxas -v k.cu", "--maxrregcount 32 -Xptxas -O1",
			"-Xptxas -v k.cu --maxrregcount 32 -Xptxas -O1"},
		{"--keep --keep-dir d -save-temps -c k.cu", "-O1", "-c k.cu -O1"},
		{"--keep -O2 --keep-dir=d -c k.cu", "", "-O2 -c k.cu"},
	} {
		got := strings.Join(Overrule(strings.Fields(c.args), strings.Fields(c.more)), " ")
		if got != c.want {
			t.Errorf("%s, %s: %s, not %s", c.args, c.more, got, c.want)
		}
	}
}
