package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/internal/tool"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Yield says whether blocking calls become test and yield.
type Yield string

// The choices. Auto is: on if there are more ranks than cores and the MPI does not yield by itself.
const (
	YieldAuto Yield = "auto"
	YieldOn   Yield = "on"
	YieldOff  Yield = "off"
)

// refuse says in whole sentences why what was asked cannot work; err is what that is based on, or nil.
func refuse(err error, format string, args ...any) error {
	return &launch.RefusedError{Reason: fmt.Sprintf(format, args...), Err: err}
}

// Decide tells whether blocking calls become test and yield in a run of so many ranks.
func (y Yield) Decide(mpi pmpi.MPI, ranks int) (bool, error) {
	switch y {
	case YieldOn:
		return true, nil
	case YieldOff:
		return false, nil
	case YieldAuto, "":
		// Open MPI yields by itself when it knows that there are more ranks than cores.
		return mpi == pmpi.MPICH && ranks > launch.Cores(), nil
	}
	return false, refuse(nil, "The yield mode %q was asked for; there are auto, on and off.", string(y))
}

// Common are the options that all runs share.
type Common struct {
	MPI          string // "": what the program is linked to
	LauncherArgs []string
	Yield        Yield
	// Output gets the ranks' output piece by piece with the rank; nil: it goes to Stdout and Stderr as it is.
	Output         func(launch.OutputChunk)
	Stdin          *os.File
	Stdout, Stderr io.Writer    // nil: this process's; a *os.File is handed on as it is
	Note           func(string) // a whole sentence for the user, at any time; nil: dropped
	Self           string       // see launch.Options
	SelfArgs       []string
	Log            *slog.Logger
	LogFile        string // as in launch.Options
}

// slowBuild is when the user is told that the interposer is being built.
const slowBuild = 2 * time.Second

// Toolchain is what a run needs besides the program.
type Toolchain struct {
	Program      pmpi.Program
	Installation pmpi.Installation
	Library      pmpi.Library
}

// Tools finds the MPI of a program (see pmpi.Choose) and builds the interposer for it, or takes it from the cache. note
// may get one line if that takes long.
func Tools(ctx context.Context, program string, args []string, mpi string, note func(string)) (Toolchain, error) {
	var t Toolchain
	var err error
	if t.Program, err = pmpi.Choose(program, args, mpi); err != nil {
		return t, err
	}
	if mpi == "" {
		mpi = t.Program.MPI.String()
	}
	if t.Installation, err = pmpi.FindMPI(mpi); err != nil {
		if errors.As(err, new(*pmpi.MissingError)) {
			return t, err
		}
		return t, refuse(err, "The MPI cannot be chosen: %v. Leave --mpi out for the MPI that the program "+
			"is linked to.", err)
	}
	if note != nil {
		told := time.AfterFunc(slowBuild, func() {
			note(fmt.Sprintf("Building the interposer for %s with %s (once; it is kept).", t.Installation.MPI.Title(),
				t.Installation.Mpicc))
		})
		defer told.Stop()
	}
	t.Library, err = pmpi.Build(ctx, pmpi.Options{Mpicc: t.Installation.Mpicc})
	if err != nil {
		return t, err
	}
	return t, nil
}

// Interpose makes launch's options for the interposer in a mode.
func (t Toolchain) Interpose(mode abi.Mode, flags abi.Flag) *launch.Interpose {
	return &launch.Interpose{Library: t.Library.Path, Mode: uint32(mode), Flags: uint32(flags)}
}

var versionPattern = regexp.MustCompile(`\b\d+(\.\d+)+\w*`) //nolint:gochecknoglobals // constant

// MPIVersion asks a launcher for its version, such as "4.0.2"; empty if it cannot be told.
func MPIVersion(ctx context.Context, mpiexec string) string {
	out, _ := tool.Ask(ctx, mpiexec, "--version") // what it said counts; without anything the version is unknown
	return versionPattern.FindString(out)
}

// mpiEnv are the variables of this process that the MPI reads: they belong to what is recorded.
func mpiEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		for _, prefix := range []string{"OMPI_MCA_", "MPICH_", "MPIR_CVAR_", "UCX_", "FI_", "OMP_"} {
			if strings.HasPrefix(v, prefix) && !strings.HasPrefix(v, "OMPI_MCA_orte_") &&
				!strings.HasPrefix(v, "OMPI_MCA_ess_") {
				env = append(env, v)
			}
		}
	}
	return env
}

func (c *Common) notef(format string, args ...any) {
	if c.Note != nil {
		c.Note(fmt.Sprintf(format, args...))
	}
}

// fill puts what is common into the options of a launch.
func (c *Common) fill(o *launch.Options) {
	o.MPI, o.LauncherArgs, o.Output, o.Self, o.SelfArgs = c.MPI, c.LauncherArgs, c.Output, c.Self, c.SelfArgs
	o.Log, o.LogFile = c.Log, c.LogFile
	// A nil *os.File in an interface is not nil.
	if c.Stdin != nil {
		o.Stdin = c.Stdin
	}
	o.Stdout, o.Stderr = c.Stdout, c.Stderr
}
