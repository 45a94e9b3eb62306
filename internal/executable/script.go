package executable

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
)

// Script makes of a request for a script the one for its interpreter, as the kernel does. Any other stays as it is.
func Script(req backend.LaunchRequest, cwd string) backend.LaunchRequest {
	const deepest = 4 // as in Linux
	for range deepest {
		path := req.Program
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		words := scriptWords(path)
		if len(words) == 0 {
			return req
		}
		req.Program, req.Args = words[0], append(append(words[1:], path), req.Args...)
	}
	return req
}

// scriptWords are the interpreter of a script and at most one argument; none if it is no script that can be executed.
func scriptWords(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	line, is := strings.CutPrefix(line, "#!")
	if !is {
		return nil
	}
	interpreter, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	if argument = strings.TrimSpace(argument); argument != "" {
		return []string{interpreter, argument}
	}
	if interpreter == "" {
		return nil
	}
	return []string{interpreter}
}

// IsWrapper tells programs that do little but become another one: shells, env, and those that set how it runs.
func IsWrapper(path string) bool {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	switch filepath.Base(path) {
	case "sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "env", "nice", "nohup",
		"ionice", "chrt", "taskset", "numactl", "setarch", "prlimit", "stdbuf", "setsid", "hwloc-bind":
		return true
	}
	return false
}
