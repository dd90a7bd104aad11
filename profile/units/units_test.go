package units

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

const printed = "device\tNVIDIA H200\t132\n" +
	"row\tdiv\tfloat\taccurate\t1e-06 to 1e+06, 1e-06 to 1e+06\t100.0\t0.5\t5.9e-08\t2e-08\n" +
	"row\tdiv\tfloat\tapprox\t1e-06 to 1e+06, 1e-06 to 1e+06\t450.0\t2\t1.2e-07\t3e-08\n" +
	"row\trcp\tdouble\tf64\t1e-06 to 1e+06\t50.0\t1.1e+09\t2.4e-07\t1e-07\n" +
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
	var out bytes.Buffer
	if err := table.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NVIDIA H200, 132", "4.50x", "1.2e-07", "(1, 2e+38)", "is 0",
		"accurate: 5e-39", "f64"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, bad := range []string{"", "row\tdiv", "device\tx\ty",
		"row\tdiv\tfloat\tapprox\t1\tfast\t1\t1\t1", "hello"} {
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
