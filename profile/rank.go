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

// RankOf is the rank of a process with such an environment, and how many there are, 0 where that is
// not known. Where it is no part of a parallel program its rank is 0, and it is not parallel.
func RankOf(environ []string) (rank, ranks int, parallel bool) {
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
		rank, ranks := value(l[0]), value(l[1])
		if rank >= 0 && (l[1] == "" || ranks > rank) {
			return rank, max(ranks, 0), true
		}
	}
	return 0, 0, false
}

// rankOf is that of a running process; what can't be read counts as rank 0.
func rankOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return 0
	}
	rank, _, _ := RankOf(strings.Split(string(text), "\x00"))
	return rank
}
