package agent

import (
	"fmt"
	"os"
	"strings"

	"github.com/cohort-debugger/cohort/launch/wire"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/pmpi/control"
)

// programEnv are the changes to the environment with which the program starts, as in backend.LaunchRequest.Env.
func programEnv(setup *wire.Setup, extra []string) []string {
	env := append(append([]string{}, setup.Env...), extra...)
	i := setup.Interpose
	if i == nil {
		return env
	}
	preload := i.Library
	if before := lookup("LD_PRELOAD", env); before != "" {
		preload += ":" + before
	}
	return append(env, "LD_PRELOAD="+preload, abi.EnvControl+"="+i.ControlPath,
		value(abi.EnvTrace, i.TracePath), value(abi.EnvDecisions, i.DecisionsPath))
}

func value(name, v string) string {
	if v == "" {
		return name // removed
	}
	return name + "=" + v
}

// lookup is the value of a variable after the changes.
func lookup(name string, changes []string) string {
	result := os.Getenv(name)
	for _, change := range changes {
		if n, v, ok := strings.Cut(change, "="); n == name {
			result = ""
			if ok {
				result = v
			}
		}
	}
	return result
}

// createControl makes the control block of the rank, if it is to have one.
func createControl(setup *wire.Setup, rank int) (*control.Block, error) {
	i := setup.Interpose
	if i == nil {
		return nil, nil //nolint:nilnil // none is wanted
	}
	flags := abi.Flag(i.Flags) &^ abi.FlagDebugged
	if setup.Debug {
		flags |= abi.FlagDebugged | abi.FlagKeep
	}
	block, err := control.Create(i.ControlPath, control.Start{
		Mode: abi.Mode(i.Mode), Flags: flags, Rank: rank, WorldSize: setup.Ranks, ParkAt: i.ParkAt, GuardAt: i.GuardAt,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing rank %d: %w", rank, err)
	}
	return block, nil
}
