package mpitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CheckABI fails the test unless C expressions have these values where cohort_abi.h is included. It skips the test
// where there is no C compiler.
func CheckABI(t *testing.T, want map[string]uint64) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: cc is not in PATH")
	}
	var src strings.Builder
	fmt.Fprintf(&src, "#include <stddef.h>\n#include %q\n", filepath.Join(Root(t), "pmpi/include/cohort_abi.h"))
	for expr, value := range want {
		fmt.Fprintf(&src, "_Static_assert((uint64_t)(%s) == %dull, %q);\n", expr, value, expr)
	}
	file := filepath.Join(t.TempDir(), "layout.c")
	if err := os.WriteFile(file, []byte(src.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cc, "-std=c11", "-fsyntax-only",
		file).CombinedOutput(); err != nil {
		t.Errorf("the mirror differs from cohort_abi.h: %v\n%s", err, out)
	}
}
