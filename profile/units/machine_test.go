package units

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/sim/sass"
)

const machinePrinted = "device\tNVIDIA H200\t132\t90\nclock\tMHz\t1980\nlatency\tl1\t33.5\nlatency\tglobal\t620\nlatency\tshared\t29\n" +
	"rate\tfp32\t127.5\nlatency\tfp32\t4.1\nrate\tsectors\t0.5\noccupancy\t4\t2.5\noccupancy\t64\t0.5\n" +
	"issue\t4\t1\nsupply\t4x1\t0.006\nsupply\t16x64\t0.55\nsupplyL2\t4x8\t0.1\n"

func TestReadMachine(t *testing.T) {
	m, err := ReadMachine(machinePrinted)
	if err != nil {
		t.Fatal(err)
	}
	if m.Device != "NVIDIA H200" || m.CC != 90 || m.Latency["global"] != 620 || m.Rate["fp32"] != 127.5 || m.Occupancy[4] != 2.5 ||
		m.Issue[4] != 1 || len(m.Supply) != 2 || m.Supply[1] != (Supply{16, 64, 0.55}) ||
		len(m.Near) != 1 {
		t.Errorf("%+v", m)
	}
	var out bytes.Buffer
	if err := m.Print(&out); err != nil || !strings.Contains(out.String(), "cycles until global is there: 620.0") ||
		!strings.Contains(out.String(), "from L2 by waiting warps, 4 bytes a lane: 8: 0.100") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, bad := range []string{"", "hello", strings.Replace(machinePrinted, "620", "-1", 1), strings.Replace(machinePrinted, "620", "NaN", 1),
		strings.Replace(machinePrinted, "latency\tglobal\t620\n", "", 1), strings.Replace(machinePrinted, "\t90\n", "\n", 1), "more\ta\t1",
		machinePrinted + "supply\t4\t0.1\n", machinePrinted + "issue\tx\t1\n"} {
		if _, err := ReadMachine(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// TestBuildMachine builds the program with the real nvcc; without a GPU it must say that there is
// none.
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

// What is measured is what the names say: in the loop of each kernel stands one instruction of the
// class an operation, and hardly anything else.
func TestMachineCode(t *testing.T) {
	kit := kits.Need(t, "13.0")
	dir := t.TempDir()
	in, out := filepath.Join(dir, "machine.cu"), filepath.Join(dir, "machine.cubin")
	if err := os.WriteFile(in, machineSource, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(kit.Nvcc(), "-O3", "-std=c++17", "-arch=sm_90", "-w", "-cubin", "-o", out, in).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	code, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]sass.Class{"4FP32": sass.FP32, "4FP64": sass.FP64, "4IMad": sass.IMAD, "5Shift": sass.Integer,
		"3SFU": sass.SFU, "7Convert": sass.Convert, "7Shuffle": sass.Shuffle} {
		for _, chains := range []string{"1", "4"} {
			kernel := "_Z4workI" + name + "Li" + chains + "EEviNT_1TEPS2_Px"
			f, err := sass.Find(code, kernel)
			if err != nil {
				t.Errorf("%s: %v", kernel, err)
				continue
			}
			flow := f.Flow()
			of, all := 0, 0
			for _, b := range flow.Blocks {
				if b.Depth == 0 {
					continue
				}
				for n := b.Start; n < b.End; n++ {
					all++
					if f.Insts[n].Class() == want {
						of++
					}
				}
			}
			if of == 0 || float64(of) < 0.8*float64(all) {
				t.Errorf("%s: %d of the %d instructions in its loops are what is measured", kernel, of, all)
			}
		}
	}
}
