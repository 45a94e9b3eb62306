package executable

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
)

func TestScript(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain.sh", "#!/bin/sh\nexec true\n", 0o700)
	env := write("env.py", "#! /usr/bin/env python3\n", 0o700)
	nested := write("nested", "#!"+plain+"\n", 0o700)
	write("text", "#!/bin/sh\n", 0o600)
	write("program", "\x7fELF", 0o700)
	for program, want := range map[string][]string{
		plain:                        {"/bin/sh", plain, "a", "b c"},
		"plain.sh":                   {"/bin/sh", plain, "a", "b c"},
		env:                          {"/usr/bin/env", "python3", env, "a", "b c"},
		nested:                       {"/bin/sh", plain, nested, "a", "b c"},
		"text":                       {"text", "a", "b c"},
		"program":                    {"program", "a", "b c"},
		filepath.Join(dir, "absent"): {filepath.Join(dir, "absent"), "a", "b c"},
	} {
		got := Script(backend.LaunchRequest{Program: program, Args: []string{"a", "b c"}}, dir)
		if line := append([]string{got.Program}, got.Args...); !slices.Equal(line, want) {
			t.Errorf("%s: %q, want %q", program, line, want)
		}
	}
}
