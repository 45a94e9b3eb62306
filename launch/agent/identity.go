package agent

import (
	"errors"
	"fmt"
	"strconv"
)

// rankVariables in order of trust: Hydra's, Open MPI's own, any PMIx launcher's, and Slurm's last, as it is also set
// for a shell that Slurm started and from which the job was started.
var rankVariables = []struct{ rank, size string }{
	{"PMI_RANK", "PMI_SIZE"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMIX_RANK", ""},
	{"SLURM_PROCID", "SLURM_NTASKS"},
}

// maxRank bounds what is believed; MPI ranks are C ints.
const maxRank = 1<<31 - 2

// Rank reads which rank a process is, and the number of ranks (0: not said), from an environment that a launcher has
// given it.
func Rank(getenv func(string) string) (rank, size int, err error) {
	for _, v := range rankVariables {
		text := getenv(v.rank)
		if text == "" {
			continue
		}
		if rank, err = number(text); err != nil {
			return 0, 0, fmt.Errorf("the launcher set %s to %q, which is not a rank: %w", v.rank, text, err)
		}
		if text := getenv(v.size); v.size != "" && text != "" {
			if size, err = number(text); err != nil || size <= rank {
				return 0, 0, fmt.Errorf("the launcher set %s to %q, which is not a number of ranks that has a rank %d",
					v.size, text, rank)
			}
		}
		return rank, size, nil
	}
	return 0, 0, errors.New("no launcher said which rank this is: none of PMI_RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK " +
		"and SLURM_PROCID is set. \"cohort agent\" is started by mpiexec for cohort, not by hand")
}

func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("not a number from 0 up: %w", err)
	}
	if n > maxRank {
		return 0, fmt.Errorf("%d is too large", n)
	}
	return int(n), nil
}
