package wrapgen_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/internal/wrapgen"
)

// TestCommittedFilesAreCurrent fails when the table or the generator changed without `go generate ./pmpi/...`.
func TestCommittedFilesAreCurrent(t *testing.T) {
	for name, want := range wrapgen.Files() {
		got, err := os.ReadFile(filepath.Join("..", "..", "src", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("pmpi/src/%s is not what the generator writes: run go generate ./pmpi/...", name)
		}
	}
}
