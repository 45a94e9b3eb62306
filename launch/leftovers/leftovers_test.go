package leftovers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestRemoveTakesOneJobOnly(t *testing.T) {
	dir := t.TempDir()
	uid := os.Getuid()
	keep := []string{
		fmt.Sprintf("vader_segment.h.%d.40fd0002.0", uid), fmt.Sprintf("vader_segment.h.%d.40fd0001.0", uid+1), "other",
	}
	gone := []string{
		fmt.Sprintf("vader_segment.h.%d.40fd0001.0", uid),
		fmt.Sprintf("vader_segment.h.%d.40fd0001.11", uid), fmt.Sprintf("sm_segment.h.%d.40fd0001.0", uid),
	}
	for _, name := range append(append([]string{}, keep...), gone...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// the last is 0x40fd0001
	for _, namespace := range []string{"", "*", "prterun-host-1@1", "99999999999", "1090322433"} {
		if err := remove(dir, namespace); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range keep {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s was removed", name)
		}
	}
	for _, name := range gone {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}
