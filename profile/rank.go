package profile

import (
	"strconv"
	"strings"
)

// launchers are the variables by which MPI, Slurm and torchrun tell a process its rank and how many
// there are; "" where they don't tell the latter.
var launchers = [][2]string{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"PMIX_RANK", ""},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, {"RANK", "WORLD_SIZE"}}

// RankOf is the rank of a process with such an environment among those of a parallel program; 0
// where it is no part of one.
func RankOf(environ []string) int {
	value := func(name string) int {
		for _, v := range environ {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				if n, err := strconv.Atoi(text); err == nil {
					return n
				}
			}
		}
		return -1
	}
	for _, l := range launchers {
		if rank := value(l[0]); rank >= 0 && (l[1] == "" || value(l[1]) > rank) {
			return rank
		}
	}
	return 0
}
