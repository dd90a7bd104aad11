package judge

import (
	"strings"
	"testing"
)

// TestReadSanitized: texts of the forms that compute-sanitizer's manual shows. Those of the last
// three rows are what version 2026.4 and its manual say where there was nothing to look at.
func TestReadSanitized(t *testing.T) {
	for _, c := range []struct {
		name, text, finding, trouble string
		errors                       int
	}{
		{"nothing", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", "", "", 0},
		{"no race", `========= COMPUTE-SANITIZER
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
`, "", "", 0},
		{"out of bounds", `========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at add(int *, const int *, int)+0x90 in edit.cu:12
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec00100 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f3c7ea00000 of size 2,097,152 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at add(int *, const int *, int)+0xb0
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f3c7ec00001 is misaligned
=========
========= ERROR SUMMARY: 12 errors
`, "out-of-bounds __global__ read of size 4 bytes at add(int *, const int *, int)+0x90 in edit.cu:12 by thread (31,0,0) in block (1,0,0)", "", 12},
		{"uninitialised", `========= COMPUTE-SANITIZER
========= Uninitialized __shared__ memory read of size 4 bytes
=========     at turn(int *)+0x1a0 in /src/edit.cu:7
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x0
=========
========= ERROR SUMMARY: 1 error
`, "Uninitialized __shared__ memory read of size 4 bytes at turn(int *)+0x1a0 in /src/edit.cu:7 by thread (0,0,0) in block (0,0,0)", "", 1},
		{"race", `========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at turn(int *)+0x90 in edit.cu:41
=========     and Read access at turn(int *)+0x100 in edit.cu:51 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
`, "Error: Race reported between Write access at turn(int *)+0x90 in edit.cu:41 and Read access at turn(int *)+0x100 in edit.cu:51 [508 hazards]", "", 1},
		{"a warning alone", `========= COMPUTE-SANITIZER
========= Warning: Race reported between Write access at k()+0x90
=========     and Read access at k()+0x100 [4 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
`, "", "", 0},
		{"barrier", `========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in warp
=========     at turn(int *, int *)+0xf0 in edit.cu:79
=========     by thread (37,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error
`, "Barrier error detected. Divergent thread(s) in warp at turn(int *, int *)+0xf0 in edit.cu:79 by thread (37,0,0) in block (0,0,0)", "", 1},
		{"of another kind", `========= COMPUTE-SANITIZER
========= Something that no manual has
=========     at k()+0x10
========= ERROR SUMMARY: 3 errors
`, "", "its 3 errors can't be read: Something that no manual has", 3},
		{"cut off", `========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at k()+0x10
`, "Invalid __global__ read of size 4 bytes at k()+0x10", "it came to no end", 0},
		{"not launched", `========= COMPUTE-SANITIZER
========= Error: process didn't terminate successfully
=========     The application may have hit an error when dereferencing Unified Memory from the host. Please rerun the application under cuda-gdb or a host debugger to catch host side errors.
========= Error: Target application terminated before first instrumented API call
`, "", "it came to no end: Error: process didn't terminate successfully", 0},
		{"not watched", `========= COMPUTE-SANITIZER
========= Internal Sanitizer Error: The Sanitizer encountered an error while launching k and didn't track the launch. Errors might go undetected. (Unable to allocate enough memory to perform the requested operation)
========= ERROR SUMMARY: 0 errors
`, "", "it could not watch all of the launch: Internal Sanitizer Error", 0},
		{"not watched as a whole", `========= COMPUTE-SANITIZER
========= Warning: Detected overflow of tracked cuda::barrier structures. Results might be incorrect. Try using --num-cuda-barriers to fix the issue
========= ERROR SUMMARY: 0 errors
`, "", "it could not watch all of the launch: Warning: Detected overflow", 0},
		{"more than it prints", `========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at k()+0x10
========= ERROR SUMMARY: 9216 errors
========= ERROR SUMMARY: 9116 errors were not printed. Use --print-limit option to adjust the number of printed errors
`, "Invalid __global__ read of size 4 bytes at k()+0x10", "", 9216},
		{"by thousands", "========= Invalid __global__ read of size 1 bytes\n========= ERROR SUMMARY: 1,024 errors\n",
			"Invalid __global__ read of size 1 bytes", "", 1024},
		{"no text", "", "", "it came to no end", 0},
	} {
		got := ReadSanitized(c.text)
		first := ""
		if len(got.Findings) > 0 {
			first = got.Findings[0]
		}
		if first != c.finding || got.Errors != c.errors || !strings.HasPrefix(got.Trouble, c.trouble) ||
			(c.trouble == "") != (got.Trouble == "") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
