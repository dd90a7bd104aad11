package stage

import (
	"slices"
	"strings"
	"testing"
)

// TestOf reads the command lines of stages, nvlink's with what its prefix ends in.
func TestOf(t *testing.T) {
	for line, want := range map[string]string{
		`gnvcc-stage:ptxas ptxas -arch=sm_90`:                        `ptxas: ptxas -arch=sm_90`,
		`gnvcc-stage:nvlink --host-linker-options=" -m64 a.o`:        `nvlink: nvlink -m64 a.o`,
		`gnvcc-stage:nvlink --host-linker-options=" nvlink -m64 a.o`: `nvlink: nvlink -m64 a.o`,
		`gnvcc-stage:nvlink --host-linker-options="`:                 `nvlink: nvlink`,
		`gnvcc-stage:nvlink --host-linker-options=" -m64 --host-linker-options="`: `nvlink: nvlink -m64 ` +
			`--host-linker-options="`,
		`gnvcc-stage:nvlink`: `none`,
		`-c k.cu`:            `none`,
	} {
		step, words, ok := Of(strings.Fields(line))
		got := step + ": " + strings.Join(words, " ")
		if !ok {
			got = "none"
		}
		if got != want || ok && slices.Contains(words, "") {
			t.Errorf("%s: %s", line, got)
		}
	}
}
