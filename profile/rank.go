package profile

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Which of a parallel program's processes one is: MPI's ranks, Slurm's tasks, torchrun's workers.

// AllRanks stands for every process of a parallel program.
const AllRanks = -1

// launchers are the variables by which launchers tell a process its rank and how many there are; ""
// where they don't tell the latter.
var launchers = [][2]string{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"PMIX_RANK", ""},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, {"RANK", "WORLD_SIZE"}}

// RankOf is the rank of a process with such an environment. Where it is no part of a parallel
// program that is 0, and not parallel.
func RankOf(environ []string) (rank int, parallel bool) {
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
			return rank, true
		}
	}
	return 0, false
}

// rankOf is that of a running process; what can't be read counts as rank 0.
func rankOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return 0
	}
	rank, _ := RankOf(strings.Split(string(text), "\x00"))
	return rank
}
