package main

import (
	"encoding/binary"
	"strings"
	"testing"

	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// A profile tells shares, sets of values by the arguments in which they differ, what runs beside,
// and the most memory.
func TestPrintProfile(t *testing.T) {
	values := func(n uint32, f uint32) []byte {
		out := binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0, 0, 0, 0, 0}, n)
		return binary.LittleEndian.AppendUint32(out, f)
	}
	p := &capture.Profile{Program: "/bin/app", Runs: 2, Device: "NVIDIA Test", Seconds: 10,
		Peak: 3 << 20, Shapes: []capture.Line{
			{Kernel: "_Z1kPfif", Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{128, 1, 1}}, Count: 300, Varied: 290,
				Sampled: 9, Seconds: 9, Watched: 2, Beside: 0.5,
				Params: []capture.Span{{Offset: 0, Size: 8}, {Offset: 8, Size: 4}, {Offset: 12, Size: 4}},
				Sets: profile.Sets{Mask: []byte{1, 1, 1, 1, 1, 1, 1, 1, 255, 255, 255, 255, 255, 255, 255, 255},
					List: []profile.Set{
						{Values: values(64, 0x3f000000), Count: 100, Seconds: 2.9, Sampled: 3},
						{Values: values(128, 0x3f000000), Count: 100, Seconds: 6, Sampled: 3},
						{Values: values(0xffffffff, 0x3f000000), Count: 100, Seconds: 0.1, Sampled: 3}}}},
			{Kernel: "other", Count: 1, Seconds: 1, Sampled: 1}},
		Unseen: []profile.Unseen{{Why: "it is wide", Launches: 4, Seconds: 2}}}
	var b strings.Builder
	if err := printProfile(&b, p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3.0 MiB", "90.0 %", "60.0 %  6 s", "with #1=128\n", "with #1=64\n",
		"25 %", "with other values", "0.1 s  100", "2 s 4 5e+05 us kernels in CUDA graphs: it is wide"} {
		if !strings.Contains(strings.ReplaceAll(b.String(), " \n", "\n"), want) &&
			!strings.Contains(strings.Join(strings.Fields(b.String()), " "),
				strings.Join(strings.Fields(want), " ")) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "#2") || strings.Index(b.String(), "#1=128") > strings.Index(
		b.String(), "#1=64") {
		t.Error(b.String())
	}
}
