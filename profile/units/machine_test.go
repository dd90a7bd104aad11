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

const machinePrinted = "device\tNVIDIA H200\t132\t90\nclock\tMHz\t1980\nlatency\tl1\t33.5\nlatency\tglobal\t620\nlatency\tshared\t29\n" +
	"rate\tfp32\t127.5\nlatency\tfp32\t4.1\nrate\tsectors\t0.5\noccupancy\t4\t2.5\noccupancy\t64\t0.5\n"

func TestReadMachine(t *testing.T) {
	m, err := ReadMachine(machinePrinted)
	if err != nil {
		t.Fatal(err)
	}
	if m.Device != "NVIDIA H200" || m.CC != 90 || m.Latency["global"] != 620 || m.Rate["fp32"] != 127.5 || m.Occupancy[4] != 2.5 {
		t.Errorf("%+v", m)
	}
	var out bytes.Buffer
	if err := m.Print(&out); err != nil || !strings.Contains(out.String(), "cycles until global is there: 620.0") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, bad := range []string{"", "hello", strings.Replace(machinePrinted, "620", "-1", 1), strings.Replace(machinePrinted, "620", "NaN", 1),
		strings.Replace(machinePrinted, "latency\tglobal\t620\n", "", 1), strings.Replace(machinePrinted, "\t90\n", "\n", 1), "more\ta\t1"} {
		if _, err := ReadMachine(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// TestBuildMachine builds the program with the real nvcc; without a GPU it must say that there is none.
func TestBuildMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: the program takes seconds to build")
	}
	program, err := BuildMachine(context.Background(), kits.Need(t, "13.0").Nvcc(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := MeasureMachine(context.Background(), program)
	if _, none := os.Stat("/dev/nvidiactl"); none != nil {
		if !errors.Is(err, ErrNoGPU) {
			t.Errorf("without a GPU: %+v, %v", m, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if m.Latency["shared"] < 10 || m.Latency["global"] < 2*m.Latency["l1"] || m.Rate["fp32"] < 30 {
		t.Errorf("%+v", m)
	}
}
