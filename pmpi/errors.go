package pmpi

import (
	"fmt"
	"strings"
)

// ProgramError says why a program cannot be run under Cohort as it is.
type ProgramError struct {
	text     string
	err      error // the system's, or nil
	indirect bool  // see IsIndirect
}

func (e *ProgramError) Error() string { return e.text }

func (e *ProgramError) Unwrap() error { return e.err }

// fault is what is wrong with a program, which %s stands for, and what to do about it.
type fault struct{ found, advice string }

var (
	notFound      = fault{"The program %s does not exist", "Check the path, or build it first."}
	notExecutable = fault{
		"The program %s is not executable",
		"Make it so with chmod +x, or name the program that was built from it.",
	}
	// something that the kernel does not load as a program
	notELF = fault{"%s is not a compiled program", "Name the MPI program itself."}
	script = fault{
		"%s is not a compiled program",
		"Name the MPI program itself; or, if the script starts or is what uses MPI, say which MPI that is: --mpi mpich " +
			"or --mpi openmpi.",
	}
	notMPI = fault{
		"The program %s is not linked to an MPI library",
		"Build it with mpicc (or mpifort, mpicxx) and try again; or, if it starts or loads what uses MPI, as Python " +
			"does with mpi4py, say which MPI that is: --mpi mpich or --mpi openmpi.",
	}
	staticMPI = fault{
		"The program %s has its MPI library linked into it statically, so Cohort cannot see its MPI calls",
		"Link it to the shared MPI library.",
	}
	unknownFamily = fault{
		"The program %s is linked to an MPI library that is neither MPICH nor Open MPI", "Cohort works with these two.",
	}
	wrongMachine = fault{"The program %s was built for another kind of machine than this one", "Build it here."}
	isDirectory  = fault{"%s is a directory, not a program", "Name the MPI program itself."}
)

// of is the fault of a program, with more about it, and the system's error, if there are such.
func (f fault) of(program, detail string, err error) error {
	found := fmt.Sprintf(f.found, program)
	if detail != "" {
		found += " (" + detail + ")"
	}
	if err != nil {
		found += " (" + err.Error() + ")"
	}
	return &ProgramError{found + ". " + f.advice, err, f == script || f == notMPI}
}

// MissingError says that a part of an MPI installation is not there.
type MissingError struct {
	MPI     MPI
	What    string   // "mpiexec" or "mpicc"
	Tried   []string // the names looked for
	Package string   // the Debian package that holds it
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("The %s of %s was not found (looked for %s). Install it (on Debian or Ubuntu: apt-get install "+
		"%s).", e.What, e.MPI.Title(), strings.Join(e.Tried, ", "), e.Package)
}
