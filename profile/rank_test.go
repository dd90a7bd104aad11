package profile

import (
	"strings"
	"testing"
)

func TestRankOf(t *testing.T) {
	for text, want := range map[string]int{"": 0, "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4": 3,
		"PMI_RANK=1 PMI_SIZE=2 X=y": 1, "PMIX_RANK=2": 2, "SLURM_PROCID=5": 0,
		"SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8": 5, "RANK=7": 0, "RANK=7 WORLD_SIZE=8": 7,
		"OMPI_COMM_WORLD_RANK=one OMPI_COMM_WORLD_SIZE=4": 0, "PMI_RANK=-1 PMI_SIZE=2": 0,
		"PMI_RANK=0 PMI_SIZE=1": 0, "MY_PMI_RANK=1 PMI_SIZE=2": 0} {
		if got := RankOf(strings.Fields(text)); got != want {
			t.Errorf("%q: rank %d, want %d", text, got, want)
		}
	}
}
