package main

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManPages writes the man pages: there is one for each command that help shows, and its examples are literal.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	if status := run([]string{"man", dir}, streams{Out: &out, Err: &errs}); status != exitOK {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
		} else if !bytes.Contains(page, []byte(".SH NAME")) {
			t.Errorf("%s: no man page: %.80s", cmd.CommandPath(), page)
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot(streams{Out: &out, Err: &errs}))
	root, err := os.ReadFile(filepath.Join(dir, "cohort.1"))
	if err != nil {
		t.Fatal(err)
	}
	_, examples, found := strings.Cut(string(root), "Start with:")
	if begin := strings.Index(examples, ".EX"); !found || begin < 0 || begin > 20 {
		t.Errorf("the examples are not literal: %q", root)
	}
}

// TestCompletion asks for completions as the scripts of the shells do.
func TestCompletion(t *testing.T) {
	complete := func(args ...string) []string {
		var out, errs bytes.Buffer
		if status := run(append([]string{"__complete"}, args...), streams{Out: &out, Err: &errs}); status != exitOK {
			t.Fatalf("%q: status %d: %s", args, status, errs.String())
		}
		return strings.Split(strings.TrimSpace(out.String()), "\n")
	}
	of := map[string]string{"only": "races"} // the others are flags of record
	for flag, values := range flagValues {
		if got := complete(cmp.Or(of[flag], "record"), "--"+flag, ""); !slices.Equal(got[:len(got)-1], values) {
			t.Errorf("--%s completes to %q, not %q", flag, got, values)
		}
	}
	if got := complete("rep"); !strings.HasPrefix(got[0], "replay\t") {
		t.Errorf("rep completes to %q", got)
	}
	var script, errs bytes.Buffer
	if status := run([]string{"completion", "bash"}, streams{Out: &script, Err: &errs}); status != exitOK {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	check := exec.CommandContext(t.Context(), "bash", "-n")
	check.Stdin = &script
	if text, err := check.CombinedOutput(); err != nil {
		t.Errorf("bash cannot read its completion script: %v\n%s", err, text)
	}
}
