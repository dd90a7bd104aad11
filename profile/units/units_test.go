package units

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

const printed = "device\tNVIDIA H200\t132\n" +
	"row\tdiv\tfloat\taccurate\t1e-06 to 1e+06, 1e-06 to 1e+06\tdiv0\t100.0\t0.5\t5.9e-08\t2e-08\n" +
	"row\tdiv\tfloat\tapprox\t1e-06 to 1e+06, 1e-06 to 1e+06\tdiv3\t450.0\t2\t1.2e-07\t3e-08\n" +
	"row\trcp\tdouble\tf64\t1e-06 to 1e+06\tdrcp1\t50.0\t1.1e+09\t2.4e-07\t1e-07\n" +
	"odd\tdiv\tfloat\tapprox\t1\t2e+38\t5e-39\t0\n" +
	"odd\trcp\tdouble\tf64\t1e-310\t\tinf\t-inf\n"

func TestTable(t *testing.T) {
	table, err := read([]byte(printed))
	if err != nil {
		t.Fatal(err)
	}
	if table.SMs != 132 || len(table.Rows) != 3 || len(table.Odd) != 2 || table.Rows[1].Rate != 450 ||
		table.Rows[2].Max != 2.4e-7 {
		t.Errorf("%+v", table)
	}
	table.Rows[1].Code = Code{Registers: 11, Instructions: 17, SFU: 1, FP32: 2}
	var out bytes.Buffer
	if err := table.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NVIDIA H200, 132", "4.50x", "1.2e-07", "17            1/2/0", "(1, 2e+38)", "is 0",
		"accurate: 5e-39", "f64"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, bad := range []string{"", "row\tdiv", "device\tx\ty",
		"row\tdiv\tfloat\tapprox\t1\tdiv1\tfast\t1\t1\t1",
		"row\tdiv\tfloat\tapprox\t1\t1\t1\t1\t1", "hello"} {
		if table, err := read([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, table)
		}
	}
}

// TestBuild builds the program with the real nvcc; without a GPU it must say that there is none.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: the program takes ten seconds and more to build")
	}
	program, err := Build(context.Background(), kits.Need(t, "13.0").Nvcc(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	counted(t, program)
	table, err := Measure(context.Background(), program)
	if _, none := os.Stat("/dev/nvidiactl"); none != nil {
		if !errors.Is(err, ErrNoGPU) {
			t.Errorf("without a GPU: %+v, %v", table, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Rows {
		if r.Form == "accurate" && r.Type == "double" && r.Max > 1e-15 || r.Form == "f64+1" &&
			r.Max > 1e-11 || r.Form == "f64" && r.Max > 1e-6 {
			t.Errorf("%+v", r)
		}
	}
}

// counted holds instructions against what the functions are: an approximation is one or two of the
// special function units', with few others around it; an accurate form has more.
func counted(t *testing.T, program string) {
	codes, err := counts(program)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("source/measure.cu")
	if err != nil {
		t.Fatal(err)
	}
	forms := regexp.MustCompile(`(?m)^  F\((\w+), `).FindAllSubmatch(text, -1)
	if len(forms) != 41 || len(codes) != 42 {
		t.Errorf("%d forms, %d kernels", len(forms), len(codes))
	}
	frame := codes["copy"]
	if frame.Instructions < 5 || frame.Registers < 4 || frame.SFU+frame.FP32+frame.FP64 != 0 {
		t.Errorf("copy: %+v", frame)
	}
	for _, f := range forms {
		if c := codes[string(f[1])]; c.Instructions <= frame.Instructions || c.SFU+c.FP32+c.FP64 == 0 {
			t.Errorf("%s: %+v, a copy %+v", f[1], c, frame)
		}
	}
	for accurate, short := range map[string]string{"div0": "div3", "rcp0": "rcp2", "rsqrt0": "rsqrt2",
		"sin0": "sin1", "cos0": "cos1", "exp0": "exp1", "log0": "log1", "pow0": "pow1",
		"ddiv0": "ddiv1", "drsqrt0": "drsqrt1"} {
		a, s := codes[accurate], codes[short]
		if s.SFU < 1 || s.SFU > 2 || s.FP32+s.FP64 > 7 || s.Instructions >= a.Instructions ||
			s.Registers > a.Registers || s.FP32+s.FP64 >= a.FP32+a.FP64 {
			t.Errorf("%s: %+v, %s: %+v", accurate, a, short, s)
		}
	}
	if want := (Code{codes["rcp2"].Registers, codes["rcp2"].Instructions, 1, 0, 0}); codes["rcp2"] != want {
		t.Errorf("a reciprocal in one instruction: %+v", codes["rcp2"])
	}
	if _, err := counts("source/measure.cu"); err != nil {
		t.Error("a file without device code has none:", err)
	}
	if _, err := counts("nosuch"); err == nil {
		t.Error("a file that is not there was counted")
	}
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		t.Logf("%s %+v", name, codes[name])
	}
}
