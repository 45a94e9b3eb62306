// Package executable finds the program that a debugger is to start, and says what is wrong with it.
package executable

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
)

// Find returns the absolute path of an executable that a debugger can start, or a *backend.LaunchError
// that says what is wrong with it. A name without a slash is searched for in PATH, as the launchers
// do, after cwd.
func Find(program, cwd string) (string, error) {
	bad := func(format string, args ...any) error {
		return &backend.LaunchError{Program: program, Reason: fmt.Sprintf(format, args...)}
	}
	if program == "" {
		return "", bad("No program was given. Name the executable to debug.")
	}
	path := program
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !strings.Contains(program, "/") {
		if found, lookErr := exec.LookPath(program); lookErr == nil {
			path = found
			info, err = os.Stat(path)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", bad("The program %q does not exist (looked for %s). Check the path, and that the program is there "+
			"on every host that runs a rank.", program, path)
	case err != nil:
		return "", bad("The program %q cannot be looked at: %v.", program, err)
	case info.IsDir():
		return "", bad("%s is a directory. Name the executable in it.", path)
	case unix.Access(path, unix.X_OK) != nil || info.Mode()&0o111 == 0:
		return "", bad("%s is not executable. Make it so with: chmod +x %s", path, path)
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", bad("The path of %q cannot be made absolute: %v.", program, err)
	}
	return path, checkFormat(path, bad)
}

func checkFormat(path string, bad func(string, ...any) error) error {
	f, err := os.Open(path)
	if err != nil {
		return bad("%s cannot be read, so it cannot be debugged: %v.", path, err)
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 128)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return bad("%s cannot be read: %v.", path, err)
	}
	head = head[:n]
	if script, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ := bytes.Cut(script, []byte("\n"))
		return bad("%s is a script (for %s), not a compiled program. Debug the program that it starts.", path,
			strings.TrimSpace(string(line)))
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return bad("%s is not an ELF executable, so it cannot be run here. Name the compiled program.", path)
	}
	defer func() { _ = e.Close() }()
	if want, ok := machines[runtime.GOARCH]; ok && e.Machine != want {
		return bad("%s was compiled for %v, and this machine is %v. Compile it here.", path, e.Machine, want)
	}
	if e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return bad("%s is an ELF file of type %v, not an executable. Link it first.", path, e.Type)
	}
	return nil
}

var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "riscv64": elf.EM_RISCV, "ppc64le": elf.EM_PPC64,
}

// WorkingDirectory is the directory in which a program is to be started; its error is a *backend.LaunchError.
func WorkingDirectory(req backend.LaunchRequest) (string, error) {
	bad := func(format string, args ...any) (string, error) {
		return "", &backend.LaunchError{Program: req.Program, Reason: fmt.Sprintf(format, args...)}
	}
	cwd := req.Cwd
	if cwd == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return bad("The working directory cannot be found: %v.", err)
		}
	}
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
		return bad("The working directory %s is not a directory here. Check \"cwd\".", cwd)
	}
	return cwd, nil
}

// Imports reports whether a program takes a function from a shared library.
func Imports(path, function string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	symbols, err := f.ImportedSymbols()
	return err == nil && slices.ContainsFunc(symbols, func(s elf.ImportedSymbol) bool { return s.Name == function })
}

// IsGo reports whether a file is a program that the Go tools built.
func IsGo(path string) bool {
	_, err := buildinfo.ReadFile(path)
	return err == nil
}

// Environment makes the changes of a LaunchRequest to an environment; where a variable stands twice, the last counts.
func Environment(base, changes []string) []string {
	index := map[string]int{}
	out := make([]string, 0, len(base)+len(changes))
	for _, list := range [][]string{base, changes} {
		for _, v := range list {
			name, _, set := strings.Cut(v, "=")
			at, there := index[name]
			switch {
			case there && set:
				out[at] = v
			case there:
				out[at] = ""
				delete(index, name)
			case set:
				index[name] = len(out)
				out = append(out, v)
			}
		}
	}
	return slices.DeleteFunc(out, func(v string) bool { return v == "" })
}

// Start starts a command with a parent-death signal, and then calls started, in the background. The kernel sends the
// signal when the thread that forked ends, so that thread stays with started, which must not return before the command
// has ended.
func Start(cmd *exec.Cmd, started func()) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		result <- err
		if err == nil {
			started()
		}
	}()
	return <-result
}
