package pmpi

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Program is what Inspect found out about an executable.
type Program struct {
	Path    string // absolute
	MPI     MPI
	Library string // path of the MPI library that the loader would take; empty if only its name is known
	Needed  string // its name in DT_NEEDED
	// Indirect: it is not linked to MPI itself; what it starts or loads is. See Choose.
	Indirect bool
}

// WiredByPMIx tells whether an MPI library is linked to a PMIx client. An MPICH that is (Ubuntu 24.04's) does not
// understand its own Hydra: every rank takes itself for the only one (Launchpad 2072338). A launcher that speaks PMIx,
// such as Open MPI's, starts its programs as it should. False if the library cannot be read.
func WiredByPMIx(library string) bool {
	file, err := elf.Open(library)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // read only
	needed, err := file.ImportedLibraries()
	return err == nil && slices.ContainsFunc(needed, func(n string) bool { return strings.HasPrefix(n, "libpmix.so") })
}

// Inspect tells which MPI a program is linked to, by reading it and the libraries that it needs; nothing is executed. A
// name without a slash is looked up in PATH. Errors are *ProgramError.
func Inspect(program string) (Program, error) {
	path, err := locate(program)
	if err != nil {
		return Program{}, err
	}
	file, err := elf.Open(path)
	if err != nil {
		// a short file
		if _, isFormat := errors.AsType[*elf.FormatError](err); isFormat || errors.Is(err, io.EOF) ||
			errors.Is(err, io.ErrUnexpectedEOF) {
			if line := scriptLine(path); line != "" {
				return Program{}, script.of(program, line, nil)
			}
			return Program{}, notELF.of(program, "", nil)
		}
		return Program{}, notELF.of(program, "", err)
	}
	defer file.Close() //nolint:errcheck // read only
	if file.Class != elf.ELFCLASS64 || file.Data != elf.ELFDATA2LSB {
		return Program{}, wrongMachine.of(program, file.Machine.String()+", "+file.Class.String(), nil)
	}
	w := walker{search: newLibrarySearch(), class: file.Class, machine: file.Machine, seen: map[string]bool{}}
	found, err := w.walk(path, file)
	if err != nil {
		return Program{}, notELF.of(program, "", err)
	}
	switch {
	case found.Needed == "" && definesStatically(file):
		return Program{}, staticMPI.of(program, "", nil)
	case found.Needed == "":
		return Program{}, notMPI.of(program, "", nil)
	case found.MPI == UnknownMPI:
		return Program{}, unknownFamily.of(program, found.Needed, nil)
	}
	found.Path = path
	return found, nil
}

func locate(program string) (string, error) {
	path := program
	if !strings.Contains(program, "/") {
		inPath, err := exec.LookPath(program)
		if err != nil {
			// A file of that name here is what was probably meant; the launcher would not find it without "./" either.
			switch info, statErr := os.Stat(program); {
			case statErr == nil && info.IsDir():
				return "", isDirectory.of(program, "", nil)
			case statErr == nil:
				return "", notFound.of(program, "it is not in PATH; write ./"+program+" for the file in this directory",
					nil)
			}
			return "", notFound.of(program, "it is not in PATH", nil)
		}
		path = inPath
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", notFound.of(program, "", nil)
	case err != nil:
		return "", notFound.of(program, "", err)
	case info.IsDir():
		return "", isDirectory.of(program, "", nil)
	case info.Mode()&0o111 == 0:
		return "", notExecutable.of(program, "", nil)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", notFound.of(program, "", err)
	}
	return abs, nil
}

func scriptLine(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // read only
	head := make([]byte, 80)
	n, _ := file.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	if strings.HasPrefix(line, "#!") {
		return "it begins with " + line
	}
	return ""
}

// definesStatically tells whether the program itself holds an MPI library. A stripped one does not tell.
func definesStatically(file *elf.File) bool {
	symbols, err := file.Symbols()
	if err != nil {
		return false // no symbol table: nothing is known
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && (s.Name == "PMPI_Init" || s.Name == "PMPI_Send") {
			return true
		}
	}
	return false
}

// walker goes breadth-first through the libraries that a program needs, as the loader does, until one of them is an MPI
// library.
type walker struct {
	search  librarySearch
	class   elf.Class
	machine elf.Machine
	seen    map[string]bool
}

func (w *walker) walk(path string, file *elf.File) (Program, error) {
	type node struct {
		needed string
		dirs   []string // where the one that needs it says to look
	}
	expand := func(path string, file *elf.File, inherited []string) ([]node, error) {
		needed, err := file.ImportedLibraries()
		if err != nil {
			return nil, fmt.Errorf("reading what %s needs: %w", path, err)
		}
		own := runPaths(file, path)
		var nodes []node
		for _, n := range needed {
			nodes = append(nodes, node{n, append(append([]string{}, own...), inherited...)})
		}
		return nodes, nil
	}
	queue, err := expand(path, file, nil)
	if err != nil {
		return Program{}, err
	}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if w.seen[next.needed] {
			continue
		}
		w.seen[next.needed] = true
		libPath, lib := w.open(next.needed, next.dirs)
		if lib == nil {
			if mpi := byName(next.needed); mpi != UnknownMPI {
				return Program{MPI: mpi, Needed: next.needed}, nil
			}
			continue // the loader will complain about it in its own words
		}
		mpi, isMPI := family(lib)
		if isMPI {
			lib.Close() //nolint:errcheck // read only
			return Program{MPI: mpi, Library: libPath, Needed: next.needed}, nil
		}
		more, err := expand(libPath, lib, next.dirs)
		lib.Close() //nolint:errcheck // read only
		if err == nil {
			queue = append(queue, more...)
		}
	}
	return Program{}, nil
}

func (w *walker) open(needed string, dirs []string) (string, *elf.File) {
	for _, path := range w.search.candidates(needed, dirs) {
		file, err := elf.Open(path)
		if err != nil {
			continue
		}
		if file.Class == w.class && file.Machine == w.machine {
			return path, file
		}
		file.Close() //nolint:errcheck // read only
	}
	return "", nil
}

// family tells an MPI library by what it defines, whatever it is called.
func family(lib *elf.File) (MPI, bool) {
	symbols, err := lib.DynamicSymbols()
	if err != nil {
		return UnknownMPI, false
	}
	isMPI, openMPI, mpich := false, false, false
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			continue
		}
		switch {
		case s.Name == "PMPI_Init":
			isMPI = true
		case s.Name == "ompi_mpi_comm_world":
			openMPI = true
		case s.Name == "MPIR_Err_create_code": // exported for ROMIO since MPICH 1; its derivatives keep it
			mpich = true
		}
	}
	switch {
	case !isMPI:
		return UnknownMPI, false
	case openMPI:
		return OpenMPI, true
	case mpich:
		return MPICH, true
	default:
		return UnknownMPI, true
	}
}

// byName guesses the family of a library that is not there.
func byName(needed string) MPI {
	switch {
	case strings.HasPrefix(needed, "libmpich"), needed == "libmpi.so.12":
		return MPICH
	case strings.HasPrefix(needed, "libmpi.so."), strings.HasPrefix(needed, "libmpi_mpifh.so."),
		strings.HasPrefix(needed, "libmpi_usempi"):
		return OpenMPI
	default:
		return UnknownMPI
	}
}
