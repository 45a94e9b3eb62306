package agent

import (
	"fmt"
	"os"
	"strings"

	"github.com/cohort-debugger/cohort/internal/executable"
	"github.com/cohort-debugger/cohort/launch/wire"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/pmpi/control"
)

// programEnv are the changes to the environment with which the program starts, as in backend.LaunchRequest.Env.
func programEnv(setup wire.Setup, extra []string) []string {
	env := append(append([]string{}, setup.Env...), extra...)
	i := setup.Interpose
	if i == nil {
		return env
	}
	preload := i.Library
	for _, v := range executable.Environment(os.Environ(), env) {
		if before, ok := strings.CutPrefix(v, "LD_PRELOAD="); ok && before != "" {
			preload += ":" + before
		}
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

// createControl makes the control block of the rank, if it is to have one.
func createControl(setup wire.Setup, rank int) (*control.Block, error) {
	i := setup.Interpose
	if i == nil {
		return nil, nil //nolint:nilnil // none is wanted
	}
	flags := abi.Flag(i.Flags) &^ abi.FlagDebugged
	if setup.Debug {
		flags |= abi.FlagDebugged | abi.FlagKeep
	}
	block, err := control.Create(i.ControlPath, control.Start{
		Mode: abi.Mode(i.Mode), Flags: flags, Rank: rank, WorldSize: setup.Ranks, ParkAt: abi.Never,
		GuardAt: abi.Never,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing rank %d: %w", rank, err)
	}
	return block, nil
}
