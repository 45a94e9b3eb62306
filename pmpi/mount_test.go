package pmpi_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// mountSmall mounts a tmpfs of the size given until the test ends. It needs privileges; without them the test is
// skipped.
func mountSmall(t *testing.T, dir, size string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a full disk needs a file system of its own, and mounting one was refused: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
}
