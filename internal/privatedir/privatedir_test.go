package privatedir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := Make(dir); err != nil {
		t.Fatal(err)
	}
	if err := Make(dir); err != nil {
		t.Errorf("the second time: %v", err)
	}
	refused := func(path, want string) {
		t.Helper()
		if err := Check(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	link := dir + "-link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	refused(link, "is not a directory")
	refused(dir+"-none", "no such file")
	for _, mode := range []os.FileMode{0o755, 0o770, 0o707, 0o500} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		refused(dir, "chmod 700")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	refused(dir, "belongs to another user")
}
