package gdb

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
)

// findProgram returns the absolute path of an executable that gdb can start, or a *backend.LaunchError
// that says what is wrong with it. A name without a slash is searched for in PATH, as the launchers
// do, after cwd.
func findProgram(program, cwd string) (string, error) {
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

// environment is what gdb is started with, and what it is told to change for the program.
type environment struct {
	gdb  []string // gdb's own environment, which the program inherits
	tell []string // lines of gdb's command language
}

// splitEnvironment makes the program's environment be base changed by changes, while gdb's own has no
// LD_PRELOAD and none of the changes. What gdb inherits, the program inherits byte for byte; `set
// environment` drops blanks in front of a value, so such a variable goes through gdb's own environment
// unless it is one that must not.
func splitEnvironment(base, changes []string) (environment, error) {
	final := map[string]string{}
	for _, kv := range base {
		name, value, _ := strings.Cut(kv, "=")
		final[name] = value
	}
	changed := map[string]bool{}
	for _, kv := range changes {
		name, value, set := strings.Cut(kv, "=")
		if name == "" || strings.ContainsAny(name, " \t\n\x00") || strings.ContainsRune(value, 0) {
			return environment{}, &backend.LaunchError{Reason: fmt.Sprintf(
				"%q is no environment variable that can be set. Give NAME=VALUE, or NAME to remove it.", kv)}
		}
		changed[name] = true
		if set {
			final[name] = value
		} else {
			delete(final, name)
		}
	}
	var env environment
	own := map[string]string{}
	for _, kv := range base {
		name, value, _ := strings.Cut(kv, "=")
		own[name] = value
	}
	delete(own, "LD_PRELOAD")
	// gdb starts the program through $SHELL when arguments need quoting, and a user's may be any shell.
	own["SHELL"] = "/bin/sh"
	for name := range changed {
		v, keep := final[name]
		if keep && v != strings.TrimLeft(v, " \t\n") {
			if strings.HasPrefix(name, "LD_") {
				return environment{}, &backend.LaunchError{Reason: fmt.Sprintf(
					"The value of %s begins with a blank, which cannot be handed to the program. Remove the blank.",
					name)}
			}
			own[name] = v
		}
	}
	// readline puts these two into gdb's environment, whatever it had.
	volatile := map[string]bool{"LINES": true, "COLUMNS": true, "SHELL": true, "LD_PRELOAD": true}
	for name := range changed {
		volatile[name] = true
	}
	for name := range volatile {
		v, keep := final[name]
		inherited, has := own[name]
		switch {
		case keep && v == inherited && has && name != "LINES" && name != "COLUMNS":
		case keep:
			env.tell = append(env.tell, "set environment "+name+"="+v)
		case has || name == "LINES" || name == "COLUMNS":
			env.tell = append(env.tell, "unset environment "+name)
		}
	}
	for name, v := range own {
		env.gdb = append(env.gdb, name+"="+v)
	}
	return env, nil
}

// arguments returns the text for gdb's `set args`, and whether the program must be started through a
// shell: without one, gdb splits at blanks and knows no quotes.
func arguments(args []string) (text string, shell bool) {
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\v\f\r") {
			shell = true
		}
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if shell {
			words[i] = shellQuote(a)
		}
	}
	return strings.Join(words, " "), shell
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
