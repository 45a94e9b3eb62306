package mpitest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// probeTimeout is how long two ranks that only say hello may take.
const probeTimeout = 3 * time.Minute

// withWorkingLauncher returns the MPI with an Mpiexec whose ranks know of each other; without any, it ends the test.
// The answer is kept beside the program that it was found with.
func (m MPI) withWorkingLauncher(t testing.TB) MPI {
	t.Helper()
	hello := m.Build(t, "hello.c")
	answer := filepath.Join(filepath.Dir(hello), "launcher")
	candidates := []MPI{m}
	if other, err := Find("openmpi"); err == nil && m.Name != other.Name {
		m.Mpiexec, m.openMPILaunches = other.Mpiexec, true
		candidates = append(candidates, m)
	}
	kept, err := os.ReadFile(answer)
	for _, candidate := range candidates {
		if err == nil && string(kept) == candidate.Mpiexec {
			return candidate
		}
	}
	var outputs strings.Builder
	for _, candidate := range candidates {
		ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
		cmd := candidate.Command(ctx, 2, hello)
		output, err := cmd.CombinedOutput()
		cancel()
		if err == nil && strings.Contains(string(output), "rank 0 of 2") &&
			strings.Contains(string(output), "rank 1 of 2") {
			keep(t, answer, candidate.Mpiexec)
			return candidate
		}
		outputs.WriteString(strings.Join(cmd.Args, " ") + ":\n" + string(output))
	}
	Missing(t, "mpitest: "+m.Name+" is installed, but no launcher starts two ranks of it that know of each other:\n"+
		outputs.String())
	return MPI{}
}

// keep writes a file at once, for test processes that read it at the same time.
func keep(t testing.TB, path, content string) {
	t.Helper()
	scratch, err := os.MkdirTemp(filepath.Dir(path), "building-*") //nolint:usetesting // a rename needs one file system
	if err != nil {
		t.Fatalf("mpitest: %v", err)
	}
	defer os.RemoveAll(scratch)
	unfinished := filepath.Join(scratch, "launcher")
	if err := os.WriteFile(unfinished, []byte(content), 0o600); err != nil {
		t.Fatalf("mpitest: %v", err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		t.Fatalf("mpitest: %v", err)
	}
}
