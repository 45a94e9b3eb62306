package pmpi

import (
	"fmt"
	"strings"
)

// ProgramError says why a program cannot be run under Cohort as it is. Reason tells the kinds apart.
type ProgramError struct {
	Program string
	Reason  ProgramReason
	Detail  string // more about it, or empty
	Err     error  // the system's error, or nil
}

// ProgramReason is what is wrong with a program.
type ProgramReason int

// The reasons.
const (
	NotFound      ProgramReason = iota + 1 // no such file, or not in PATH
	NotExecutable                          // a file without execute permission
	NotELF                                 // a script, or something else that the kernel does not load as a program
	NotMPI                                 // linked to no MPI library
	StaticMPI                              // the MPI library is linked into the program, so nothing can be interposed
	UnknownFamily                          // an MPI library that is neither MPICH's nor Open MPI's
	WrongMachine                           // an ELF file for another machine or word size
	IsDirectory                            // a directory
)

func (e *ProgramError) Error() string {
	var found, mend string
	switch e.Reason {
	case NotFound:
		found, mend = fmt.Sprintf("The program %s does not exist", e.Program), "Check the path, or build it first."
	case NotExecutable:
		found, mend = fmt.Sprintf("The program %s is not executable", e.Program),
			"Make it so with chmod +x, or name the program that was built from it."
	case NotELF:
		found, mend = e.Program+" is not a compiled program",
			"Name the MPI program itself, not a script that starts it."
	case NotMPI:
		found = fmt.Sprintf("The program %s is not linked to an MPI library", e.Program)
		mend = "Build it with mpicc (or mpifort, mpicxx) and try again."
	case StaticMPI:
		found = fmt.Sprintf("The program %s has its MPI library linked into it statically, so Cohort cannot see its "+
			"MPI calls", e.Program)
		mend = "Link it to the shared MPI library."
	case UnknownFamily:
		found = fmt.Sprintf("The program %s is linked to an MPI library that is neither MPICH nor Open MPI", e.Program)
		mend = "Cohort works with these two."
	case WrongMachine:
		found = fmt.Sprintf("The program %s was built for another kind of machine than this one", e.Program)
		mend = "Build it here."
	case IsDirectory:
		found, mend = e.Program+" is a directory, not a program", "Name the MPI program itself."
	}
	if e.Detail != "" {
		found += " (" + e.Detail + ")"
	}
	if e.Err != nil {
		found += " (" + e.Err.Error() + ")"
	}
	return found + ". " + mend
}

func (e *ProgramError) Unwrap() error { return e.Err }

// MissingError says that a part of an MPI installation is not there.
type MissingError struct {
	MPI     MPI
	What    string   // "mpiexec" or "mpicc"
	Tried   []string // the names looked for
	Package string   // the Debian package that holds it
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("The %s of %s was not found (looked for %s). Install it (on Debian or Ubuntu: apt-get install "+
		"%s).",
		e.What, e.MPI.Title(), strings.Join(e.Tried, ", "), e.Package)
}

// CompileError says that the interposer could not be built.
type CompileError struct {
	Command []string
	Output  string // what the compiler printed
	Err     error
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("The interposer could not be compiled with %s: %v. The compiler said:\n%s",
		e.Command[0], e.Err, strings.TrimRight(e.Output, "\n"))
}

func (e *CompileError) Unwrap() error { return e.Err }
