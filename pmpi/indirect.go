package pmpi

import "errors"

// Choose is Inspect for a program that may only start or load what uses MPI: an interpreter, a wrapper script, a
// program that loads its MPI library by itself. Which MPI that is, the user says (mpi, as for FindMPI, or empty), or an
// argument that names a program which is linked to one, as in `env NAME=VALUE PROGRAM`, or there is just one MPI on
// this machine. Nothing is executed but what FindMPI does. Errors are *ProgramError, or FindMPI's.
func Choose(program string, args []string, mpi string) (Program, error) {
	found, err := Inspect(program)
	if !IsIndirect(err) {
		return found, err
	}
	path, locateErr := locate(program)
	if locateErr != nil {
		return Program{}, locateErr
	}
	found = Program{Path: path, Indirect: true}
	if mpi != "" {
		installation, err := FindMPI(mpi)
		found.MPI = installation.MPI
		return found, err
	}
	for _, arg := range args {
		if p, err := Inspect(arg); err == nil {
			found.MPI, found.Library, found.Needed = p.MPI, p.Library, p.Needed
			return found, nil
		}
	}
	for _, family := range []MPI{MPICH, OpenMPI} {
		if _, missing := FindMPI(family.String()); missing != nil {
			continue
		}
		if found.MPI != UnknownMPI {
			return Program{}, err
		}
		found.MPI = family
	}
	if found.MPI == UnknownMPI {
		return Program{}, err
	}
	return found, nil
}

// IsIndirect tells whether an error of Inspect is about a program that is not linked to MPI itself, but may start or
// load what is.
func IsIndirect(err error) bool {
	program, ok := errors.AsType[*ProgramError](err)
	return ok && program.indirect
}
