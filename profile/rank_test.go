package profile

import (
	"os/exec"
	"strings"
	"testing"
)

func TestRankOf(t *testing.T) {
	for text, want := range map[string]int{"": 0, "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4": 3,
		"PMI_RANK=1 PMI_SIZE=2 X=y": 1, "PMIX_RANK=2": 2, "SLURM_PROCID=5": 0,
		"SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8": 5, "RANK=7": 0, "RANK=7 WORLD_SIZE=8": 7,
		"OMPI_COMM_WORLD_RANK=one OMPI_COMM_WORLD_SIZE=4": 0, "PMI_RANK=-1 PMI_SIZE=2": 0,
		"PMI_RANK=0 PMI_SIZE=1": 0, "MY_PMI_RANK=1 PMI_SIZE=2": 0} {
		got, ranks, parallel := RankOf(strings.Fields(text))
		if got != want || parallel != (want > 0 || text == "PMI_RANK=0 PMI_SIZE=1") {
			t.Errorf("%q: rank %d, want %d", text, got, want)
		}
		if text == "PMIX_RANK=2" && ranks != 0 || parallel && text != "PMIX_RANK=2" && ranks <= want {
			t.Errorf("%q: %d ranks", text, ranks)
		}
	}
	cmd := exec.Command("sh", "-c", "echo; cat; true")
	cmd.Env = []string{"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4"}
	stdin, err := cmd.StdinPipe() // it ends with this
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	// Between exec and the program's first instruction /proc has no environment yet.
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got := rankOf(cmd.Process.Pid); got != 3 {
		t.Errorf("a process' rank is %d, want 3", got)
	}
	if got := rankOf(1 << 30); got != 0 {
		t.Errorf("no process has rank %d", got)
	}
}
