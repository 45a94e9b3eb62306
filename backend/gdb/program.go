package gdb

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
)

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
	own, final := variables(base), variables(base)
	delete(own, "LD_PRELOAD")
	// gdb starts the program through $SHELL when arguments need quoting, and a user's may be any shell.
	own["SHELL"] = "/bin/sh"
	// readline puts LINES and COLUMNS into gdb's environment, whatever it had.
	told := map[string]bool{"LINES": true, "COLUMNS": true, "SHELL": true, "LD_PRELOAD": true}
	for _, kv := range changes {
		name, value, set := strings.Cut(kv, "=")
		if name == "" || strings.ContainsAny(name, " \t\n\x00") || strings.ContainsRune(value, 0) {
			return environment{}, &backend.LaunchError{Reason: fmt.Sprintf(
				"%q is no environment variable that can be set. Give NAME=VALUE, or NAME to remove it.", kv)}
		}
		told[name] = true
		delete(final, name)
		if set {
			final[name] = value
		}
	}
	for _, kv := range changes {
		name, _, _ := strings.Cut(kv, "=")
		v := final[name]
		if v == strings.TrimLeft(v, " \t\n") {
			continue
		}
		if strings.HasPrefix(name, "LD_") {
			return environment{}, &backend.LaunchError{Reason: fmt.Sprintf(
				"The value of %s begins with a blank, which cannot be handed to the program. Remove the blank.", name)}
		}
		own[name] = v
		delete(told, name)
	}
	var env environment
	for name := range told {
		v, wanted := final[name]
		inherited, has := own[name]
		readline := name == "LINES" || name == "COLUMNS"
		switch {
		case wanted && (readline || !has || v != inherited):
			env.tell = append(env.tell, "set environment "+name+"="+v)
		case !wanted && (readline || has):
			env.tell = append(env.tell, "unset environment "+name)
		}
	}
	for name, v := range own {
		env.gdb = append(env.gdb, name+"="+v)
	}
	return env, nil
}

func variables(env []string) map[string]string {
	all := map[string]string{}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		all[name] = value
	}
	return all
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
